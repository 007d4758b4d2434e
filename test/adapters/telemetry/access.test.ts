import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { listen } from '../../../adapters/listener/listen.ts';
import { accessTo } from '../../../adapters/telemetry/access.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly location: string | undefined;
  readonly cookie: string | undefined;
}

/** Asks a server that lets `accessTo` decide. Own headers, since fetch refuses to send a foreign Host. */
async function ask(token: string | null, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const access = accessTo({ host: '127.0.0.1', port: 0 }, token);
  const server = await listen({
    name: 'test',
    bind: { host: '127.0.0.1', port: 0 },
    answer: (request, response) => access(request, response) && response.end('welcome'),
    failed: () => undefined,
  });
  closing.push(() => void server.close());
  const { port } = new URL(server.url);
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, headers, method, agent: false }, async (response) => {
      const body = (await response.toArray()).join('');
      resolve({
        status: response.statusCode ?? 0,
        body,
        location: response.headers.location,
        cookie: response.headers['set-cookie']?.[0],
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

describe('a page on loopback', () => {
  for (const host of ['127.0.0.1:8081', 'localhost:8081', '[::1]:8081', 'localhost']) {
    test(`is served when asked for as ${host}`, async () => {
      expect(await ask(null, '/', { Host: host })).toMatchObject({ status: 200, body: 'welcome' });
    });
  }

  for (const host of ['evil.example:8081', '127.0.0.1.evil.example', 'localhost.evil.example']) {
    test(`is not served to a page of ${host} that resolves to 127.0.0.1`, async () => {
      expect(await ask(null, '/', { Host: host })).toMatchObject({ status: 403 });
    });
  }
});

describe('a request for what is no path', () => {
  const TARGETS = ['//', '///', '/\\', '//evil.example/', '/.//evil.example?token=secret', 'http://evil.example/'];

  for (const target of TARGETS) {
    test(`is refused before anything else: ${target}`, async () => {
      const browser = { Accept: 'text/html', Host: '127.0.0.1:8081' };
      expect(await ask(null, target, browser)).toMatchObject({ status: 400, location: undefined });
      expect(await ask('secret', target, browser)).toMatchObject({ status: 400, location: undefined });
    });
  }
});

describe('a page that can change something', () => {
  test('takes it from itself and from programs, not from forms on other sites', async () => {
    const Host = '127.0.0.1:8081';
    expect(await ask(null, '/jobs/retry', { Host, Origin: 'http://127.0.0.1:8081' }, 'POST')).toMatchObject({ status: 200 });
    expect(await ask(null, '/jobs/retry', { Host }, 'POST')).toMatchObject({ status: 200 });
    expect(await ask(null, '/jobs/retry', { Host, Origin: 'https://evil.example' }, 'POST')).toMatchObject({ status: 403 });
    expect(await ask(null, '/jobs/retry', { Host, Origin: 'null' }, 'PUT')).toMatchObject({ status: 403 });
  });
});

describe('a page with a token', () => {
  const TOKEN = 'long & secret';

  test('is refused without it, and with another', async () => {
    expect(await ask(TOKEN, '/')).toMatchObject({ status: 401 });
    expect(await ask(TOKEN, '/?token=long')).toMatchObject({ status: 401 });
    expect(await ask(TOKEN, '/', { Authorization: 'Bearer wrong' })).toMatchObject({ status: 401 });
    expect(await ask(TOKEN, '/', { Cookie: 'routedip-token=%' })).toMatchObject({ status: 401 });
  });

  test('is served to scripts that send it as a header or in the address', async () => {
    expect(await ask(TOKEN, '/api/actors', { Authorization: `Bearer ${TOKEN}` })).toMatchObject({ status: 200 });
    expect(await ask(TOKEN, `/api/actors?token=${encodeURIComponent(TOKEN)}`)).toMatchObject({ status: 200 });
  });

  test('moves it from the address into a cookie for browsers, which is enough from then on', async () => {
    const first = await ask(TOKEN, `/?token=${encodeURIComponent(TOKEN)}&a=1`, { Accept: 'text/html' });
    expect(first).toMatchObject({ status: 303, location: '/?a=1' });
    expect(first.cookie).toMatch(/HttpOnly; SameSite=Strict/);
    const cookie = first.cookie?.split(';')[0] ?? '';
    expect(await ask(TOKEN, '/', { Cookie: `other=1; ${cookie}` })).toMatchObject({ status: 200 });
  });
});

describe('a page on every interface', () => {
  test('cannot be opened without a token', () => {
    expect(() => accessTo({ port: 8081 }, null)).toThrow('reachable from other machines: set a token');
    expect(() => accessTo({ host: '0.0.0.0', port: 8081 }, '')).toThrow('set a token');
    expect(() => accessTo({ host: '10.0.0.5', port: 8081 }, 'x')).not.toThrow();
  });
});
