import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestCloud, type TestCloud } from './digitalocean-support.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.simulator.close());

const anywhere = { sources: { addresses: ['0.0.0.0/0', '::/0'] } };
const rule = (ports: string, protocol = 'tcp') => ({ protocol, ports, ...anywhere });

async function created(extra: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const reply = await cloud.call('POST', '/v2/firewalls', { name: 'front', inbound_rules: [rule('22')], ...extra });
  expect(reply.status).toBe(202);
  return String(reply.body.at('firewall', 'id').raw);
}

const read = async (id: string) => (await cloud.call('GET', `/v2/firewalls/${id}`)).body.at('firewall');
const ports = async (id: string) => (await read(id)).at('inbound_rules').items.map((one) => one.at('ports').raw);

describe('a firewall', () => {
  test('waits for its droplets and then succeeds', async () => {
    const droplet = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id;
    const id = await created({ droplet_ids: [droplet] });
    const waiting = { status: 'waiting', pending_changes: [{ droplet_id: droplet, removing: false, status: 'waiting' }] };
    expect((await read(id)).raw).toMatchObject(waiting);
    cloud.clock.advance(1000);
    expect((await read(id)).raw).toMatchObject({ status: 'succeeded', pending_changes: [] });
  });

  test('has at least one rule, at most 50, 10 droplets and 5 tags', async () => {
    const many = cloud.simulator;
    const droplets = Array.from({ length: 11 }, (_, i) => many.addDroplet({ name: `d${i}`, region: 'nyc3' }).id);
    const rules = Array.from({ length: 51 }, (_, i) => rule(String(1000 + i)));
    const bodies = [
      { name: 'none' },
      { name: 'rules', inbound_rules: rules },
      { name: 'droplets', inbound_rules: [rule('22')], droplet_ids: droplets },
      { name: 'tags', inbound_rules: [rule('22')], tags: ['a', 'b', 'c', 'd', 'e', 'f'] },
    ];
    for (const tag of ['a', 'b', 'c', 'd', 'e', 'f']) await cloud.call('POST', '/v2/tags', { name: tag });
    for (const body of bodies) expect((await cloud.call('POST', '/v2/firewalls', body)).status, body.name).toBe(422);
    const full = { name: 'full', inbound_rules: rules.slice(1), droplet_ids: droplets.slice(1), tags: ['a', 'b', 'c', 'd', 'e'] };
    expect((await cloud.call('POST', '/v2/firewalls', full)).status).toBe(202);
  });

  test('gets and loses rules one by one, but keeps the last', async () => {
    const id = await created();
    expect((await cloud.call('POST', `/v2/firewalls/${id}/rules`, { inbound_rules: [rule('80'), rule('443')] })).status).toBe(204);
    expect(await ports(id)).toEqual(['22', '80', '443']);
    const shuffled = { protocol: 'tcp', ports: '80', sources: { addresses: ['::/0', '0.0.0.0/0'] } };
    expect((await cloud.call('DELETE', `/v2/firewalls/${id}/rules`, { inbound_rules: [shuffled] })).status).toBe(204);
    expect(await ports(id)).toEqual(['22', '443']);
    const all = { inbound_rules: [rule('22'), rule('443')] };
    expect((await cloud.call('DELETE', `/v2/firewalls/${id}/rules`, all)).status).toBe(422);
    expect(await ports(id)).toEqual(['22', '443']);
  });

  test('keeps a rule that is added twice once, and shows all ports as "0"', async () => {
    const id = await created();
    for (let i = 0; i < 2; i++) await cloud.call('POST', `/v2/firewalls/${id}/rules`, { inbound_rules: [rule('all', 'udp')] });
    expect(await ports(id)).toEqual(['22', '0']);
  });

  test('gets and loses droplets, and says which are pending', async () => {
    const droplet = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id;
    const id = await created();
    expect((await cloud.call('POST', `/v2/firewalls/${id}/droplets`, { droplet_ids: [droplet] })).status).toBe(204);
    expect((await read(id)).at('droplet_ids').raw).toEqual([droplet]);
    cloud.clock.advance(1000);
    expect((await cloud.call('DELETE', `/v2/firewalls/${id}/droplets`, { droplet_ids: [droplet] })).status).toBe(204);
    expect((await read(id)).raw).toMatchObject({ droplet_ids: [], pending_changes: [{ droplet_id: droplet, removing: true }] });
  });

  test('applies to droplets by tag', async () => {
    const droplet = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3', tags: ['web'] }).id;
    const id = await created();
    expect((await cloud.call('POST', `/v2/firewalls/${id}/tags`, { tags: ['web'] })).status).toBe(204);
    expect((await read(id)).at('pending_changes', 0, 'droplet_id').raw).toBe(droplet);
    expect((await cloud.call('DELETE', `/v2/firewalls/${id}/tags`, { tags: ['web'] })).status).toBe(204);
    expect((await read(id)).at('tags').raw).toEqual([]);
  });

  test('is reset by PUT where the body says nothing', async () => {
    const droplet = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id;
    await cloud.call('POST', '/v2/tags', { name: 'web' });
    const id = await created({ droplet_ids: [droplet], tags: ['web'] });
    const put = await cloud.call('PUT', `/v2/firewalls/${id}`, { name: 'front', inbound_rules: [rule('80')] });
    expect(put.status).toBe(200);
    expect((await read(id)).raw).toMatchObject({ droplet_ids: [], tags: [] });
    expect(await ports(id)).toEqual(['80']);
  });

  test('refuses a second one of its name with 409', async () => {
    await created();
    const second = await cloud.call('POST', '/v2/firewalls', { name: 'front', inbound_rules: [rule('22')] });
    expect([second.status, second.body.at('id').raw]).toEqual([409, 'conflict']);
  });

  test('is deleted with 204 and gone', async () => {
    const id = await created();
    expect((await cloud.call('DELETE', `/v2/firewalls/${id}`)).status).toBe(204);
    expect((await cloud.call('GET', `/v2/firewalls/${id}`)).status).toBe(404);
  });

  test('loses a droplet that is destroyed', async () => {
    const droplet = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id;
    const id = await created({ droplet_ids: [droplet] });
    cloud.simulator.removeDroplet(droplet);
    expect((await read(id)).raw).toMatchObject({ droplet_ids: [], pending_changes: [] });
  });
});
