import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { request, startTestCloud, type TestCloud, type TestReply } from './digitalocean-support.ts';

let cloud: TestCloud;
beforeEach(async () => {
  cloud = await startTestCloud();
});
afterEach(() => cloud.simulator.close());

const ofDroplet = (name: string, ipv6 = true): number => cloud.simulator.addDroplet({ name, region: 'nyc3', ipv6 }).id;
const ofAddress = (): string => cloud.simulator.addReservedIP({ region: 'nyc3', family: 6 }).ip;

const act = (ip: string, body: unknown) => cloud.call('POST', `/v2/reserved_ipv6/${ip}/actions`, body);
const assign = (ip: string, dropletId: number) => act(ip, { type: 'assign', droplet_id: dropletId });
const holder = async (ip: string) =>
  (await cloud.call('GET', `/v2/reserved_ipv6/${ip}`)).body.at('reserved_ipv6', 'droplet', 'id').raw ?? null;
const listed = async (path: string, key: string) => (await cloud.call('GET', path)).body.at(key).items.map((item) => item.at('ip').raw);
const refusal = ({ status, body }: TestReply) => [status, body.at('message').raw];

describe('a reserved IPv6 address', () => {
  test('is created in a region, assigned, moved, unassigned and deleted', async () => {
    const [a, b] = [ofDroplet('a'), ofDroplet('b')];
    const created = await cloud.call('POST', '/v2/reserved_ipv6', { region_slug: 'nyc3' });
    expect(created.status).toBe(201);
    const ip = String(created.body.at('reserved_ipv6', 'ip').raw);
    expect(ip).toContain(':');
    for (const droplet of [a, b]) {
      expect((await assign(ip, droplet)).status).toBe(201);
      cloud.clock.advance(1000);
      expect(await holder(ip)).toBe(droplet);
    }
    expect(refusal(await cloud.call('DELETE', `/v2/reserved_ipv6/${ip}`))).toEqual([422, 'The reserved IPv6 is assigned to a Droplet.']);
    expect((await act(ip, { type: 'unassign' })).status).toBe(201);
    cloud.clock.advance(1000);
    expect((await cloud.call('DELETE', `/v2/reserved_ipv6/${ip}`)).status).toBe(204);
    expect((await cloud.call('GET', `/v2/reserved_ipv6/${ip}`)).status).toBe(404);
  });

  test('stands beside an IPv4 one on a droplet, and each in the list of its own', async () => {
    const a = ofDroplet('a');
    const four = cloud.simulator.addReservedIP({ region: 'nyc3', dropletId: a }).ip;
    const six = ofAddress();
    await assign(six, a);
    cloud.clock.advance(1000);
    expect(cloud.simulator.state.reservedIPs.get(four)?.dropletId).toBe(a);
    expect(await holder(six)).toBe(a);
    expect([await listed('/v2/reserved_ips', 'reserved_ips'), await listed('/v2/reserved_ipv6', 'reserved_ipv6s')]).toEqual([
      [four],
      [six],
    ]);
    for (const path of [`/v2/reserved_ips/${six}`, `/v2/reserved_ipv6/${four}`]) expect((await cloud.call('GET', path)).status).toBe(404);
  });

  test('does not say that it is locked; its action is read under all actions and nowhere else', async () => {
    const [ip, a] = [ofAddress(), ofDroplet('a')];
    const action = (await assign(ip, a)).body.at('action', 'id').raw;
    const during = (await cloud.call('GET', `/v2/reserved_ipv6/${ip}`)).body.at('reserved_ipv6').raw;
    expect(during).toEqual({ ip, region_slug: 'nyc3', reserved_at: '2026-01-01T00:00:00Z', droplet: null });
    const status = async () => (await cloud.call('GET', `/v2/actions/${action}`)).body.at('action', 'status').raw;
    expect(await status()).toBe('in-progress');
    expect((await cloud.call('GET', `/v2/reserved_ipv6/${ip}/actions/${action}`)).status).toBe(404);
    cloud.clock.advance(1000);
    expect(await status()).toBe('completed');
  });

  test('is refused to a droplet without IPv6, to one that has another, in another region, and while an event is pending', async () => {
    const [ip, other, a, b] = [ofAddress(), ofAddress(), ofDroplet('a'), ofDroplet('b')];
    cloud.simulator.moveReservedIP(other, b);
    expect(refusal(await assign(ip, ofDroplet('c', false)))).toEqual([422, 'IPv6 is not enabled on the Droplet.']);
    expect(refusal(await assign(ip, b))).toEqual([422, 'Droplet already has a reserved IPv6.']);
    const elsewhere = cloud.simulator.addDroplet({ name: 'd', region: 'fra1', ipv6: true }).id;
    expect(refusal(await assign(ip, elsewhere))).toEqual([422, 'The reserved IPv6 and the Droplet must be in the same region.']);
    expect((await assign(ip, a)).status).toBe(201);
    expect(refusal(await assign(ip, a))).toEqual([422, 'The reserved IPv6 already has a pending event.']);
    cloud.clock.advance(1000);
    expect(refusal(await assign(ip, a))).toEqual([422, 'The reserved IPv6 is already assigned to this Droplet.']);
  });

  test('shows on its droplet, beside the address that the droplet has of its own', async () => {
    const [ip, a, plain] = [ofAddress(), ofDroplet('a'), ofDroplet('b', false)];
    const networks = async (id: number) => (await cloud.call('GET', `/v2/droplets/${id}`)).body.at('droplet', 'networks', 'v6').items;
    expect([(await networks(a)).length, (await networks(plain)).length]).toEqual([1, 0]);
    await assign(ip, a);
    cloud.clock.advance(1000);
    expect((await networks(a)).map((network) => network.at('ip_address').raw)).toContain(ip);
  });
});

describe('faults', () => {
  test('strike IPv6 addresses too', async () => {
    const [ip, a, b] = [ofAddress(), ofDroplet('a'), ofDroplet('b')];
    const { faults } = cloud.simulator;
    faults.add({ kind: 'pendingEvent', times: 1 });
    expect((await assign(ip, a)).status).toBe(422);
    faults.add({ kind: 'actionErrored', times: 1 });
    const failing = (await assign(ip, a)).body.at('action', 'id').raw;
    cloud.clock.advance(1000);
    expect((await cloud.call('GET', `/v2/actions/${failing}`)).body.at('action', 'status').raw).toBe('errored');
    expect(await holder(ip)).toBe(null);
    faults.add({ kind: 'slowAction', ms: 5000, times: 1 });
    await assign(ip, b);
    cloud.clock.advance(1000);
    expect(await holder(ip)).toBe(null);
    cloud.clock.advance(4000);
    expect(await holder(ip)).toBe(b);
    faults.add({ kind: 'staleReads', ms: 500, times: 2 });
    expect([await holder(ip), await holder(ip), await holder(ip)]).toEqual([null, null, b]);
    faults.add({ kind: 'quota', times: 1 });
    expect((await cloud.call('POST', '/v2/reserved_ipv6', { region_slug: 'nyc3' })).status).toBe(422);
    expect(faults.list().map(({ hits }) => hits)).toEqual([1, 1, 1, 2, 1]);
  });

  test('hide an address that is newer than a stale read, and cut its list', async () => {
    const ip = ofAddress();
    ofAddress();
    cloud.simulator.faults.add({ kind: 'staleReads', ms: 500, times: 2 });
    expect((await cloud.call('GET', `/v2/reserved_ipv6/${ip}`)).status).toBe(404);
    expect(await listed('/v2/reserved_ipv6', 'reserved_ipv6s')).toEqual([]);
    cloud.simulator.faults.add({ kind: 'truncatePages', how: 'missingRest', times: 1 });
    const cut = await cloud.call('GET', '/v2/reserved_ipv6');
    expect([cut.body.at('reserved_ipv6s').items.length, cut.body.at('meta', 'total').raw]).toEqual([1, 2]);
  });
});

describe('the control route', () => {
  const control = (method: string, path: string, body?: unknown) =>
    request(cloud.simulator.url, { method, path: `/_control${path}`, body, token: '' });

  test('adds IPv6 addresses, named or not, and droplets that take them', async () => {
    expect((await control('POST', '/droplets', { id: 77, name: 'a', region: 'nyc3', ipv6: true })).status).toBe(201);
    const named = await control('POST', '/reserved_ips', { ip: '2001:db8::77', region: 'nyc3', dropletId: 77 });
    const other = await control('POST', '/reserved_ips', { region: 'nyc3', family: 6 });
    expect([named.status, other.status]).toEqual([201, 201]);
    expect((await listed('/v2/reserved_ipv6', 'reserved_ipv6s')).length).toBe(2);
    await control('POST', `/reserved_ips/${encodeURIComponent('2001:db8::77')}/move`, { dropletId: null });
    expect(await holder('2001:db8::77')).toBe(null);
    expect((await assign('2001:db8::77', 77)).status).toBe(201);
    const calls = (await control('GET', '/calls?writes=1')).body.at('calls').items;
    expect(calls.map((call) => call.at('path').raw)).toEqual(['/v2/reserved_ipv6/2001:db8::77/actions']);
  });
});
