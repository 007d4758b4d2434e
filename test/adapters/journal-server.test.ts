import { request } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { JournalEntry } from '../../actors/ports/records.ts';
import { type JournalServer, startJournalServer } from '../../adapters/journal/server.ts';
import type { Difference } from '../../machines/model/types.ts';

const ENTRY: JournalEntry = {
  actor: 'pool/default/p/ip/203.0.113.1',
  at: 5,
  event: 'init',
  from: null,
  to: 'Unassigned',
  note: 'token-123',
};

let server: JournalServer | null = null;
afterEach(() => server?.close());

const asked: string[] = [];
const start = async (fails: Error | null = null, changes?: () => readonly Difference[]): Promise<string> => {
  asked.length = 0;
  server = await startJournalServer({
    bind: { host: '127.0.0.1', port: 0 },
    journal: async (actor) => {
      asked.push(actor);
      if (fails) throw fails;
      return [ENTRY];
    },
    version: '1.2.3',
    ...(changes && { changes }),
    hide: (text) => text.replaceAll('token-123', '[redacted]'),
  });
  return server.url;
};

test('tells the transitions of one actor, without secrets', async () => {
  const url = await start();
  const answer = await fetch(`${url}/journal?actor=${encodeURIComponent(ENTRY.actor)}`);
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(await answer.json()).toEqual({ version: '1.2.3', entries: [{ ...ENTRY, note: '[redacted]' }] });
  expect(asked).toEqual([ENTRY.actor]);
});

test('tells what would be done of an operator that only observes, without secrets, and asks nobody', async () => {
  const url = await start(null, () => [{ what: 'publish', subject: 'A token-123', from: null, to: '203.0.113.1' }]);
  expect(await (await fetch(`${url}/plan`)).json()).toEqual({
    version: '1.2.3',
    differences: [{ what: 'publish', subject: 'A [redacted]', from: null, to: '203.0.113.1' }],
  });
  expect((await fetch(`${url}/journal`)).status).toBe(404);
  expect(asked).toEqual([]);
});

test.each([
  ['GET', '/plan', 404],
  ['GET', '/journal', 404],
  ['GET', '/', 404],
  ['GET', `/journal?actor=${'x'.repeat(601)}`, 404],
  ['POST', '/journal?actor=a', 405],
  ['DELETE', '/journal?actor=a', 405],
])('answers %s %s with %i, and asks nobody', async (method, path, status) => {
  const url = await start();
  expect((await fetch(`${url}${path}`, { method })).status).toBe(status);
  expect(asked).toEqual([]);
});

test('answers 400 to what is no path, and asks nobody', async () => {
  const { port } = new URL(await start());
  for (const path of ['//', '//elsewhere/journal?actor=a']) {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    request({ host: '127.0.0.1', port, path, agent: false }, ({ statusCode }) => resolve(statusCode))
      .on('error', reject)
      .end();
    expect(await promise, path).toBe(400);
  }
  expect(asked).toEqual([]);
});

test('reads for whoever asks no more often than the store can bear', async () => {
  const url = await start();
  const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await fetch(`${url}/journal?actor=a`)).status));
  const more = await Promise.all(Array.from({ length: 60 }, () => fetch(`${url}/journal?actor=a`)));
  const refused = more.filter(({ status }) => status === 429);
  expect([new Set(statuses), refused[0]?.headers.get('retry-after')]).toEqual([new Set([200]), '1']);
  expect(asked.length).toBe(120 - refused.length);
});

test.each([
  [new Unreachable('no answer from Redis, token-123'), 503],
  [new Error('broken'), 500],
])('says when it cannot: %s', async (error, status) => {
  const url = await start(error);
  const answer = await fetch(`${url}/journal?actor=a`);
  expect(answer.status).toBe(status);
  expect(await answer.json()).toEqual({ error: error.message.replace('token-123', '[redacted]') });
});

test('names the address that it cannot listen on', async () => {
  const { port } = new URL(await start());
  const second = startJournalServer({
    bind: { host: '127.0.0.1', port: Number(port) },
    journal: async () => [],
    version: '',
    hide: String,
  });
  await expect(second).rejects.toThrow(`journal: cannot listen on 127.0.0.1:${port}`);
});
