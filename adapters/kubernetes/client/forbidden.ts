import type { Clock } from '../../../actors/ports/records.ts';
import { isRightMissing, messageOf } from './api-error.ts';
import type { Connection } from './connection.ts';

/** What is refused is tried again after 10 minutes at the latest: what was not for longer than this is not asked for any more, ms. */
const FORGOTTEN_MS = 15 * 60_000;

/** A connection that remembers which rights it lacks. */
export interface Refusals extends Connection {
  /** The newest refusal for want of a right that was not followed by a success, for people; null for none. */
  forbidden(): string | null;
}

/** `connection`, listened to. */
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
