import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { PartialList } from '../../actors/ports/errors.ts';
import type { Call } from '../../actors/ports/provider.ts';
import { createCloudflareProvider } from '../../adapters/cloudflare/provider.ts';
import { createDigitalOceanProvider } from '../../adapters/digitalocean/provider.ts';
import type { Address, ProviderID } from '../../machines/model/types.ts';
import { failure } from '../contracts/provider-harness.ts';
import { recordingBudget, recordingLog, secret } from './digitalocean/support.ts';

const read: Call = { purpose: 'verify' };
const ADDRESS = '203.0.113.7' as Address;
const SIX = '2001:db8::7' as Address;
const NODE = 'digitalocean://1' as ProviderID;
const HTML = '<html><body><h1>404 Not Found</h1></body></html>';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** What answers in the place of an API; keeps the headers that it was sent. */
async function answering(answer: (path: string, response: ServerResponse) => void) {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    answer(request.url ?? '', response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const budget = recordingBudget();
  const options = { token: secret, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, budget, log: recordingLog() };
  const digitalocean = createDigitalOceanProvider({ ...options, userAgent: 'routedip-operator/1.2.3' });
  const cloudflare = createCloudflareProvider({ ...options, userAgent: 'routedip-operator/1.2.3' });
  closing.push(
    () => digitalocean.close(),
    () => cloudflare.close(),
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return { digitalocean, cloudflare, budget, headers };
}

const json = (response: ServerResponse, body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

describe('a page of a proxy in the place of an answer', () => {
  test.each([401, 403, 404, 407, 409, 422])('with %i says nothing of addresses, nodes, zones and tokens', async (status) => {
    const { digitalocean, cloudflare } = await answering((_, response) =>
      response.writeHead(status, { 'content-type': 'text/html' }).end(HTML),
    );
    for (const call of [
      () => digitalocean.findRoutedIP(ADDRESS, read),
      () => digitalocean.findNode(NODE, read),
      () => digitalocean.findRoutedIPFirewall('web', read),
      () => cloudflare.listDNSRecords('example.com', read),
    ])
      expect((await failure(call())).kind).toBe('Unavailable');
    expect(await failure(digitalocean.deleteRoutedIP(ADDRESS, { purpose: 'failover' }))).toMatchObject({
      kind: 'Unavailable',
      unknownOutcome: true,
    });
  });

  test('with 429 asks to wait, as the API does', async () => {
    const { digitalocean, cloudflare } = await answering((_, response) =>
      response.writeHead(429, { 'content-type': 'text/html' }).end(HTML),
    );
    expect((await failure(digitalocean.findRoutedIP(ADDRESS, read))).kind).toBe('RateLimited');
    expect((await failure(cloudflare.listDNSRecords('example.com', read))).kind).toBe('RateLimited');
  });
});

describe('an answer', () => {
  test('of a single reserved IPv6 is read with its wrapper and without', async () => {
    const six = { ip: SIX, region_slug: 'nyc3', droplet: { id: 1 } };
    for (const body of [six, { reserved_ipv6: six }]) {
      const { digitalocean } = await answering((_, response) => json(response, body));
      expect(await digitalocean.findRoutedIP(SIX, read)).toMatchObject({ address: SIX, region: 'nyc3', providerID: NODE });
    }
  });

  test.each([
    ['new', 'running'],
    ['pending', 'running'],
    ['in-progress', 'running'],
    ['completed', 'completed'],
    ['done', 'completed'],
    ['errored', 'errored'],
    ['paused', 'unknown'],
    ['constructor', 'unknown'],
  ])('about an action that is %s says that it is %s', async (status, state) => {
    const { digitalocean } = await answering((_, response) => json(response, { action: { id: 5, status } }));
    expect(await digitalocean.actionState(ADDRESS, '5', read)).toBe(state);
  });

  test('tells when the limit is reset by the clock of whoever answers', async () => {
    const ahead = 3_600_000;
    const their = Math.floor((Date.now() + ahead) / 1_000);
    const limits = { 'ratelimit-remaining': '10', 'ratelimit-reset': String(their + 600), date: new Date(their * 1_000).toUTCString() };
    const { digitalocean, budget } = await answering((path, response) =>
      path.endsWith(ADDRESS)
        ? json(response, { reserved_ip: { ip: ADDRESS, region: { slug: 'nyc3' }, droplet: { id: 1 } } }, 200, limits)
        : json(response, { id: 'too_many_requests', message: 'slow down' }, 429, limits),
    );
    await digitalocean.findRoutedIP(ADDRESS, read);
    const observed = (budget.observed[0]?.resetAtMs ?? 0) - Date.now();
    const refused = (await failure(digitalocean.findNode(NODE, read))).retryAfterMs ?? 0;
    for (const ms of [observed, refused]) {
      expect(ms).toBeGreaterThan(500_000);
      expect(ms).toBeLessThan(602_000);
    }
  });
});

describe('a list', () => {
  const shown = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ ip: `203.0.113.${n}`, region: { slug: 'nyc3' }, droplet: null }));
  const list = (provider: Awaited<ReturnType<typeof answering>>['digitalocean']) => provider.listRoutedIPs({ ...read, family: 4 });

  test('goes on as long as the answer has a next page, whatever total it names', async () => {
    const { digitalocean } = await answering((path, response) =>
      json(response, {
        reserved_ips: [shown(2)[/[?&]page=2/.test(path) ? 1 : 0]],
        links: /[?&]page=2/.test(path) ? { pages: { prev: 'x' } } : { pages: { next: 'x' } },
        meta: { total: 1 },
      }),
    );
    expect(await list(digitalocean)).toHaveLength(2);
  });

  test('of more than its total, as in a published example, is whole; of fewer it is partial, and shows what is there', async () => {
    const answers = { total: 1 };
    const { digitalocean } = await answering((_, response) => json(response, { reserved_ips: shown(2), links: {}, meta: answers }));
    expect(await list(digitalocean)).toHaveLength(2);
    answers.total = 3;
    expect(await failure(list(digitalocean))).toMatchObject({
      name: 'PartialList',
      kind: 'Unavailable',
      addresses: [{ address: '203.0.113.0' }, { address: '203.0.113.1' }],
    });
  });

  test('that shows an address on two pages is partial', async () => {
    const { digitalocean } = await answering((_, response) =>
      json(response, { reserved_ips: [...shown(2), ...shown(1)], links: {}, meta: { total: 3 } }),
    );
    expect(((await failure(list(digitalocean))) as PartialList).addresses).toHaveLength(2);
  });
});

describe('a request', () => {
  test('bears the name and the version of the operator', async () => {
    const { digitalocean, cloudflare, headers } = await answering((_, response) => json(response, {}, 500));
    await failure(digitalocean.findRoutedIP(ADDRESS, read));
    await failure(cloudflare.listDNSRecords('example.com', read));
    expect(headers.map((each) => each['user-agent'])).toEqual(['routedip-operator/1.2.3', 'routedip-operator/1.2.3']);
  });
});
