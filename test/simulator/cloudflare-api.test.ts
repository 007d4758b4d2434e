import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codesOf, startTestCloudflare, type TestCloudflare } from './cloudflare-support.ts';
import { request } from './digitalocean-support.ts';

let cloud: TestCloudflare;
beforeEach(async () => {
  cloud = await startTestCloudflare();
  expect(cloud.zone).toMatch(/^[0-9a-f]{32}$/);
});
afterEach(() => cloud.simulator.close());

const nodes = { type: 'A', name: 'nodes.example.com', content: '203.0.113.1', ttl: 60, proxied: false };

async function addRecord(body: Readonly<Record<string, unknown>> = nodes): Promise<string> {
  const reply = await cloud.call('POST', cloud.records, body);
  expect(reply.status, reply.text).toBe(200);
  return String(reply.body.at('result', 'id').raw);
}

describe('a token', () => {
  test('is asked for, and must have the right form', async () => {
    const without = await cloud.call('GET', '/zones', undefined, '');
    expect([without.status, codesOf(without)]).toEqual([400, [9106]]);
    const malformed = await request(cloud.simulator.url, { method: 'GET', path: '/client/v4/zones', token: 'a b' });
    expect([malformed.status, codesOf(malformed)]).toEqual([400, [6003]]);
    expect(malformed.body.at('errors', 0, 'error_chain', 0, 'code').raw).toBe(6111);
    expect(malformed.body.raw).toMatchObject({ success: false, result: null, messages: [] });
  });

  test('that is not known is refused', async () => {
    const strict = await startTestCloudflare({ token: 'right' });
    const wrong = await strict.call('GET', '/zones', undefined, 'wrong');
    const right = await strict.call('GET', '/zones', undefined, 'right');
    await strict.simulator.close();
    expect([wrong.status, codesOf(wrong), right.status]).toEqual([403, [9109], 200]);
  });

  test('may do what it has the rights for', async () => {
    cloud.simulator.allow('reader', { dnsWrite: false });
    cloud.simulator.allow('editor', { zoneRead: false });
    expect((await cloud.call('GET', cloud.records, undefined, 'reader')).status).toBe(200);
    const written = await cloud.call('POST', cloud.records, nodes, 'reader');
    expect([written.status, codesOf(written)]).toEqual([403, [10_000]]);
    const read = await cloud.call('GET', `/zones/${cloud.zone}`, undefined, 'editor');
    expect([read.status, codesOf(read)]).toEqual([403, [9109]]);
    expect((await cloud.call('GET', '/zones', undefined, 'editor')).body.at('result').items).toEqual([]);
    expect((await cloud.call('POST', cloud.records, nodes, 'editor')).status).toBe(200);
  });
});

describe('zones', () => {
  test('are listed by name, 20 a page and 50 at most, with their totals', async () => {
    for (let i = 0; i < 60; i++) cloud.simulator.addZone({ name: `zone-${i}.example` });
    const named = await cloud.call('GET', '/zones?name=zone-7.example');
    expect(named.body.at('result').items.map((zone) => zone.at('name').raw)).toEqual(['zone-7.example']);
    expect(named.body.at('result', 0).raw).toMatchObject({ status: 'active', type: 'full', id: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect((await cloud.call('GET', '/zones')).body.at('result').items).toHaveLength(20);
    const second = await cloud.call('GET', '/zones?per_page=500&page=2');
    expect(second.body.at('result_info').raw).toEqual({ page: 2, per_page: 50, count: 11, total_count: 61, total_pages: 2 });
  });

  test('are read by their id', async () => {
    const reply = await cloud.call('GET', `/zones/${cloud.zone}`);
    expect(reply.body.raw).toMatchObject({ success: true, errors: [], messages: [], result: { id: cloud.zone, name: 'example.com' } });
  });

  test('that are not known are 404, and what can be no id is 400', async () => {
    for (const path of ['/zones/{id}', '/zones/{id}/dns_records', '/zones/{id}/dns_records/export']) {
      const unknown = await cloud.call('GET', path.replace('{id}', 'ab'.repeat(16)));
      expect([unknown.status, codesOf(unknown)], path).toEqual([404, [7003, 7000]]);
      const malformed = await cloud.call('GET', path.replace('{id}', 'example.com'));
      expect([malformed.status, codesOf(malformed)], path).toEqual([400, [7003, 7000]]);
    }
  });

  test('are exported with their name at the head', async () => {
    await addRecord();
    const reply = await cloud.call('GET', `${cloud.records}/export`);
    expect(reply.headers.get('content-type')).toBe('text/plain');
    expect(reply.text).toMatch(/^;; Domain: {5}example\.com\.$/m);
    expect(reply.text).toContain('nodes.example.com.\t60\tIN\tA\t203.0.113.1');
  });
});

describe('records', () => {
  test('bear what the API shows of them', async () => {
    const id = await addRecord();
    const reply = await cloud.call('GET', `${cloud.records}/${id}`);
    expect(reply.body.at('result').raw).toEqual({
      ...nodes,
      id,
      proxiable: true,
      settings: {},
      meta: {},
      comment: null,
      tags: [],
      created_on: '2026-01-01T00:00:00.000000Z',
      modified_on: '2026-01-01T00:00:00.000000Z',
    });
  });

  test.each([
    ['nodes', 'nodes.example.com'],
    ['NODES.example.com', 'nodes.example.com'],
    ['@', 'example.com'],
    ['example.com', 'example.com'],
    ['notexample.com', 'notexample.com.example.com'],
    ['*', '*.example.com'],
  ])('of the name %j are kept as %j', async (name, kept) => {
    const id = await addRecord({ ...nodes, name });
    expect(cloud.simulator.zones.get(cloud.zone)?.records.get(id)?.name).toBe(kept);
  });

  test('are filtered by type, name and content', async () => {
    await addRecord();
    await addRecord({ ...nodes, content: '203.0.113.2' });
    await addRecord({ ...nodes, name: 'other' });
    await addRecord({ ...nodes, type: 'AAAA', content: '2001:db8::1' });
    const count = async (query: string) => (await cloud.call('GET', `${cloud.records}?${query}`)).body.at('result').items.length;
    expect(await count('')).toBe(4);
    expect(await count('name=nodes.example.com&type=A')).toBe(2);
    expect(await count('name=nodes.example.com&content=203.0.113.2')).toBe(1);
    expect(await count('type=AAAA')).toBe(1);
    expect(await count('name=nodes')).toBe(0);
  });

  test('are 100 a page by default and 5000 at most', async () => {
    for (let i = 0; i < 5010; i++) {
      cloud.simulator.addRecord(cloud.zone, { ...nodes, content: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` });
    }
    const first = await cloud.call('GET', cloud.records);
    expect(first.body.at('result_info').raw).toEqual({ page: 1, per_page: 100, count: 100, total_count: 5010, total_pages: 51 });
    const second = await cloud.call('GET', `${cloud.records}?per_page=9999&page=2`);
    expect(second.body.at('result_info').raw).toEqual({ page: 2, per_page: 5000, count: 10, total_count: 5010, total_pages: 2 });
  });

  test('are changed in part by PATCH and as a whole by PUT', async () => {
    const id = await addRecord({ ...nodes, comment: 'of the shop' });
    cloud.clock.advance(5000);
    const patched = await cloud.call('PATCH', `${cloud.records}/${id}`, { content: '203.0.113.9' });
    const { created_on, modified_on, ...rest } = patched.body.at('result').raw as Record<string, unknown>;
    expect(rest).toMatchObject({ id, name: 'nodes.example.com', content: '203.0.113.9', ttl: 60, comment: 'of the shop' });
    expect([created_on, modified_on]).toEqual(['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:05.000000Z']);
    const put = await cloud.call('PUT', `${cloud.records}/${id}`, { type: 'A', name: 'nodes', content: '203.0.113.9' });
    expect(put.body.at('result').raw).toMatchObject({ id, ttl: 1, comment: null });
    const partial = await cloud.call('PUT', `${cloud.records}/${id}`, { content: '203.0.113.9' });
    expect([partial.status, codesOf(partial)]).toEqual([400, [9000]]);
  });

  test('that are proxied have the automatic TTL until they are proxied no longer', async () => {
    const id = await addRecord({ ...nodes, ttl: 300, proxied: true });
    const one = async () => (await cloud.call('GET', `${cloud.records}/${id}`)).body.at('result').raw;
    expect(await one()).toMatchObject({ proxied: true, ttl: 1 });
    await cloud.call('PATCH', `${cloud.records}/${id}`, { proxied: false, ttl: 300 });
    expect(await one()).toMatchObject({ proxied: false, ttl: 300 });
  });

  test('are deleted once; what is gone is 404', async () => {
    const id = await addRecord();
    expect((await cloud.call('DELETE', `${cloud.records}/${id}`)).body.at('result').raw).toEqual({ id });
    for (const method of ['GET', 'DELETE', 'PATCH', 'PUT']) {
      const gone = await cloud.call(method, `${cloud.records}/${id}`, method === 'GET' || method === 'DELETE' ? undefined : nodes);
      expect([gone.status, codesOf(gone)], method).toEqual([404, [81_044]]);
    }
  });

  test.each([
    [{ content: 'no-address' }, 9005],
    [{ content: '2001:db8::1' }, 9005],
    [{ type: 'AAAA' }, 9006],
    [{ type: 'ANY' }, 9004],
    [{ name: 'no name' }, 9000],
    [{ name: undefined }, 9000],
    [{ content: undefined }, 9002],
    [{ type: 'TXT', proxied: true }, 9004],
    [{ ttl: 59 }, 1004],
    [{ ttl: 86_401 }, 1004],
    [{ ttl: 0 }, 1004],
  ])('with %j are refused with the code %i', async (deviation, code) => {
    const reply = await cloud.call('POST', cloud.records, { ...nodes, ...deviation });
    expect([reply.status, codesOf(reply)]).toEqual([400, [code]]);
    expect(cloud.simulator.zones.get(cloud.zone)?.records.size).toBe(0);
  });

  test.each([1, 60, 86_400])('have a TTL of %i as well', async (ttl) => {
    const id = await addRecord({ ...nodes, ttl });
    expect(cloud.simulator.zones.get(cloud.zone)?.records.get(id)?.ttl).toBe(ttl);
  });

  test('that exist already are refused, made anew or changed into', async () => {
    await addRecord();
    const again = await cloud.call('POST', cloud.records, { ...nodes, ttl: 300 });
    expect([again.status, codesOf(again)]).toEqual([400, [81_058]]);
    const other = await addRecord({ ...nodes, content: '203.0.113.2' });
    const changed = await cloud.call('PATCH', `${cloud.records}/${other}`, { content: '203.0.113.1' });
    expect([changed.status, codesOf(changed)]).toEqual([400, [81_058]]);
  });

  test('of a host have no CNAME beside them', async () => {
    await addRecord({ type: 'CNAME', name: 'www', content: 'elsewhere.example.org' });
    await addRecord();
    await addRecord({ type: 'TXT', name: 'nodes', content: 'anything' });
    expect(codesOf(await cloud.call('POST', cloud.records, { ...nodes, name: 'www' }))).toEqual([81_054]);
    const cname = { type: 'CNAME', name: 'nodes', content: 'elsewhere.example.org' };
    expect(codesOf(await cloud.call('POST', cloud.records, cname))).toEqual([81_053]);
  });

  test('with a body that is no JSON, by a method that there is not, or elsewhere are refused', async () => {
    expect(codesOf(await cloud.call('POST', cloud.records, '{"type":'))).toEqual([6007]);
    const wrong = await cloud.call('DELETE', cloud.records);
    expect([wrong.status, codesOf(wrong)]).toEqual([405, [7001]]);
    expect((await cloud.call('GET', '/accounts')).status).toBe(404);
    expect((await request(cloud.simulator.url, { method: 'GET', path: '/zones', token: 'test-token' })).status).toBe(404);
  });
});

describe('the rate limit', () => {
  test('tells what is left, and blocks a token that asks too much for a whole window', async () => {
    const limited = await startTestCloudflare({ rateLimit: { requests: 3, windowMs: 300_000 } });
    const ask = () => limited.call('GET', '/zones');
    expect((await ask()).headers.get('ratelimit')).toBe('"default";r=2;t=300');
    limited.clock.advance(100_000);
    await ask();
    const last = await ask();
    expect([last.status, last.headers.get('ratelimit')]).toEqual([200, '"default";r=0;t=200']);
    expect(last.headers.get('ratelimit-policy')).toBe('"default";q=3;w=300');
    const refused = await ask();
    expect([refused.status, refused.headers.get('retry-after'), codesOf(refused)]).toEqual([429, '300', [971]]);
    limited.clock.advance(299_000);
    expect((await ask()).headers.get('retry-after')).toBe('1');
    expect((await limited.call('GET', '/zones', undefined, 'another')).status).toBe(200);
    limited.clock.advance(1000);
    const after = await ask();
    await limited.simulator.close();
    expect(after.status).toBe(200);
  });

  test('is 1200 requests in five minutes', async () => {
    expect((await cloud.call('GET', '/zones')).headers.get('ratelimit-policy')).toBe('"default";q=1200;w=300');
  });
});
