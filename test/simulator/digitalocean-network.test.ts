import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Greeter, startGreeter, tryOnce } from '../support/prober.ts';
import { startTestCloud, type TestCloud } from './digitalocean-support.ts';

/** Named droplets with a program on each that tells the droplet's name. */
const A = 11;
const B = 12;
const ADDRESS = '203.0.113.7';

const greeters: Greeter[] = [];
let cloud: TestCloud;
beforeAll(async () => {
  greeters.push(await startGreeter('a'), await startGreeter('b'));
});
afterAll(() => Promise.all(greeters.map((greeter) => greeter.close())));
beforeEach(async () => {
  cloud = await startTestCloud({ actionMs: 1000, firewallMs: 1000 });
  const { simulator } = cloud;
  for (const [index, id] of [A, B].entries()) {
    simulator.addDroplet({ id, name: `droplet-${id}`, region: 'nyc3' });
    simulator.network.listeners.set(id, 80, greeters[index]?.port ?? 0);
  }
});
afterEach(() => cloud.simulator.close());

const everybody = { addresses: ['0.0.0.0/0', '::/0'] };
const rule = (ports: string, sources: object = everybody, protocol = 'tcp') => ({ protocol, ports, sources });
const elsewhere = rule('22');

async function firewall(name: string, rules: readonly unknown[], more: object = {}): Promise<string> {
  const reply = await cloud.call('POST', '/v2/firewalls', { name, inbound_rules: rules, ...more });
  expect(reply.status, reply.text).toBe(202);
  return String(reply.body.at('firewall', 'id').raw);
}

/** Who answers at port 80 of the address, or how the connection failed. Nothing may hang. */
async function answer(port = 80, from?: string, address = ADDRESS): Promise<string> {
  const endpoint = await cloud.simulator.network.endpoint({ address, port, from });
  const { outcome, by } = await tryOnce(endpoint);
  return by ?? outcome;
}

// ---------------------------------------------------------------- the truth table

const places = {
  'on the droplet': 'a',
  'on another droplet': 'b',
  'on none': null,
  'in transit from the droplet to another': null,
} as const;
const rules = {
  'the port': { rule: rule('80'), opens: true },
  'a range around the port': { rule: rule('79-81'), opens: true },
  'all ports': { rule: rule('all'), opens: true },
  'another port': { rule: rule('81'), opens: false },
  'the port by UDP': { rule: rule('80', everybody, 'udp'), opens: false },
  'the port for others': { rule: rule('80', { addresses: ['10.0.0.0/8'] }), opens: false },
} as const;
const memberships = {
  'by its id': true,
  'by a tag': true,
  'not, but in another firewall': false,
  'not, and in no firewall': null,
} as const;
const states = { applied: true, pending: false } as const;

const keysOf = <T extends object>(table: T) => Object.keys(table) as (keyof T)[];

async function arrange(
  place: keyof typeof places,
  opened: keyof typeof rules,
  membership: keyof typeof memberships,
  state: keyof typeof states,
) {
  const { simulator, clock, call } = cloud;
  const holder = { 'on the droplet': A, 'on another droplet': B, 'on none': null, 'in transit from the droplet to another': A }[place];
  simulator.addReservedIP({ ip: ADDRESS, region: 'nyc3', ...(holder === null ? {} : { dropletId: holder }) });
  if (membership === 'not, but in another firewall') await firewall('other', [elsewhere], { droplet_ids: [A] });
  if (membership === 'by a tag') simulator.tagDroplet(A, 'web');
  const named = { 'by its id': { droplet_ids: [A] }, 'by a tag': { tags: ['web'] } };
  await firewall('front', [rules[opened].rule], membership in named ? named[membership as keyof typeof named] : {});
  if (state === 'applied') clock.advance(1000);
  if (place === 'in transit from the droplet to another')
    expect((await call('POST', `/v2/reserved_ips/${ADDRESS}/actions`, { type: 'assign', droplet_id: B })).status).toBe(201);
}

function expected(
  place: keyof typeof places,
  opened: keyof typeof rules,
  membership: keyof typeof memberships,
  state: keyof typeof states,
) {
  const holder = places[place];
  if (holder !== 'a') return holder ?? 'reset';
  const covered = memberships[membership];
  return covered === null || (covered && rules[opened].opens && states[state]) ? 'a' : 'reset';
}

describe('a connection to an address', () => {
  const cases = keysOf(places).flatMap((place) => keysOf(memberships).map((membership) => ({ place, membership })));
  test.each(cases)(
    '$place, the droplet in the firewall $membership, ends as every rule and its state say',
    async ({ place, membership }) => {
      const outcomes: Record<string, string> = {};
      const wanted: Record<string, string> = {};
      for (const opened of keysOf(rules)) {
        for (const state of keysOf(states)) {
          await arrange(place, opened, membership, state);
          outcomes[`${opened}, ${state}`] = await answer();
          wanted[`${opened}, ${state}`] = expected(place, opened, membership, state);
          await renew();
        }
      }
      expect(outcomes).toEqual(wanted);
    },
  );

  test('has both outcomes in that table', () => {
    const all = cases.flatMap(({ place, membership }) =>
      keysOf(rules).flatMap((opened) => keysOf(states).map((state) => expected(place, opened, membership, state))),
    );
    const counts = Object.fromEntries(['a', 'b', 'reset'].map((outcome) => [outcome, all.filter((one) => one === outcome).length]));
    expect(counts).toEqual({ a: 18, b: 48, reset: 126 });
  });
});

/** A cloud as at the start, for the next row. */
async function renew(): Promise<void> {
  const { simulator, call } = cloud;
  for (const id of [...simulator.state.firewalls.keys()]) await call('DELETE', `/v2/firewalls/${id}`);
  cloud.clock.advance(2000);
  await call('DELETE', `/v2/reserved_ips/${ADDRESS}`);
  simulator.untagDroplet(A, 'web');
  expect([simulator.state.firewalls.size, simulator.state.reservedIPs.size]).toEqual([0, 0]);
}

// ---------------------------------------------------------------- what the table does not say

describe('a rule', () => {
  beforeEach(() => void cloud.simulator.addReservedIP({ ip: ADDRESS, region: 'nyc3', dropletId: A }));

  test('that is removed lets traffic through until the droplet has heard of it', async () => {
    const id = await firewall('front', [rule('80'), elsewhere], { droplet_ids: [A] });
    cloud.clock.advance(1000);
    expect(await answer()).toBe('a');
    await cloud.call('DELETE', `/v2/firewalls/${id}/rules`, { inbound_rules: [rule('80')] });
    expect(await answer()).toBe('a');
    cloud.clock.advance(1000);
    expect(await answer()).toBe('reset');
  });

  test('stays in force on a droplet that is taken out until it has heard of it, and then everything is open', async () => {
    const id = await firewall('front', [elsewhere], { droplet_ids: [A] });
    cloud.clock.advance(1000);
    await cloud.call('DELETE', `/v2/firewalls/${id}/droplets`, { droplet_ids: [A] });
    expect(await answer()).toBe('reset');
    cloud.clock.advance(1000);
    expect(await answer()).toBe('a');
  });

  test('of one firewall is enough where another one closes', async () => {
    await firewall('closed', [elsewhere], { droplet_ids: [A] });
    await firewall('front', [rule('80')], { droplet_ids: [A] });
    cloud.clock.advance(1000);
    expect(await answer()).toBe('a');
  });

  test('counts the source of a connection: networks, single addresses, droplets and tags', async () => {
    const { simulator } = cloud;
    const trusted = simulator.addDroplet({ name: 'trusted', region: 'nyc3', tags: ['trusted'] });
    const known = simulator.addDroplet({ name: 'known', region: 'nyc3' });
    const sources = { addresses: ['10.0.0.0/8', '192.0.2.77'], droplet_ids: [known.id], tags: ['trusted'] };
    await firewall('front', [rule('80', sources)], { droplet_ids: [A] });
    cloud.clock.advance(1000);
    const from = async (source: string) => await answer(80, source);
    expect(await Promise.all(['10.1.2.3', '192.0.2.77', trusted.publicIPv4, known.privateIPv4].map(from))).toEqual(['a', 'a', 'a', 'a']);
    expect(await Promise.all(['11.1.2.3', '192.0.2.78', '198.51.100.1'].map(from))).toEqual(['reset', 'reset', 'reset']);
  });

  test('opens nothing where nobody listens, or nobody any more', async () => {
    expect(await answer(81)).toBe('reset');
    expect(await answer(80)).toBe('a');
    expect(cloud.simulator.network.listeners.remove(A, 80)).toBe(true);
    expect(await answer(80)).toBe('reset');
    const gone = await startGreeter('gone');
    await gone.close();
    cloud.simulator.network.listeners.set(A, 80, gone.port);
    expect(await answer(80)).toBe('reset');
  });
});

describe('an IPv6 address', () => {
  test('is reached by the networks of its own family', async () => {
    const { simulator, clock } = cloud;
    const six = simulator.addDroplet({ name: 'six', region: 'nyc3', ipv6: true });
    simulator.network.listeners.set(six.id, 80, greeters[0]?.port ?? 0);
    const { ip } = simulator.addReservedIP({ region: 'nyc3', family: 6, dropletId: six.id });
    const id = await firewall('front', [rule('80', { addresses: ['0.0.0.0/0'] })], { droplet_ids: [six.id] });
    clock.advance(1000);
    expect(await answer(80, undefined, ip)).toBe('reset');
    await cloud.call('POST', `/v2/firewalls/${id}/rules`, { inbound_rules: [rule('80', { addresses: ['::/0'] })] });
    clock.advance(1000);
    expect(await answer(80, undefined, ip)).toBe('a');
  });
});

describe('the control routes', () => {
  test('tell another process which loopback port stands for a port of an address, and take listeners from it', async () => {
    const { simulator, call } = cloud;
    simulator.addReservedIP({ ip: ADDRESS, region: 'nyc3', dropletId: A });
    const asked = await call('POST', '/_control/endpoints', { address: ADDRESS, port: 8080 });
    const again = await call('POST', '/_control/endpoints', { address: ADDRESS, port: 8080 });
    expect([asked.status, again.body.raw]).toEqual([201, asked.body.raw]);
    const shown = asked.body.at('endpoint');
    expect(shown.raw).toMatchObject({ address: ADDRESS, port: 8080, host: '127.0.0.1', to: A });
    const target = { host: '127.0.0.1', loopbackPort: Number(shown.at('loopback_port').raw) };
    expect((await tryOnce(target)).outcome).toBe('reset');
    const listener = { droplet_id: A, port: 8080, loopback_port: greeters[1]?.port };
    expect((await call('POST', '/_control/listeners', listener)).status).toBe(204);
    expect((await tryOnce(target)).by).toBe('b');
    expect((await call('DELETE', `/_control/listeners/${A}/8080`)).status).toBe(204);
    expect((await tryOnce(target)).outcome).toBe('reset');
    await firewall('front', [elsewhere], { droplet_ids: [A] });
    expect((await call('GET', '/_control/endpoints')).body.at('endpoints', 0, 'refused').raw).toBe('closed by firewall');
  });

  test('refuse what they cannot do', async () => {
    expect((await cloud.call('POST', '/_control/listeners', { droplet_id: A, port: 80 })).status).toBe(400);
    expect((await cloud.call('POST', '/_control/endpoints', { address: ADDRESS })).status).toBe(400);
    expect((await cloud.call('DELETE', '/_control/listeners/1/2')).status).toBe(404);
    const unknown = await cloud.call('POST', '/_control/endpoints', { address: '203.0.113.99', port: 80 });
    expect(unknown.body.at('endpoint', 'refused').raw).toBe('no such address');
  });
});
