import type { Clock } from '../../../actors/ports/records.ts';
import { messageOf, ServerUnreachable } from './api-error.ts';
import type { Connection, WatchHandlers } from './connection.ts';

/** How long an API server may be unavailable, e.g. during a restart or upgrade, before it is reported, ms. */
const OUTAGE_MS = 60_000;

/** A connection that tracks whether the server is reachable. */
export interface ReachableConnection extends Connection {
  /** Since when the server has not responded and why, human-readable; null when it responded to the last request, refusals included, and in the first minute
   *  of an outage. Every replica reads the Lease every few seconds, so this is always current. */
  outage(): string | null;
}

/** Wraps `connection` and records outages. */
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
