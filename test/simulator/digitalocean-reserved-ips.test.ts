import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startTestCloud, type TestCloud } from './digitalocean-support.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.simulator.close());

/** Two droplets in nyc3 and an unassigned address there. */
function twoDroplets(): { ip: string; a: number; b: number } {
  const a = cloud.simulator.addDroplet({ name: 'a', region: 'nyc3' }).id;
  const b = cloud.simulator.addDroplet({ name: 'b', region: 'nyc3' }).id;
  return { ip: cloud.simulator.addReservedIP({ region: 'nyc3' }).ip, a, b };
}

const assign = (ip: string, dropletId: number) =>
  cloud.call('POST', `/v2/reserved_ips/${ip}/actions`, { type: 'assign', droplet_id: dropletId });
const holder = async (ip: string) =>
  (await cloud.call('GET', `/v2/reserved_ips/${ip}`)).body.at('reserved_ip', 'droplet', 'id').raw ?? null;
const message = (reply: { body: { at: (key: string) => { raw: unknown } } }) => reply.body.at('message').raw;

describe('an assignment', () => {
  test('locks the address until its action ends, and shows its effect only then', async () => {
    const { ip, a } = twoDroplets();
    const started = await assign(ip, a);
    expect(started.status).toBe(201);
    expect(started.body.at('action', 'status').raw).toBe('in-progress');
    const during = await cloud.call('GET', `/v2/reserved_ips/${ip}`);
    expect(during.body.at('reserved_ip').raw).toMatchObject({ locked: true, droplet: null });

    cloud.clock.advance(1000);
    const after = await cloud.call('GET', `/v2/reserved_ips/${ip}`);
    expect(after.body.at('reserved_ip').raw).toMatchObject({ locked: false, droplet: { id: a } });
    const action = await cloud.call('GET', `/v2/reserved_ips/${ip}/actions/${started.body.at('action', 'id').raw}`);
    expect(action.body.at('action').raw).toMatchObject({ status: 'completed', completed_at: '2026-01-01T00:00:01Z' });
  });

  test('moves the address from one droplet to another with one owner at any time', async () => {
    const { ip, a, b } = twoDroplets();
    await assign(ip, a);
    cloud.clock.advance(1000);
    await assign(ip, b);
    expect(await holder(ip)).toBe(a);
    cloud.clock.advance(1000);
    expect(await holder(ip)).toBe(b);
    expect(cloud.simulator.state.history(ip).map((entry) => [entry.dropletId, entry.by])).toEqual([
      [null, 'created'],
      [a, 'action'],
      [b, 'action'],
    ]);
  });

  test('is refused while the address has a pending event', async () => {
    const { ip, a, b } = twoDroplets();
    await assign(ip, a);
    const second = await assign(ip, b);
    expect([second.status, message(second)]).toEqual([422, 'The reserved IP already has a pending event.']);
  });

  test('is refused while the droplet has a pending event', async () => {
    const { ip, a } = twoDroplets();
    const other = cloud.simulator.addReservedIP({ region: 'nyc3' }).ip;
    await assign(ip, a);
    const second = await assign(other, a);
    expect([second.status, message(second)]).toEqual([422, 'Droplet already has a pending event.']);
  });

  test('is refused when the droplet holds another address, and when it holds this one', async () => {
    const { ip, a } = twoDroplets();
    const other = cloud.simulator.addReservedIP({ region: 'nyc3', dropletId: a }).ip;
    expect(message(await assign(ip, a))).toBe('Droplet already has a reserved IP.');
    expect(message(await assign(other, a))).toBe('The reserved IP is already assigned to this Droplet.');
  });

  test('is refused across regions', async () => {
    const { ip } = twoDroplets();
    const far = cloud.simulator.addDroplet({ name: 'far', region: 'fra1' }).id;
    expect((await assign(ip, far)).status).toBe(422);
  });

  test('answers 404 for an unknown address and for an unknown droplet', async () => {
    const { ip, a } = twoDroplets();
    expect((await assign('203.0.113.99', a)).status).toBe(404);
    const unknownDroplet = await assign(ip, 1);
    expect([unknownDroplet.status, unknownDroplet.body.at('id').raw]).toEqual([404, 'not_found']);
  });

  test('ends errored, without effect, when the droplet goes away meanwhile', async () => {
    const { ip, a } = twoDroplets();
    const started = await assign(ip, a);
    cloud.simulator.removeDroplet(a);
    cloud.clock.advance(1000);
    expect(await holder(ip)).toBe(null);
    const action = await cloud.call('GET', `/v2/actions/${started.body.at('action', 'id').raw}`);
    expect(action.body.at('action', 'status').raw).toBe('errored');
  });
});

describe('a reserved IP', () => {
  test('is created in a region, unassigned and unlocked, with 202', async () => {
    const reply = await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' });
    expect(reply.status).toBe(202);
    expect(reply.body.at('reserved_ip').raw).toMatchObject({ droplet: null, locked: false, region: { slug: 'nyc3' } });
    expect(reply.body.at('links').raw).toEqual({});
  });

  test('created for a droplet is locked first and then assigned, and the links name the action', async () => {
    const { a } = twoDroplets();
    const reply = await cloud.call('POST', '/v2/reserved_ips', { droplet_id: a });
    expect(reply.body.at('reserved_ip').raw).toMatchObject({ droplet: null, locked: true });
    expect(reply.body.at('links', 'actions', 0, 'rel').raw).toBe('assign_ip');
    cloud.clock.advance(1000);
    expect(await holder(String(reply.body.at('reserved_ip', 'ip').raw))).toBe(a);
  });

  test('for a droplet that has one already is refused and leaves no address behind', async () => {
    const { a } = twoDroplets();
    cloud.simulator.addReservedIP({ region: 'nyc3', dropletId: a });
    const before = cloud.simulator.state.reservedIPs.size;
    expect((await cloud.call('POST', '/v2/reserved_ips', { droplet_id: a })).status).toBe(422);
    expect(cloud.simulator.state.reservedIPs.size).toBe(before);
  });

  test('beyond the quota is refused with 422', async () => {
    for (let i = 0; i < 3; i++) expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' })).status).toBe(202);
    const fourth = await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' });
    expect([fourth.status, fourth.body.at('id').raw]).toEqual([422, 'unprocessable_entity']);
    expect(String(message(fourth))).toContain('limit');
  });

  test('can be created 12 times a minute, and again later', async () => {
    cloud.simulator.setReservedIPQuota(100);
    for (let i = 0; i < 12; i++) expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' })).status).toBe(202);
    const refused = await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    cloud.clock.advance(60_000);
    expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3' })).status).toBe(202);
  });

  test('must be for a region or for a droplet, not for both and not for none', async () => {
    const { a } = twoDroplets();
    expect((await cloud.call('POST', '/v2/reserved_ips', {})).status).toBe(422);
    expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nyc3', droplet_id: a })).status).toBe(422);
    expect((await cloud.call('POST', '/v2/reserved_ips', { region: 'nowhere1' })).status).toBe(422);
  });

  test('is deleted with 204 and not found afterwards, and its history remains', async () => {
    const { ip } = twoDroplets();
    expect((await cloud.call('DELETE', `/v2/reserved_ips/${ip}`)).status).toBe(204);
    expect((await cloud.call('GET', `/v2/reserved_ips/${ip}`)).status).toBe(404);
    expect(cloud.simulator.state.history(ip)).toHaveLength(1);
  });

  test('cannot be deleted while an action is pending', async () => {
    const { ip, a } = twoDroplets();
    await assign(ip, a);
    expect((await cloud.call('DELETE', `/v2/reserved_ips/${ip}`)).status).toBe(422);
  });

  test('is unassigned by an action, and only when it is assigned', async () => {
    const { ip, a } = twoDroplets();
    expect((await cloud.call('POST', `/v2/reserved_ips/${ip}/actions`, { type: 'unassign' })).status).toBe(422);
    cloud.simulator.moveReservedIP(ip, a);
    expect((await cloud.call('POST', `/v2/reserved_ips/${ip}/actions`, { type: 'unassign' })).status).toBe(201);
    cloud.clock.advance(1000);
    expect(await holder(ip)).toBe(null);
  });

  test('moved by hand shows at once and is told apart in the history', async () => {
    const { ip, a, b } = twoDroplets();
    await assign(ip, a);
    cloud.clock.advance(1000);
    cloud.simulator.moveReservedIP(ip, b);
    expect(await holder(ip)).toBe(b);
    expect(cloud.simulator.state.history(ip).at(-1)).toMatchObject({ dropletId: b, by: 'hand', actionId: null });
  });

  test('loses its holder when the droplet is destroyed', async () => {
    const { ip, a } = twoDroplets();
    cloud.simulator.moveReservedIP(ip, a);
    expect((await cloud.call('DELETE', `/v2/droplets/${a}`)).status).toBe(204);
    expect(await holder(ip)).toBe(null);
    expect(cloud.simulator.state.history(ip).at(-1)?.by).toBe('droplet removed');
  });

  test('is listed among the public addresses of the droplet that holds it', async () => {
    const { ip, a } = twoDroplets();
    cloud.simulator.moveReservedIP(ip, a);
    const networks = (await cloud.call('GET', `/v2/droplets/${a}`)).body.at('droplet', 'networks', 'v4').items;
    const publicOnes = networks.filter((network) => network.at('type').raw === 'public').map((network) => network.at('ip_address').raw);
    expect(publicOnes).toHaveLength(2);
    expect(publicOnes).toContain(ip);
  });
});

describe('the deprecated floating IP paths', () => {
  test('answer the same addresses under the old names', async () => {
    const { ip, a } = twoDroplets();
    const started = await cloud.call('POST', `/v2/floating_ips/${ip}/actions`, { type: 'assign', droplet_id: a });
    expect(started.body.at('action', 'resource_type').raw).toBe('floating_ip');
    cloud.clock.advance(1000);
    const one = await cloud.call('GET', `/v2/floating_ips/${ip}`);
    expect(one.body.at('floating_ip', 'droplet', 'id').raw).toBe(a);
    const all = await cloud.call('GET', '/v2/floating_ips');
    expect(all.body.at('floating_ips').items.map((item) => item.at('ip').raw)).toEqual([ip]);
    expect(await holder(ip)).toBe(a);
  });
});
