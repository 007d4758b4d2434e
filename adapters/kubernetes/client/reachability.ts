import type { Clock } from '../../../actors/ports/records.ts';
import { messageOf, ServerUnreachable } from './api-error.ts';
import type { Connection, WatchHandlers } from './connection.ts';

/** So long an API server may be away, as it is when it is restarted or replaced, before anybody is told, ms. */
const OUTAGE_MS = 60_000;

/** A connection that knows how it fares. */
export interface ReachableConnection extends Connection {
  /** Since when nothing has been answered and why, for people; null while the last request was, refusals included, and in the first minute of an
   *  outage. Every replica asks for the Lease every few seconds, so that this is never old. */
  outage(): string | null;
}

/** `connection`, listened to. */
export function reachable(connection: Connection, clock: Clock): ReachableConnection {
  let began: { readonly since: number; readonly at: number } | null = null;
  let last = '';
  const ended = (error: unknown): void => {
    if (!(error instanceof ServerUnreachable)) {
      began = null;
      return;
    }
    began ??= { since: clock.now(), at: clock.monotonic() };
    last = messageOf(error);
  };
  const heard = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      const found = await answer;
      ended(null);
      return found;
    } catch (error) {
      ended(error);
      throw error;
    }
  };
  const listened = (handlers: WatchHandlers): WatchHandlers => ({
    opened: () => {
      ended(null);
      handlers.opened();
    },
    event: (type, object) => {
      ended(null);
      handlers.event(type, object);
    },
    done: (error) => {
      ended(error);
      handlers.done(error);
    },
  });
  return {
    send: (request) => heard(connection.send(request)),
    list: (request, item) => heard(connection.list(request, item)),
    watch: (options, handlers) => connection.watch(options, listened(handlers)),
    close: () => connection.close(),
    outage: () =>
      began === null || clock.monotonic() - began.at < OUTAGE_MS
        ? null
        : `unreachable since ${new Date(began.since).toISOString()}: ${last}`,
  };
}
