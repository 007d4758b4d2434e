import { createServer } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { parseBindAddress } from '../../../adapters/telemetry/bind-address.ts';
import { startTelemetryServer, type TelemetryServer } from '../../../adapters/telemetry/server.ts';

type Options = Parameters<typeof startTelemetryServer>[0];
const open: TelemetryServer[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function serve(
  change: Partial<Options> = {},
): Promise<(path: string, init?: RequestInit) => Promise<{ status: number; body: string }>> {
  const server = await startTelemetryServer({
    bind: { host: '127.0.0.1', port: 0 },
    scrape: async () => ({ contentType: 'text/plain; version=0.0.4', body: () => ['up 1\n'] }),
    checks: {},
    fatal: () => null,
    hide: (text) => text.replaceAll('s3cret', '***'),
    ...change,
  });
  open.push(server);
  return async (path, init) => {
    const response = await fetch(`${server.url}${path}`, init);
    return { status: response.status, body: await response.text() };
  };
}

describe('/healthz', () => {
  test('is ok while the process can go on', async () => {
    const get = await serve();
    expect(await get('/healthz')).toEqual({ status: 200, body: 'ok\n' });
  });

  test('says why the process has to be restarted', async () => {
    const get = await serve({ fatal: () => 'Redis evicts keys (s3cret)' });
    expect(await get('/healthz')).toEqual({ status: 500, body: 'Redis evicts keys (***)\n' });
  });
});

describe('/readyz', () => {
  test('is ok when nothing is missing', async () => {
    const get = await serve({ checks: { redis: () => null, kubernetes: async () => null } });
    expect(await get('/readyz?verbose')).toEqual({ status: 200, body: 'ok\n' });
  });

  test('writes what is missing on one line, also a megabyte of blanks that somebody sent', { timeout: 10_000 }, async () => {
    const get = await serve({ checks: { kubernetes: () => `a \n\n  b${' '.repeat(2 ** 20)}c\n` } });
    expect((await get('/readyz')).body).toBe(`kubernetes: a b${' '.repeat(2 ** 20)}c\n`);
  });

  test('has a line for each thing that is missing, in one answer, without secrets', async () => {
    const get = await serve({
      checks: {
        redis: () => 'unreachable since 12 s (connect ECONNREFUSED)',
        token: () => 'fine but s3cret\nshown',
        leases: () => null,
        kubernetes: () => Promise.reject(new Error('caches not synced: nodes')),
      },
    });
    expect(await get('/readyz')).toEqual({
      status: 503,
      body: 'redis: unreachable since 12 s (connect ECONNREFUSED)\ntoken: fine but *** shown\nkubernetes: caches not synced: nodes\n',
    });
  });

  test('says besides what people should know, ready or not', async () => {
    const notices = { redis: () => 'goes on in memory\nwith s3cret', else: () => null };
    const ready = await serve({ notices });
    expect(await ready('/readyz')).toEqual({ status: 200, body: 'ok\nredis: goes on in memory with ***\n' });
    const missing = await serve({ checks: { token: () => 'none' }, notices });
    expect(await missing('/readyz')).toEqual({ status: 503, body: 'token: none\nredis: goes on in memory with ***\n' });
  });

  test('does not wait for a check that hangs', async () => {
    const get = await serve({ checks: { redis: () => new Promise(() => {}) }, checkDeadlineMs: 20 });
    expect(await get('/readyz')).toEqual({ status: 503, body: 'redis: no answer within 20 ms\n' });
  });
});

describe('/metrics behind a gate', () => {
  const gate = async (authorization: string | undefined) => {
    if (authorization === 'Bearer good') return null;
    return authorization === undefined ? { status: 401, message: 'no s3cret' } : { status: 403, message: 'not you' };
  };

  test('is for those only whom it lets through, and probes are for everybody', async () => {
    const get = await serve({ gate });
    const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    expect(await get('/metrics', bearing('good'))).toEqual({ status: 200, body: 'up 1\n' });
    expect(await get('/metrics', bearing('bad'))).toEqual({ status: 403, body: 'not you\n' });
    expect(await get('/metrics')).toEqual({ status: 401, body: 'no ***\n' });
    for (const path of ['/healthz', '/readyz']) expect(await get(path)).toEqual({ status: 200, body: 'ok\n' });
  });

  test('says that a token is asked for', async () => {
    const server = await startTelemetryServer({
      bind: { host: '127.0.0.1', port: 0 },
      scrape: () => Promise.reject(new Error('was asked')),
      gate,
      checks: {},
      fatal: () => null,
      hide: (text) => text,
    });
    open.push(server);
    const { status, headers } = await fetch(`${server.url}/metrics`);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });
});

describe('/metrics of many series', () => {
  const scrapeOf = (body: () => Iterable<string>) => ({ scrape: async () => ({ contentType: 'text/plain', body }) });

  test('leaves the event loop to others after each piece', async () => {
    let turn = 0;
    const count = (): void => {
      turn += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const turns: number[] = [];
    const get = await serve(
      scrapeOf(function* () {
        for (let piece = 0; piece < 100; piece += 1) {
          turns.push(turn);
          yield `up{piece="${piece}"} 1\n`.repeat(1_000);
        }
      }),
    );
    const { body } = await get('/metrics');
    clearImmediate(counting);
    expect(body.split('\n')).toHaveLength(100_001);
    expect(new Set(turns).size).toBe(100);
  });

  test('makes one answer at a time, for all who have asked meanwhile, whether they read it or go', async () => {
    let [making, most, made] = [0, 0, 0];
    const server = await startTelemetryServer({
      bind: { host: '127.0.0.1', port: 0 },
      ...scrapeOf(function* () {
        making += 1;
        made += 1;
        most = Math.max(most, making);
        for (let piece = 0; piece < 200; piece += 1) yield 'up 1\n'.repeat(1_000);
        making -= 1;
      }),
      checks: {},
      fatal: () => null,
      hide: (text) => text,
    });
    open.push(server);
    const asked = Array.from({ length: 40 }, () => fetch(`${server.url}/metrics`));
    const going = asked.slice(20).map(async (answer) => (await answer).body?.cancel());
    const lengths = await Promise.all(asked.slice(0, 20).map(async (answer) => (await (await answer).text()).length));
    await Promise.all(going);
    expect(new Set(lengths)).toEqual(new Set([200 * 1_000 * 'up 1\n'.length]));
    expect([most, made < 20]).toEqual([1, true]);
  });

  test('is asked for by several at a time, and each gets all of it', async () => {
    let scrapes = 0;
    const get = await serve({
      scrape: async () => {
        scrapes += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { contentType: 'text/plain', body: () => ['up 1\n', 'up 2\n'].values() };
      },
    });
    const answers = await Promise.all([get('/metrics'), get('/metrics'), get('/metrics', { method: 'HEAD' })]);
    expect(answers.map(({ body }) => body)).toEqual(['up 1\nup 2\n', 'up 1\nup 2\n', '']);
    expect(scrapes).toBe(1);
  });
});

describe('the listener', () => {
  test('is left out when there is no address, as FLIPOP takes an empty one', async () => {
    const server = await startTelemetryServer({
      bind: null,
      scrape: () => Promise.reject(new Error('asked for')),
      checks: {},
      fatal: () => null,
      hide: (text) => text,
    });
    expect(server.url).toBeNull();
    await server.close();
  });

  test('serves the metrics and nothing that it does not know', async () => {
    const get = await serve();
    expect(await get('/metrics')).toEqual({ status: 200, body: 'up 1\n' });
    expect((await get('/')).status).toBe(404);
    expect((await get('/metrics', { method: 'POST' })).status).toBe(404);
  });

  test('answers a failed scrape with the reason', async () => {
    const get = await serve({ scrape: () => Promise.reject(new Error('broken s3cret')) });
    expect(await get('/metrics')).toEqual({ status: 500, body: 'Error: broken ***\n' });
  });

  test('names the address when its port is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen({ host: '127.0.0.1', port: 0 }, resolve));
    const { port } = other.address() as { port: number };
    await expect(serve({ bind: { host: '127.0.0.1', port } })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another process listens there already`,
    );
    await new Promise((resolve) => other.close(resolve));
  });
});

describe('an address to listen on', () => {
  test('is written as Go programs write it', () => {
    expect(parseBindAddress(':8080')).toEqual({ port: 8080 });
    expect(parseBindAddress('127.0.0.1:0')).toEqual({ host: '127.0.0.1', port: 0 });
    expect(parseBindAddress('localhost:80')).toEqual({ host: 'localhost', port: 80 });
    expect(parseBindAddress('[::1]:8080')).toEqual({ host: '::1', port: 8080 });
  });

  for (const text of ['', '8080', 'host', ':port', ':70000', '::1:8080', 'a b:80', '[::1]']) {
    test(`is not "${text}"`, () => {
      expect(() => parseBindAddress(text)).toThrow(`"${text}" is no address to listen on`);
    });
  }
});
