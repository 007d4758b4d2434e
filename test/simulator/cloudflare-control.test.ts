import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codesOf, startTestCloudflare, type TestCloudflare } from './cloudflare-support.ts';

let cloud: TestCloudflare;
beforeEach(async () => {
  cloud = await startTestCloudflare();
});
afterEach(() => cloud.simulator.close());

const nodes = { type: 'A', name: 'nodes', content: '203.0.113.1', ttl: 60 };
const create = () => cloud.call('POST', cloud.records, nodes);
const count = (): number | undefined => cloud.simulator.zones.get(cloud.zone)?.records.size;

describe('a fault', () => {
  test('strikes the requests that it matches, as often as it says, and counts them', async () => {
    const fault = cloud.simulator.faults.add({ kind: 'status', code: 503, times: 2, match: { method: 'GET', path: '/zones[?]' } });
    expect((await cloud.call('GET', cloud.records)).status).toBe(200);
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await cloud.call('GET', '/zones?name=x')).status);
    expect(statuses).toEqual([503, 503, 200]);
    expect(fault.hits).toBe(2);
    expect(cloud.simulator.calls.all().map((call) => call.faults)).toEqual([[], ['status'], ['status'], []]);
  });

  test('whose pattern does not compile is refused when it is added', () => {
    expect(() => cloud.simulator.faults.add({ kind: 'resetBefore', match: { path: '(' } })).toThrow();
    expect(cloud.simulator.faults.list()).toEqual([]);
  });

  test('of a status has no effect, and answers as given, as the API, or from 500 on as its edge', async () => {
    cloud.simulator.faults.add({ kind: 'status', code: 429, headers: { 'retry-after': '7' }, times: 1 });
    const limited = await create();
    expect([limited.status, limited.headers.get('retry-after'), codesOf(limited)]).toEqual([429, '7', [971]]);
    cloud.simulator.faults.add({ kind: 'status', code: 522, times: 1 });
    expect((await create()).text).toBe('error code: 522');
    cloud.simulator.faults.add({ kind: 'status', code: 400, body: { success: false, errors: [{ code: 1, message: 'x' }] }, times: 1 });
    expect(codesOf(await create())).toEqual([1]);
    expect(count()).toBe(0);
  });

  test('that resets does so before the effect or after it', async () => {
    cloud.simulator.faults.add({ kind: 'resetBefore', times: 1 });
    await expect(create()).rejects.toThrow();
    expect(count()).toBe(0);
    cloud.simulator.faults.add({ kind: 'resetAfter', times: 1 });
    await expect(create()).rejects.toThrow();
    expect(count()).toBe(1);
    expect(cloud.simulator.calls.all().map(({ outcome, status }) => [outcome, status])).toEqual([
      ['reset', null],
      ['reset', null],
    ]);
  });

  test('that hangs answers late or never, with the effect at once when it is told to', async () => {
    cloud.simulator.faults.add({ kind: 'hang', ms: 1, times: 1 });
    expect((await create()).status).toBe(200);
    cloud.simulator.faults.add({ kind: 'hang', applied: true });
    const url = `${cloud.simulator.url}/client/v4${cloud.records}`;
    const init = { method: 'POST', headers: { authorization: 'Bearer x' }, body: JSON.stringify({ ...nodes, content: '203.0.113.2' }) };
    const given = new AbortController();
    const hanging = fetch(url, { ...init, signal: given.signal });
    await expect.poll(count).toBe(2);
    given.abort();
    await expect(hanging).rejects.toThrow();
    await expect.poll(() => cloud.simulator.calls.all().at(-1)?.outcome).toBe('aborted');
  });

  test('that slows down keeps the answer', async () => {
    cloud.simulator.faults.add({ kind: 'latency', ms: 30 });
    const startedAt = performance.now();
    expect((await create()).status).toBe(200);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
  });

  test('that cuts lists leaves out the end of the body, or half of the items of which the totals still speak', async () => {
    for (let i = 0; i < 4; i++) cloud.simulator.addRecord(cloud.zone, { ...nodes, content: `203.0.113.${i}` });
    cloud.simulator.faults.add({ kind: 'truncatePages', times: 1 });
    const [first] = cloud.simulator.zones.get(cloud.zone)?.records.keys() ?? [];
    expect((await cloud.call('GET', `${cloud.records}/${first}`)).body.at('success').raw).toBe(true);
    const cut = await cloud.call('GET', cloud.records);
    expect([cut.status, cut.body.raw]).toEqual([200, {}]);
    cloud.simulator.faults.add({ kind: 'truncatePages', how: 'missingRest', times: 1 });
    const half = await cloud.call('GET', cloud.records);
    expect([half.body.at('result').items.length, half.body.at('result_info', 'total_count').raw]).toEqual([2, 4]);
  });
});

describe('another process', () => {
  test('adds and removes zones, and reads all there is', async () => {
    const added = await cloud.control('POST', '/zones', { name: 'example.org', id: 'ab'.repeat(16), status: 'pending' });
    expect([added.status, added.body.at('zone').raw]).toEqual([201, { id: 'ab'.repeat(16), name: 'example.org', status: 'pending' }]);
    await create();
    const state = await cloud.control('GET', '/state');
    const shown = state.body.at('zones').items.map((zone) => [zone.at('name').raw, zone.at('records').items.length]);
    expect(shown).toEqual([
      ['example.com', 1],
      ['example.org', 0],
    ]);
    expect((await cloud.control('DELETE', `/zones/${cloud.zone}`)).status).toBe(204);
    expect((await cloud.call('GET', cloud.records)).status).toBe(404);
    expect((await cloud.control('DELETE', `/zones/${cloud.zone}`)).status).toBe(404);
    expect((await cloud.control('POST', '/zones', { name: 'no zone' })).status).toBe(400);
    expect((await cloud.control('POST', '/zones', {})).status).toBe(400);
  });

  test('takes rights from a token and gives them back', async () => {
    await cloud.control('POST', '/tokens', { token: 'test-token', dnsWrite: false });
    expect((await create()).status).toBe(403);
    await cloud.control('POST', '/tokens', { token: 'test-token' });
    expect((await create()).status).toBe(200);
  });

  test('reads the call log, with filters, and empties it', async () => {
    await cloud.call('GET', '/zones');
    await create();
    const all = await cloud.control('GET', '/calls');
    expect(all.body.at('calls').items.map((call) => call.at('n').raw)).toEqual([1, 2]);
    expect(all.text).not.toContain('test-token');
    const writes = await cloud.control('GET', '/calls?writes=1&since=0');
    expect(writes.body.at('calls').items.map((call) => [call.at('path').raw, call.at('body').raw])).toEqual([
      [`/client/v4${cloud.records}`, nodes],
    ]);
    expect((await cloud.control('GET', '/calls?since=2')).body.at('calls').items).toHaveLength(0);
    await cloud.control('DELETE', '/calls');
    expect((await cloud.control('GET', '/calls')).body.at('calls').items).toHaveLength(0);
  });

  test('adds a fault of every kind, reads its hits and removes it', async () => {
    const specs = [
      { kind: 'latency', ms: 1 },
      { kind: 'status', code: 503, headers: { 'retry-after': '1' }, body: { success: false } },
      { kind: 'hang', ms: 1, applied: true },
      { kind: 'resetBefore' },
      { kind: 'resetAfter' },
      { kind: 'truncatePages', how: 'missingRest' },
    ];
    for (const spec of specs) {
      const added = await cloud.control('POST', '/faults', { ...spec, times: 3, match: { method: 'GET', path: '/x' } });
      expect(added.status, spec.kind).toBe(201);
      const listed = (await cloud.control('GET', '/faults')).body.at('faults').items.map((fault) => fault.raw);
      expect(listed).toEqual([expect.objectContaining({ ...spec, times: 3, hits: 0 })]);
      const id = added.body.at('fault', 'id').raw;
      expect((await cloud.control('DELETE', `/faults/${id}`)).status).toBe(204);
      expect((await cloud.control('DELETE', `/faults/${id}`)).status).toBe(404);
    }
    expect((await cloud.control('POST', '/faults', { kind: 'unknown' })).status).toBe(400);
    expect((await cloud.control('POST', '/faults', { kind: 'latency' })).status).toBe(400);
    await cloud.control('POST', '/faults', { kind: 'status', code: 500 });
    expect((await cloud.call('GET', '/zones')).status).toBe(500);
    expect((await cloud.control('GET', '/faults')).body.at('faults', 0, 'hits').raw).toBe(1);
    await cloud.control('DELETE', '/faults');
    expect((await cloud.call('GET', '/zones')).status).toBe(200);
  });

  test('finds nothing under a name that there is not', async () => {
    expect((await cloud.control('GET', '/nothing')).status).toBe(404);
  });
});

describe('a simulator that stopped listening', () => {
  test('refuses connections and has kept everything when it listens again', async () => {
    await create();
    await cloud.simulator.stopListening();
    await expect(cloud.call('GET', '/zones')).rejects.toThrow();
    await cloud.simulator.listenAgain();
    expect((await cloud.call('GET', cloud.records)).body.at('result').items).toHaveLength(1);
  });
});
