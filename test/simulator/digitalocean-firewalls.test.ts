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

  test('reaches its droplets one after the other, the last when the time for a change is over', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => cloud.simulator.addDroplet({ name, region: 'nyc3' }).id);
    const id = await created({ droplet_ids: [a, b, c] });
    const waiting = async () => (await read(id)).at('pending_changes').items.map((one) => one.at('droplet_id').raw);
    const seen = [await waiting()];
    for (const ms of [334, 333, 333]) {
      cloud.clock.advance(ms);
      seen.push(await waiting());
    }
    expect(seen).toEqual([[a, b, c], [b, c], [c], []]);
    expect((await read(id)).at('status').raw).toBe('succeeded');
    // A new droplet waits alone, a new rule makes all wait.
    const d = cloud.simulator.addDroplet({ name: 'd', region: 'nyc3' }).id;
    await cloud.call('POST', `/v2/firewalls/${id}/droplets`, { droplet_ids: [d] });
    expect(await waiting()).toEqual([d]);
    await cloud.call('POST', `/v2/firewalls/${id}/rules`, { inbound_rules: [rule('80')] });
    expect(await waiting()).toEqual([a, b, c, d]);
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

  test('covers a droplet from when it bears the tag until it does not, each time after a change of its own', async () => {
    const { simulator, call, clock } = cloud;
    await call('POST', '/v2/tags', { name: 'web' });
    const id = await created({ tags: ['web'] });
    const pending = async () => (await read(id)).at('pending_changes').raw;
    const droplet = simulator.addDroplet({ name: 'a', region: 'nyc3', tags: ['web'] }).id;
    expect(await pending()).toEqual([{ droplet_id: droplet, removing: false, status: 'waiting' }]);
    const covering = async () =>
      (await call('GET', `/v2/droplets/${droplet}/firewalls`)).body.at('firewalls').items.map((one) => one.at('id').raw);
    expect(await covering()).toEqual([id]);
    clock.advance(1000);
    expect(await pending()).toEqual([]);
    const resources = { resources: [{ resource_id: String(droplet), resource_type: 'droplet' }] };
    expect((await call('DELETE', '/v2/tags/web/resources', resources)).status).toBe(204);
    expect(await pending()).toEqual([{ droplet_id: droplet, removing: true, status: 'waiting' }]);
    expect(await covering()).toEqual([]);
    expect((await call('POST', '/v2/tags/web/resources', resources)).status).toBe(204);
    expect(await pending()).toEqual([{ droplet_id: droplet, removing: false, status: 'waiting' }]);
  });

  test.each([
    ['a tag that does not exist', { tags: ['nobody'] }, 'tag nobody does not exist'],
    [
      'a tag that does not exist as a source',
      { inbound_rules: [{ ...rule('80'), sources: { tags: ['nobody'] } }] },
      'tag nobody does not exist',
    ],
    ['a droplet that does not exist', { droplet_ids: [1] }, 'droplet 1 does not exist'],
    ['an empty address', { inbound_rules: [{ ...rule('80'), sources: { addresses: [''] } }] }, 'invalid address'],
    ['a network that is too small', { inbound_rules: [{ ...rule('80'), sources: { addresses: ['10.0.0.0/33'] } }] }, 'invalid address'],
    ['a range that runs backwards', { inbound_rules: [rule('90-80')] }, 'invalid port range'],
    ['a port that is none', { inbound_rules: [rule('http')] }, 'invalid port range'],
    ['no port', { inbound_rules: [{ protocol: 'tcp', ...anywhere }] }, 'You must specify a positive value for ports.'],
    ['sources as a list', { inbound_rules: [{ ...rule('80'), sources: [] }] }, 'You specified an invalid type for one of the sources.'],
  ])('is not created with %s', async (_, extra, message) => {
    const reply = await cloud.call('POST', '/v2/firewalls', { name: 'front', inbound_rules: [rule('22')], ...extra });
    expect([reply.status, reply.body.at('id').raw, reply.body.at('message').raw]).toEqual([422, 'unprocessable_entity', message]);
    expect(cloud.simulator.state.firewalls.size).toBe(0);
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
