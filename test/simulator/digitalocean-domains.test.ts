import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestCloud, type TestCloud } from './digitalocean-support.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
  const reply = await cloud.call('POST', '/v2/domains', { name: 'example.com' });
  expect([reply.status, reply.body.at('domain', 'zone_file').raw]).toEqual([201, null]);
});
afterEach(() => cloud.simulator.close());

const records = '/v2/domains/example.com/records';

async function addRecord(name: string, data: string, ttl = 60): Promise<number> {
  const reply = await cloud.call('POST', records, { type: 'A', name, data, ttl });
  expect(reply.status).toBe(201);
  return Number(reply.body.at('domain_record', 'id').raw);
}

describe('a domain', () => {
  test('starts with name servers, and an A record when an address is given', async () => {
    await cloud.call('POST', '/v2/domains', { name: 'example.org', ip_address: '192.0.2.1' });
    const listed = await cloud.call('GET', '/v2/domains/example.org/records');
    const types = listed.body.at('domain_records').items.map((record) => record.at('type').raw);
    expect(types).toEqual(['SOA', 'NS', 'NS', 'NS', 'A']);
  });

  test('is listed with its zone file and deleted', async () => {
    await addRecord('nodes', '203.0.113.5');
    const listed = await cloud.call('GET', '/v2/domains');
    expect(String(listed.body.at('domains', 0, 'zone_file').raw)).toContain('nodes.example.com. 60 IN A 203.0.113.5');
    expect((await cloud.call('DELETE', '/v2/domains/example.com')).status).toBe(204);
    expect((await cloud.call('GET', records)).status).toBe(404);
  });
});

describe('records', () => {
  test('are filtered by full name and by type', async () => {
    await addRecord('nodes', '203.0.113.5');
    await addRecord('nodes', '203.0.113.6');
    await addRecord('other', '203.0.113.7');
    await addRecord('@', '203.0.113.8');
    const of = async (query: string) =>
      (await cloud.call('GET', `${records}?${query}`)).body.at('domain_records').items.map((record) => record.at('data').raw);
    expect(await of('name=nodes.example.com&type=A')).toEqual(['203.0.113.5', '203.0.113.6']);
    expect(await of('name=example.com&type=A')).toEqual(['203.0.113.8']);
    expect(await of('type=A')).toHaveLength(4);
    expect(await of('name=nodes&type=A')).toEqual([]);
  });

  test('are 20 a page by default and 200 at most', async () => {
    for (let i = 0; i < 210; i++) await addRecord('nodes', `203.0.113.${i}`);
    expect((await cloud.call('GET', records)).body.at('domain_records').items).toHaveLength(20);
    const page = await cloud.call('GET', `${records}?type=A&per_page=200`);
    expect(page.body.at('domain_records').items).toHaveLength(200);
    expect(page.body.at('meta', 'total').raw).toBe(210);
  });

  test('are changed in part by PUT and PATCH, read one by one and deleted', async () => {
    const id = await addRecord('nodes', '203.0.113.5');
    expect((await cloud.call('PATCH', `${records}/${id}`, { data: '203.0.113.9' })).status).toBe(200);
    expect((await cloud.call('PUT', `${records}/${id}`, { ttl: 120 })).status).toBe(200);
    const one = await cloud.call('GET', `${records}/${id}`);
    expect(one.body.at('domain_record').raw).toMatchObject({ type: 'A', name: 'nodes', data: '203.0.113.9', ttl: 120, priority: null });
    expect((await cloud.call('DELETE', `${records}/${id}`)).status).toBe(204);
    expect((await cloud.call('DELETE', `${records}/${id}`)).status).toBe(404);
  });

  test('are refused when they make no sense', async () => {
    const bodies = [
      { type: 'A', name: 'x', data: 'no-address', ttl: 60 },
      { type: 'AAAA', name: 'x', data: '203.0.113.5', ttl: 60 },
      { type: 'A', name: 'x', data: '203.0.113.5', ttl: 5 },
      { type: 'ANY', name: 'x', data: '203.0.113.5' },
      { type: 'A', data: '203.0.113.5' },
    ];
    for (const body of bodies) expect((await cloud.call('POST', records, body)).status, JSON.stringify(body)).toBe(422);
  });
});
