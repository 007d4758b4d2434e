import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { callOf, description } from './digitalocean-described.ts';
import { type Asks, camel, createDots, type Dots, type Step } from './digitalocean-dots.ts';
import { unread } from './unread.ts';

/** Each action has ended by the next call, each firewall change too. */
const atOnce = { actionMs: 0, firewallMs: 0, reservedIPQuota: 20 };
let simulator: DigitalOceanSimulator;
let dots: Dots;
beforeAll(async () => {
  simulator = await startDigitalOcean(atOnce);
  dots = createDots(simulator.url, 'test');
  simulator.addDroplet({ id: 11, name: 'a', region: 'nyc3', tags: ['web'], ipv6: true });
  simulator.addDroplet({ id: 12, name: 'b', region: 'nyc3' });
  simulator.addPrefix({ prefix: '198.51.100.0/24', region: 'nyc3' });
});
afterAll(() => simulator.close());

/** What the client makes of the answer to the call. All of the answer has to be in it. */
async function ask(
  steps: readonly Step[],
  how: (asks: Asks) => Promise<unknown> = (asks) => asks.get(),
): Promise<Readonly<Record<string, unknown>>> {
  const read = (await how(dots.at(...steps))) ?? {};
  // The client goes by the description, which misspells it.
  expect(unread(dots.heard(), read, camel).filter((place) => !/\.resources\.images\./.test(place))).toEqual([]);
  return { ...read };
}

const post = (body: unknown) => (asks: Asks) => asks.post(body);
const drop = (body?: unknown) => (asks: Asks) => asks.delete(body);
const page = (queryParameters: Readonly<Record<string, unknown>>) => (asks: Asks) => asks.get({ queryParameters });
const holders = () => [...simulator.state.reservedIPs.values()].map(({ dropletId }) => dropletId);

describe('DigitalOcean’s own client in TypeScript', () => {
  test('reads the account, its droplets, tags, prefixes and actions', async () => {
    expect(await ask(['account'])).toMatchObject({ account: { status: 'active', floatingIpLimit: 20 } });
    expect(await ask(['droplets'], page({ perPage: 1, page: 2 }))).toMatchObject({ droplets: [{ id: 12, name: 'b' }], meta: { total: 2 } });
    expect(await ask(['droplets'], page({ tagName: 'web' }))).toMatchObject({ droplets: [{ id: 11 }] });
    expect(await ask(['droplets', ['byDroplet_id', 11]])).toMatchObject({
      droplet: { region: { slug: 'nyc3' }, features: expect.arrayContaining(['ipv6']) },
    });
    expect(await ask(['tags'])).toMatchObject({ tags: [{ name: 'web', resources: { droplets: { count: 1 } } }] });
    expect(await ask(['byoip_prefixes'])).toMatchObject({
      byoipPrefixes: [{ prefix: '198.51.100.0/24', status: 'active', region: 'nyc3' }],
    });
    expect(await ask(['actions'])).toMatchObject({ actions: [], meta: { total: 0 } });
  });

  test('makes droplets and tags them', async () => {
    const wanted = { region: 'nyc3', size: 's-1vcpu-1gb', image: 'debian-12-x64' };
    const { droplet, links } = await ask(['droplets'], post({ ...wanted, name: 'made' }));
    expect(links).toMatchObject({ actions: [{ rel: 'create' }] });
    const { id } = droplet as { readonly id: number };
    expect(await ask(['tags'], post({ name: 'new' }))).toMatchObject({ tag: { name: 'new' } });
    const resources = { resources: [{ resourceId: String(id), resourceType: 'droplet' }] };
    await ask(['tags', ['byTag_id', 'new'], 'resources'], post(resources));
    expect(await ask(['tags', ['byTag_id', 'new']])).toMatchObject({ tag: { resources: { count: 1 } } });
    await ask(['tags', ['byTag_id', 'new'], 'resources'], drop(resources));
    expect(simulator.state.droplets.get(id)?.tags).toEqual([]);
    await ask(['droplets', ['byDroplet_id', id]], drop());
    expect(simulator.state.droplets.has(id)).toBe(false);
  });

  test.each([
    ['reserved_ips', 'byReserved_ip', 'reservedIp'],
    ['floating_ips', 'byFloating_ip', 'floatingIp'],
  ])('moves addresses by %s', async (path, by, key) => {
    const made = await ask([path], post({ region: 'nyc3' }));
    const { ip } = made[key] as { readonly ip: string };
    const one: readonly Step[] = [path, [by, ip]];
    expect(await ask([path])).toMatchObject({ [`${key}s`]: [{ ip, region: { slug: 'nyc3' }, locked: false }], meta: { total: 1 } });
    const { action } = await ask([...one, 'actions'], post({ type: 'assign', dropletId: 12 }));
    const { id } = action as { readonly id: number };
    expect(holders()).toEqual([12]);
    expect(await ask([...one, 'actions', ['byAction_id', id]])).toMatchObject({ action: { id, status: 'completed', type: 'assign_ip' } });
    expect(await ask([...one, 'actions'])).toMatchObject({ actions: [{ id }, { type: 'reserve_ip' }] });
    expect(await ask([...one])).toMatchObject({ [key]: { droplet: { id: 12 } } });
    await ask([...one, 'actions'], post({ type: 'unassign' }));
    expect(holders()).toEqual([null]);
    await ask([...one], drop());
    expect(holders()).toEqual([]);
  });

  test('moves IPv6 addresses', async () => {
    const { reservedIpv6 } = await ask(['reserved_ipv6'], post({ regionSlug: 'nyc3' }));
    const { ip } = reservedIpv6 as { readonly ip: string };
    const one: readonly Step[] = ['reserved_ipv6', ['byReserved_ipv6', ip]];
    const { action } = await ask([...one, 'actions'], post({ type: 'assign', dropletId: 11 }));
    const { id } = action as { readonly id: number };
    expect(await ask(['actions', ['byAction_id', id]])).toMatchObject({ action: { status: 'completed', resourceType: 'reserved_ipv6' } });
    expect(await ask(['reserved_ipv6'])).toMatchObject({ reservedIpv6s: [{ ip, regionSlug: 'nyc3', droplet: { id: 11 } }] });
    expect(await ask([...one])).toMatchObject({ reservedIpv6: { ip, droplet: { id: 11 } } });
    await ask([...one, 'actions'], post({ type: 'unassign' }));
    await ask([...one], drop());
    expect(holders()).toEqual([]);
  });

  test('changes firewalls', async () => {
    const rule = (ports: string) => ({ protocol: 'tcp', ports, sources: { addresses: ['192.0.2.0/24', '2001:db8::/32'] } });
    const made = await ask(['firewalls'], post({ name: 'front', inboundRules: [rule('80')], dropletIds: [11] }));
    const { id } = made.firewall as { readonly id: string };
    const one: readonly Step[] = ['firewalls', ['byFirewall_id', id]];
    await ask([...one, 'rules'], post({ inboundRules: [rule('443')] }));
    await ask([...one, 'droplets'], post({ dropletIds: [12] }));
    await ask([...one, 'tags'], post({ tags: ['web'] }));
    const firewall = { name: 'front', status: 'succeeded', inboundRules: [rule('80'), rule('443')], dropletIds: [11, 12], tags: ['web'] };
    expect(await ask([...one])).toMatchObject({ firewall });
    expect(await ask(['firewalls'])).toMatchObject({ firewalls: [firewall], meta: { total: 1 } });
    expect(await ask(['droplets', ['byDroplet_id', 12], 'firewalls'])).toMatchObject({ firewalls: [{ id }] });
    await ask([...one, 'rules'], drop({ inboundRules: [rule('80')] }));
    await ask([...one, 'droplets'], drop({ dropletIds: [11] }));
    await ask([...one, 'tags'], drop({ tags: ['web'] }));
    expect(simulator.state.firewalls.get(id)).toMatchObject({ inboundRules: [rule('443')], dropletIds: [12], tags: [] });
    const range = { protocol: 'udp', ports: '8000-9000', destinations: { tags: ['web'] } };
    expect(await ask([...one], (asks) => asks.put({ name: 'back', outboundRules: [range] }))).toMatchObject({
      firewall: { name: 'back', inboundRules: [], outboundRules: [range], dropletIds: [] },
    });
    await ask([...one], drop());
    expect(simulator.state.firewalls.size).toBe(0);
  });

  test('changes domains and their records', async () => {
    expect(await ask(['domains'], post({ name: 'example.com' }))).toMatchObject({ domain: { name: 'example.com', ttl: 1800 } });
    const zone: readonly Step[] = ['domains', ['byDomain_name', 'example.com']];
    const wanted = { type: 'A', name: 'www', data: '192.0.2.1', ttl: 60 };
    const { domainRecord } = await ask([...zone, 'records'], post(wanted));
    const { id } = domainRecord as { readonly id: number };
    const one: readonly Step[] = [...zone, 'records', ['byDomain_record_id', id]];
    expect(await ask([...one])).toMatchObject({ domainRecord: { ...wanted, id } });
    expect(await ask([...one], (asks) => asks.put({ ...wanted, data: '192.0.2.2' }))).toMatchObject({
      domainRecord: { data: '192.0.2.2' },
    });
    expect(await ask([...one], (asks) => asks.patch({ type: 'A', ttl: 90 }))).toMatchObject({ domainRecord: { ttl: 90 } });
    expect(await ask([...zone, 'records'], page({ name: 'www.example.com', type: 'A' }))).toMatchObject({ domainRecords: [{ id }] });
    await ask([...one], drop());
    expect(await ask([...zone])).toMatchObject({ domain: { zoneFile: expect.not.stringContaining('192.0.2.2') } });
    expect(await ask(['domains'])).toMatchObject({ domains: [{ name: 'example.com' }] });
    await ask([...zone], drop());
    expect(simulator.state.domains.size).toBe(0);
  });

  test('is told what is wrong', async () => {
    const error = { id: 'not_found', messageEscaped: 'The resource you requested could not be found.', responseStatusCode: 404 };
    await expect(dots.at('droplets', ['byDroplet_id', 99]).get()).rejects.toMatchObject(error);
    const invalid = { id: 'unprocessable_entity', responseStatusCode: 422 };
    await expect(dots.at('reserved_ips').post({})).rejects.toMatchObject(invalid);
  });

  test('has made every call that is served', () => {
    const made = new Set(simulator.calls.all().map(({ method, path }) => callOf(method, path)?.name ?? `${method} ${path}`));
    expect([...made].sort()).toEqual(Object.keys(description.calls));
  });

  test('would be found out by an answer that it cannot read', async () => {
    const droplet = { id: 11, name: 'a', status: 'asleep', created_at: 'yesterday', locked: 'no', memory: '8', owner: 1 };
    simulator.faults.add({ kind: 'status', code: 200, body: { droplet }, times: 1 });
    const read = await dots.at('droplets', ['byDroplet_id', 11]).get();
    expect(unread(dots.heard(), read, camel)).toEqual([
      '.droplet.status',
      '.droplet.created_at',
      '.droplet.locked',
      '.droplet.memory',
      '.droplet.owner',
    ]);
  });
});
