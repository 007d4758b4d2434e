import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { issue } from '../../adapters/admission/certificates.ts';
import { startWebhook } from '../../adapters/admission/server.ts';
import { startDashboard } from '../../adapters/dashboard/server.ts';
import { startInspector } from '../../adapters/inspector/server.ts';
import { startJournalServer } from '../../adapters/journal/server.ts';
import { type Listener, listen } from '../../adapters/listener/listen.ts';
import { accessTo } from '../../adapters/telemetry/access.ts';
import { startTelemetryServer } from '../../adapters/telemetry/server.ts';
import { GARBAGE } from '../fuzz/named.ts';
import { PATIENCE_MS, waitFor } from '../support/wait-for.ts';
import { recordedLog } from './kubernetes/support.ts';

const BIND = { host: '127.0.0.1', port: 0 };
const PAGE = new URL('../../dashboard/', import.meta.url);
const TOKEN = 'a-token-of-many-letters';

const pages = (token: string | null) => ({
  bind: BIND,
  access: accessTo(BIND, token),
  machines: {},
  records: () => [],
  leadership: () => ({ leading: true, term: 1, leader: null, reach: null }),
  hide: (text: string) => text,
});

const dashboard = (token: string | null) =>
  startDashboard({
    ...pages(token),
    pageFolder: PAGE,
    inventory: () => null,
    journal: async () => [],
    lastChanges: async () => new Map(),
    links: {},
    version: '1',
    now: Date.now,
  });

const inspector = (token: string | null) =>
  startInspector({
    ...pages(token),
    asset: async () => false,
    viewerUrl: 'https://viewer.example',
    origins: [],
    drawing: () => null,
    parentOf: () => null,
  });

/** Everything that listens, as a running operator has it. */
const LISTENERS: Readonly<Record<string, () => Promise<{ readonly url: string | null; readonly close: () => Promise<void> }>>> = {
  dashboard: () => dashboard(null),
  'dashboard with a token': () => dashboard(TOKEN),
  inspector: () => inspector(null),
  'inspector with a token': () => inspector(TOKEN),
  journal: () => startJournalServer({ bind: BIND, journal: async () => [], version: '1', hide: String }),
  'metrics and probes': () =>
    startTelemetryServer({
      bind: BIND,
      scrape: async () => ({ contentType: 'text/plain', body: () => ['up 1\n'] }),
      checks: {},
      fatal: () => null,
      hide: String,
    }),
  webhook: async () => {
    const webhook = await startWebhook({ bind: BIND, rules: {}, log: recordedLog() });
    webhook.use(await issue(['127.0.0.1'], { from: Date.now() - 60_000, to: Date.now() + 3_600_000 }));
    return webhook;
  },
};

/** Half of something: what is left of it never comes. */
const HALVES = ['', 'GET', 'GET / HTTP/1.1\r\nHost: loc', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf'];

const connected = (url: string): Socket => {
  const { port, protocol } = new URL(url);
  const socket =
    protocol === 'https:'
      ? connectTls({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
      : connectPlain(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  return socket;
};

/** The first line of each answer, until the other side ends the connection; or all that came within `patienceMs`. */
const sent = (url: string, text: string, patienceMs = 1_500): Promise<readonly string[]> =>
  new Promise((resolve) => {
    const socket = connected(url);
    let heard = '';
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve([...heard.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => String(status)));
    };
    const timer = setTimeout(done, patienceMs);
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      // Most are kept open for the next request: one answer is what is waited for.
      if (!text.startsWith('GET /healthz')) setTimeout(done, 20);
    });
    socket.once('close', done);
    socket.write(text, 'latin1');
  });

describe.each(Object.keys(LISTENERS))('%s', (name) => {
  const held: { url: string; close: () => Promise<void> } = { url: '', close: async () => undefined };
  const thrown: unknown[] = [];
  const note = (error: unknown): void => void thrown.push(error);
  beforeAll(async () => {
    const { url, close } = (await LISTENERS[name]?.()) ?? {};
    Object.assign(held, { url, close });
    process.on('uncaughtException', note).on('unhandledRejection', note);
  });
  afterAll(async () => {
    process.off('uncaughtException', note).off('unhandledRejection', note);
    await held.close();
  });
  const stands = async (): Promise<void> => {
    expect(await sent(held.url, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).toHaveLength(1);
    expect(thrown).toEqual([]);
  };

  test.each(Object.entries(GARBAGE))('answers %s by a refusal or not at all, and goes on', async (what, text) => {
    const statuses = await sent(held.url, text);
    for (const status of statuses.slice(0, what === 'a hundred at once' ? 0 : 1)) expect(status).toMatch(/^(101|200|[45]\d\d)$/);
    if (/slashes|URL|port that|instead|OPTIONS \*/.test(what)) expect(statuses[0]).toBe('400');
    await stands();
  });

  test('works on one request of a connection after another', async () => {
    const statuses = await sent(held.url, GARBAGE['a hundred at once'] ?? '');
    expect(statuses[0]).toBe(name === 'dashboard' || name === 'metrics and probes' ? '200' : (statuses[0] ?? ''));
    expect(statuses.length).toBeLessThan(5);
  });

  test.each(HALVES)('bears who sends %j and goes, or leaves in the middle of it', async (half) => {
    for (let time = 0; time < 5; time += 1) {
      const socket = connected(held.url);
      await new Promise<void>((resolve) => socket.write(half || 'G', () => resolve()));
      if (time % 2) socket.end();
      else socket.destroy();
    }
    await stands();
  });

  test('answers at once while one peer opens connections without an end', async () => {
    const sockets = Array.from({ length: 400 }, () => connected(held.url));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    const ended = () => sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length;
    for (const socket of sockets) socket.resume();
    await waitFor('those that are too many are ended', () => ended() >= 400 - 256, PATIENCE_MS);
    const before = performance.now();
    await stands();
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});

describe('a listener', () => {
  const opened = async (options: Partial<Parameters<typeof listen>[0]>): Promise<Listener> => {
    const listener = await listen({ name: 'test', bind: BIND, answer: () => undefined, failed: () => undefined, ...options });
    onTestFinished(() => listener.close());
    return listener;
  };

  test.each([
    [
      'throws',
      (): never => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('answers when the answer %s, also when that cannot be told', async (_, answer) => {
    const { url } = await opened({ answer, failed: (error, response) => response.writeHead(500).end(String(error)) });
    expect(await (await fetch(url)).text()).toBe('Error: broken');
    const broken = await opened({
      answer,
      failed: () => {
        throw new Error('also broken');
      },
    });
    await expect(fetch(broken.url)).rejects.toThrow();
    await expect(fetch(broken.url)).rejects.toThrow();
  });

  test('ends what does not come, and what does not read', async () => {
    const { url } = await opened({ answer: (_, response) => response.end('x'), limits: { requestMs: 500, idleMs: 500 } });
    const half = connected(url);
    half.write('GET / HTTP/1.1\r\nHost:');
    half.resume();
    await waitFor('it is ended', () => half.readableEnded || half.destroyed, 5_000);
    const greedy = await opened({ answer: (_, response) => response.end('x'.repeat(30 * 1024 * 1024)) });
    const sockets = Array.from({ length: 5 }, () => connected(greedy.url));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (const socket of sockets) {
      socket.pause();
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await waitFor('its answer is under way', () => socket.bytesWritten > 0);
    }
    await waitFor('some are ended', async () => (await connections(greedy)) <= 3, 5_000);
    expect((await (await fetch(greedy.url)).text()).length).toBe(30 * 1024 * 1024);
  });
});

const connections = ({ server }: Listener): Promise<number> =>
  new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
