import { describe, expect, test } from 'vitest';
import { refusal, ServerUnreachable } from '../../../../adapters/kubernetes/client/api-error.ts';
import type { Connection, WatchHandlers } from '../../../../adapters/kubernetes/client/connection.ts';
import { reachable } from '../../../../adapters/kubernetes/client/reachability.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';

const PATH = '/api/v1/nodes';
const WATCH = { path: PATH, query: {}, connectMs: 1_000, quietMs: () => 1_000 };
const away = (why = 'no answer') => new ServerUnreachable(why);

/** A connection to a server that answers, or fails as `next` says. */
const listened = () => {
  const clock = virtualClock();
  const server: { next: Error | null; watch: WatchHandlers | null } = { next: null, watch: null };
  const answer = async () => {
    if (server.next !== null) throw server.next;
    return {};
  };
  const raw: Connection = {
    send: answer,
    list: answer,
    watch: (_, handlers) => {
      server.watch = handlers;
      return () => undefined;
    },
    close: async () => undefined,
  };
  const connection = reachable(raw, clock);
  const ask = () => connection.send({ method: 'GET', path: PATH }).catch(() => undefined);
  const told: string[] = [];
  connection.watch(WATCH, {
    opened: () => void told.push('opened'),
    event: (type) => void told.push(type),
    done: (error) => void told.push(error?.message ?? 'done'),
  });
  return { clock, connection, server, ask, told };
};

const MINUTE = 60_000;

describe('an API server', () => {
  test('is told to be away a minute after the first request that it did not answer, until the next that it does', async () => {
    const { clock, connection, server, ask } = listened();
    await ask();
    server.next = away();
    await ask();
    await clock.advance(MINUTE - 1);
    server.next = away('connection refused');
    await connection.list({ path: PATH }, () => undefined).catch(() => undefined);
    expect(connection.outage()).toBeNull();
    await clock.advance(1);
    expect(connection.outage()).toBe('unreachable since 2026-01-01T00:00:00.000Z: connection refused');
    server.next = null;
    await ask();
    expect(connection.outage()).toBeNull();
  });

  test('that refuses is there', async () => {
    const { clock, connection, server, ask } = listened();
    server.next = away();
    await ask();
    await clock.advance(MINUTE);
    expect(connection.outage()).not.toBeNull();
    server.next = refusal({ verb: 'list', path: PATH }, 403, 'User "operator" cannot do that');
    await ask();
    expect(connection.outage()).toBeNull();
  });

  test('is heard by its watches too, which hear everything as before', async () => {
    const { clock, connection, server, told } = listened();
    const { watch } = server;
    const lose = async () => {
      watch?.done(away('reset'));
      await clock.advance(MINUTE);
      return connection.outage();
    };
    expect(await lose()).toContain('reset');
    watch?.opened();
    expect(connection.outage()).toBeNull();
    expect(await lose()).toContain('reset');
    watch?.event('BOOKMARK', {});
    expect(connection.outage()).toBeNull();
    expect(await lose()).toContain('reset');
    watch?.done(null);
    expect([connection.outage(), told]).toEqual([null, ['reset', 'opened', 'reset', 'BOOKMARK', 'reset', 'done']]);
  });

  test('is away for as long as it was, whatever the wall clock says', async () => {
    const { clock, connection, server, ask } = listened();
    server.next = away();
    await ask();
    clock.jump(3_600_000);
    expect(connection.outage()).toBeNull();
    clock.jump(-7_200_000);
    await clock.advance(MINUTE);
    expect(connection.outage()).not.toBeNull();
  });
});
