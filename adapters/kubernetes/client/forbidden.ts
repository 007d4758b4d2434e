import type { Clock } from '../../../actors/ports/records.ts';
import { isRightMissing, messageOf } from './api-error.ts';
import type { Connection } from './connection.ts';

/** A refused request is retried within 10 minutes; one that was not for longer than this is no longer needed, ms. */
const FORGOTTEN_MS = 15 * 60_000;

/** A connection that remembers which rights it lacks. */
export interface Refusals extends Connection {
  /** The newest refusal due to a missing permission that was not followed by a success, human-readable; null for none. */
  forbidden(): string | null;
}

/** Wraps `connection` and records its refusals. */
export function withRefusals(connection: Connection, clock: Clock): Refusals {
  const refused = new Map<string, { readonly why: string; readonly at: number }>();
  const heard = async <T>(deed: string, answer: Promise<T>): Promise<T> => {
    try {
      const found = await answer;
      refused.delete(deed);
      return found;
    } catch (error) {
      refused.delete(deed);
      if (isRightMissing(error)) refused.set(deed, { why: messageOf(error), at: clock.monotonic() });
      throw error;
    }
  };
  return {
    send: (request) => heard(`${request.method} ${request.path}`, connection.send(request)),
    list: (request, item) => heard(`LIST ${request.path}`, connection.list(request, item)),
    watch: (options, handlers) => connection.watch(options, handlers),
    close: () => connection.close(),
    forbidden: () => {
      for (const [deed, { at }] of refused) if (clock.monotonic() - at > FORGOTTEN_MS) refused.delete(deed);
      return [...refused.values()].at(-1)?.why ?? null;
    },
  };
}
