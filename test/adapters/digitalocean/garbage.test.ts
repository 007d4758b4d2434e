import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import { createDigitalOceanProvider } from '../../../adapters/digitalocean/provider.ts';
import type { Address, ProviderID } from '../../../machines/model/types.ts';
import { failure } from '../../contracts/provider-harness.ts';
import { serving } from '../../support/serving.ts';
import { recordingBudget, recordingLog, secret } from './support.ts';

const ADDRESS = '203.0.113.1' as Address;
const NODE = 'digitalocean://1' as ProviderID;
const read: Call = { purpose: 'verify' };
const write: Call = { purpose: 'failover' };

const answered = async (answer: (response: ServerResponse, request: IncomingMessage) => void) => {
  const url = await serving((request, response) => answer(response, request));
  const budget = recordingBudget();
  const provider = createDigitalOceanProvider({ token: secret, url, budget, log: recordingLog() });
  onTestFinished(() => provider.close());
  return { provider, budget };
};

const json =
  (value: unknown, headers = {}) =>
  (response: ServerResponse) => {
    response.writeHead(200, headers);
    response.end(JSON.stringify(value));
  };

const address = { ip: ADDRESS, region: { slug: 'nyc3' }, droplet: null, locked: false };
const listed = (reserved_ips: unknown, total: unknown) => ({ reserved_ips, meta: { total } });

test('a redirect is not followed: no other host hears the token, and nothing counts as done', async () => {
  const strayed: unknown[] = [];
  const elsewhere = await serving(({ headers }, response) => {
    strayed.push(headers);
    response.end('{}');
  });
  for (const status of [301, 302, 303, 307, 308]) {
    const { provider } = await answered((response) => {
      response.writeHead(status, { location: `${elsewhere}/v2/reserved_ips` });
      response.end();
    });
    const redirected = { kind: 'Unavailable', message: expect.stringContaining(`: ${status} `) };
    await expect(failure(provider.listRoutedIPs({ purpose: 'verify', family: 4 }))).resolves.toMatchObject(redirected);
    for (const done of [provider.deleteRoutedIP(ADDRESS, write), provider.assignRoutedIP(ADDRESS, NODE, write)])
      await expect(failure(done)).resolves.toMatchObject({ ...redirected, unknownOutcome: true });
  }
  expect(strayed).toEqual([]);
});

test('what comes compressed, though nobody asked for it, is not unpacked: megabytes of zeros stay the kilobytes that they came as', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
  const { provider } = await answered((response, { headers }) => {
    expect(headers['accept-encoding']).toBeUndefined();
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(bomb);
  });
  const before = process.memoryUsage().arrayBuffers;
  await expect(failure(provider.listRoutedIPs({ purpose: 'verify', family: 4 }))).resolves.toMatchObject({ kind: 'Unavailable' });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 2 ** 20);
});

test('pages that lead elsewhere, or to themselves, are asked for here by their number', async () => {
  const asked: string[] = [];
  const elsewhere = await serving(({ url = '' }, response) => {
    asked.push(`elsewhere ${url}`);
    response.end();
  });
  const { provider } = await answered((response, { url = '' }) => {
    asked.push(url);
    const links = { pages: { next: `${elsewhere}${url}`, last: url } };
    const page = url.includes('page=1')
      ? Array.from({ length: 200 }, (_, index) => ({ ...address, ip: `203.0.113.${index}`, droplet: { id: 1 } }))
      : [];
    json({ ...listed(page, 201), links })(response);
  });
  await expect(failure(provider.listRoutedIPs({ purpose: 'verify', family: 4 }))).resolves.toMatchObject({
    kind: 'Unavailable',
    message: 'list reserved_ips: 200 of 201 were shown',
  });
  expect(asked).toEqual(['/v2/reserved_ips?page=1&per_page=200', '/v2/reserved_ips?page=2&per_page=200']);
});

test('a body without an end is read so far and no further', async () => {
  const { provider } = await answered((response) => {
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(2 ** 20)));
    };
    response.on('drain', more);
    more();
  });
  await expect(failure(provider.findRoutedIP(ADDRESS, read))).resolves.toMatchObject({
    kind: 'Unavailable',
    message: expect.stringContaining('it is longer than 8388608 bytes'),
  });
});

test.each([
  ['a page of a proxy', '<html>Welcome</html>'],
  ['half of one', '{"reserved_ip":{"ip":"203.0.113.1","re'],
  ['nothing', ''],
  ['null', 'null'],
  ['a list', '[]'],
  ['a text', '"203.0.113.1"'],
  ['an object of something else', '{"id":1}'],
  ['an address that is none', JSON.stringify({ reserved_ip: { ...address, ip: '203.0.113.300' } })],
  ['another address', JSON.stringify({ reserved_ip: { ...address, ip: '203.0.113.2' } })],
  ['an address on a droplet whose id is a text', JSON.stringify({ reserved_ip: { ...address, droplet: { id: '1' } } })],
  ['an address on a droplet whose id is no whole number', JSON.stringify({ reserved_ip: { ...address, droplet: { id: 1e300 } } })],
  ['an address on a droplet that is a list', JSON.stringify({ reserved_ip: { ...address, droplet: [] } })],
  ['an address in no region', JSON.stringify({ reserved_ip: { ...address, region: null } })],
])('an answer that is %s says nothing of the address, and why', async (_, body) => {
  const { provider } = await answered((response) => response.end(body));
  const { kind, message } = await failure(provider.findRoutedIP(ADDRESS, read));
  expect(kind).toBe('Unavailable');
  expect(message).toMatch(/but the answer was cut or is none of the API|the answer bears no readable/);
});

test.each([
  ['null', listed(null, 0)],
  ['of null', listed([null], 1)],
  ['without a total', listed([], undefined)],
  ['of a negative total', listed([], -1)],
  ['of a total that is a text', listed([], '0')],
])('a list %s is none', async (_, body) => {
  const { provider } = await answered(json(body));
  await expect(failure(provider.listRoutedIPs({ purpose: 'verify', family: 4 }))).resolves.toMatchObject({ kind: 'Unavailable' });
});

test('a droplet is present only when an answer shows one', async () => {
  const { provider } = await answered(json({ message: 'hello' }));
  await expect(failure(provider.findNode(NODE, read))).resolves.toMatchObject({ kind: 'Unavailable' });
});

test('pages that no list has are not paid for, and not the next time either', async () => {
  let total: unknown = 1e15;
  const { provider, budget } = await answered((response) =>
    json(listed(total === 1 ? [{ ...address, droplet: { id: 1 } }] : Array(199).fill(address), total))(response),
  );
  for (const lie of [1e15, 90_000]) {
    total = lie;
    await failure(provider.listRoutedIPs({ purpose: 'verify', family: 4 }));
  }
  total = 1;
  budget.paid.splice(0);
  await provider.listRoutedIPs({ purpose: 'verify', family: 4 });
  expect(budget.paid).toHaveLength(1);
});

test.each(['-1', '-1e308', 'NaN', '', 'Infinity', '0x10', '99999999999999999999', '1, 1'])(
  'what is left is not %s: the budget would be spent for ever',
  async (remaining) => {
    const { provider, budget } = await answered(
      json({ reserved_ip: address }, { 'ratelimit-remaining': remaining, 'ratelimit-reset': '1800000000' }),
    );
    await provider.findRoutedIP(ADDRESS, read);
    expect(budget.observed).toEqual([]);
  },
);

test.each([
  ['-5', 1_000],
  ['99999999999', 1_000],
  ['1e308', 1_000],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 1_000],
  ['7200', 3_600_000],
])('a refusal that asks to wait for %s is waited for within reason', async (header, ms) => {
  const { provider, budget } = await answered((response) => {
    response.writeHead(429, { 'retry-after': header });
    response.end('{}');
  });
  await failure(provider.findRoutedIP(ADDRESS, read));
  expect(budget.closed).toEqual([ms]);
});

test('what the API says is told as one short line', async () => {
  const { provider } = await answered((response) => {
    response.writeHead(422);
    response.end(JSON.stringify({ message: `\u001b[31m\n\u202e${'x'.repeat(2 ** 20)}` }));
  });
  const { message } = await failure(provider.findRoutedIP(ADDRESS, read));
  expect(message).toMatch(/^find 203\.0\.113\.1: 422 \\u001b\[31m\\n\\u202exxx/);
  expect(message.length).toBeLessThan(500);
  const other = await answered((response) => {
    response.writeHead(422);
    response.end(JSON.stringify({ message: { toString: 1 } }));
  });
  await expect(failure(other.provider.findRoutedIP(ADDRESS, read))).resolves.toMatchObject({
    message: 'find 203.0.113.1: 422 (no message)',
  });
});
