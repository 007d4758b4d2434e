import { describe, expect } from 'vitest';
import { PartialList, ProviderError } from '../../actors/errors.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { test } from '../support/sound.ts';
import { node, type OperatorProcess, PROVIDER, type World } from '../support/world.ts';

const FOUR = '203.0.113.7';
const SIX = '2001:db8::6';
const SEVEN = '2001:db8::7';
const facts = { ipv6: true };

/** Both families on one node: the pools `four` and `six`, active on node a; b is spare. */
async function bothOn(world: World): Promise<{ readonly four: ObjectRef; readonly six: ObjectRef; readonly first: OperatorProcess }> {
  world.nodes(node('a'), node('b'));
  for (const address of [FOUR, SIX]) world.address(address, 'a');
  const refs = { four: world.pool('four', { ips: [FOUR] }), six: world.pool('six', { ips: [SIX] }) };
  const first = await world.start();
  await world.untilStates(refs.four, { [FOUR]: 'active' });
  await world.untilStates(refs.six, { [SIX]: 'active' });
  return { ...refs, first };
}

const annotated = ({ cluster }: World) => ({ four: cluster.annotations(4), six: cluster.annotations(6) });

describe('an IPv6 address', () => {
  test('is assigned, annotated under its own name, and fails over', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'), node('b'));
    const address = world.address(SIX);
    const ref = world.pool('six', { ips: [SIX] });
    await world.start();
    await world.untilStates(ref, { [SIX]: 'active' });
    await world.clock.runUntil(() => world.cluster.annotations(6).a === SIX, 5_000);
    expect(annotated(world)).toEqual({ four: {}, six: { a: SIX } });
    expect(world.status(ref).ips?.[address]).toMatchObject({ nodeName: 'a', providerID: 'digitalocean://a' });

    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(SIX, 'b', 1_000);
    await world.clock.runUntil(() => world.cluster.annotations(6).b === SIX, 5_000);
    expect(annotated(world)).toEqual({ four: {}, six: { b: SIX } });
    expect(world.assigns().map(({ what }) => what)).toEqual([`${SIX} → a`, `${SIX} → b`]);
  });

  test('is known by one spelling, however the spec writes it', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'));
    world.address(SIX, 'a');
    const ref = world.pool('six', { ips: ['2001:DB8:0:0::0006'] });
    await world.start();
    await world.untilStates(ref, { [SIX]: 'active' });
    expect(world.provider.writes()).toEqual([]);
  });

  test('is published in an AAAA record', async ({ open }) => {
    const world = open({ facts });
    const { cloud } = world.provider;
    cloud.addZone('example.com');
    world.nodes(node('a'));
    world.address(SIX, 'a');
    world.pool('six', { ips: [SIX], dnsRecordSet: { zone: 'example.com', recordName: 'six' } });
    await world.start();
    const records = () => cloud.zone('example.com').records.map(({ type, name, data }) => `${type} ${name} ${data}`);
    await world.clock.runUntil(() => records().length > 0, 30_000);
    expect(records()).toEqual([`AAAA six ${SIX}`]);
  });

  test('of two pools never meet on one node, and each uses the whole line', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'));
    for (const address of [SIX, SEVEN]) world.address(address);
    const [older, newer] = [world.pool('older', { ips: [SIX] }), world.pool('newer', { ips: [SEVEN] })];
    await world.start();
    await world.untilStates(older, { [SIX]: 'active' });
    await world.untilStates(newer, { [SEVEN]: 'unassigned' });
    expect(world.assigns()).toHaveLength(1);
    world.nodes(node('b'));
    await world.untilStates(newer, { [SEVEN]: 'active' });
    expect([world.holderOf(SIX), world.holderOf(SEVEN)]).toEqual(['a', 'b']);
  });
});

describe('an IPv4 and an IPv6 address', () => {
  test('share a node, and each is annotated', async ({ open }) => {
    const world = open({ facts });
    await bothOn(world);
    await world.clock.runUntil(() => world.cluster.annotations(6).a === SIX && world.cluster.annotations(4).a === FOUR, 5_000);
    expect(annotated(world)).toEqual({ four: { a: FOUR }, six: { a: SIX } });
    expect(world.provider.writes()).toEqual([]);
  });

  test('come to share a node that has neither', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'));
    for (const address of [FOUR, SIX]) world.address(address);
    const [four, six] = [world.pool('four', { ips: [FOUR] }), world.pool('six', { ips: [SIX] })];
    await world.start();
    await world.untilStates(four, { [FOUR]: 'active' });
    await world.untilStates(six, { [SIX]: 'active' });
    expect(
      world
        .assigns()
        .map(({ what }) => what)
        .sort(),
    ).toEqual([`${SIX} → a`, `${FOUR} → a`]);
  });

  test('of one node fail over together, to one spare node', async ({ open }) => {
    const world = open({ facts });
    const { four, six } = await bothOn(world);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(FOUR, 'b', 1_000);
    await world.untilOn(SIX, 'b', 1_000);
    await world.untilStates(four, { [FOUR]: 'active' });
    await world.untilStates(six, { [SIX]: 'active' });
    await world.clock.runUntil(() => world.cluster.annotations(6).b === SIX && world.cluster.annotations(4).b === FOUR, 5_000);
    expect(annotated(world)).toEqual({ four: { b: FOUR }, six: { b: SIX } });
    expect(world.assigns()).toHaveLength(2);
  });

  test('go their own ways: deleting the pool of one leaves the other with its annotation', async ({ open }) => {
    const world = open({ facts });
    const { four } = await bothOn(world);
    await world.clock.runUntil(() => world.cluster.annotations(4).a === FOUR, 5_000);
    world.cluster.removePool(four);
    await world.clock.runUntil(() => world.cluster.annotations(4).a === undefined, 5_000);
    expect(annotated(world)).toEqual({ four: {}, six: { a: SIX } });
    expect([world.holderOf(FOUR), world.holderOf(SIX)]).toEqual(['a', 'a']);
  });

  test('may follow each other in one pool by an edit: the former stays where it is, without its annotation', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'));
    world.address(FOUR, 'a');
    world.address(SIX);
    const ref = world.pool('ingress', { ips: [FOUR] });
    await world.start();
    await world.clock.runUntil(() => world.cluster.annotations(4).a === FOUR, 10_000);
    world.pool('ingress', { ips: [SIX] });
    await world.untilStates(ref, { [SIX]: 'active' });
    await world.clock.runUntil(() => world.cluster.annotations(6).a === SIX, 5_000);
    expect(annotated(world)).toEqual({ four: {}, six: { a: SIX } });
    expect(world.assigns().map(({ what }) => what)).toEqual([`${SIX} → a`]);
    expect(world.holderOf(FOUR)).toBe('a');
  });

  test('are both found by a new process, with the records and without', async ({ open }) => {
    for (const keeps of [true, false]) {
      const world = open({ facts });
      const { four, six } = await bothOn(world);
      for (const process of world.processes) process.kill();
      if (!keeps) {
        world.store.wipe();
        world.invariants.forget();
      }
      await world.start();
      await world.clock.advance(60_000);
      expect([world.states(four), world.states(six)]).toEqual([{ [FOUR]: 'active' }, { [SIX]: 'active' }]);
      world.cluster.setNode(node('a', { ready: false }));
      await world.untilOn(SIX, 'b', 1_000);
      await world.untilOn(FOUR, 'b', 1_000);
      expect(world.assigns(), String(keeps)).toHaveLength(2);
    }
  });
});

/** The provider shows no locks from now on, as DigitalOcean shows none of IPv6 addresses. */
function hideLocks({ provider: { cloud } }: World): void {
  const [find, list] = [cloud.find.bind(cloud), cloud.list.bind(cloud)];
  cloud.find = (address) => ({ ...find(address), locked: false });
  cloud.list = () => list().map((observed) => ({ ...observed, locked: false }));
}

describe('an address of which the provider shows no lock', () => {
  const asked = (world: World) => world.provider.calls.filter(({ verb }) => verb === 'actionState').length;

  test('is waited for with ever fewer questions about its action', async ({ open }) => {
    const world = open({ facts, provider: { actionMs: 20_000 } });
    hideLocks(world);
    world.nodes(node('a'));
    world.address(SIX);
    const ref = world.pool('six', { ips: [SIX] });
    await world.start();
    await world.untilStates(ref, { [SIX]: 'active' });
    expect(world.assigns()).toHaveLength(1);
    expect(asked(world)).toBeGreaterThan(0);
    expect(asked(world)).toBeLessThanOrEqual(4);
  });

  test('is assigned again when its action ended in an error', async ({ open }) => {
    const world = open({ facts });
    hideLocks(world);
    world.nodes(node('a'));
    world.address(SIX);
    world.provider.cloud.failActions(1);
    const ref = world.pool('six', { ips: [SIX] });
    await world.start();
    await world.untilStates(ref, { [SIX]: 'active' }, 10_000);
    expect(world.assigns()).toHaveLength(2);
  });

  test('is left where it goes when the answer was lost and the action takes longer than a call', async ({ open }) => {
    const world = open({ facts, provider: { actionMs: 25_000 } });
    hideLocks(world);
    world.nodes(node('a'), node('b'));
    const address = world.address(SIX);
    world.provider.faults.next('assignRoutedIP', { kind: 'loseReply' });
    const ref = world.pool('six', { ips: [SIX] });
    await world.start();
    await world.untilStates(ref, { [SIX]: 'active' }, 120_000);
    const holders = world.provider.cloud.history(address).map(({ providerID }) => providerID);
    expect(holders).toEqual(['digitalocean://a']);
  });
});

describe('lists', () => {
  test('of a verification are each of a family; what is waited for is read from its own', async ({ open }) => {
    const world = open({ facts, provider: { actionMs: 3_000 } });
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    world.nodes(...names.map((name) => node(name)));
    const sixes = names.slice(0, 4).map((name, n) => world.address(`2001:db8::${n + 1}`, name));
    world.address(FOUR);
    const ref = world.pool('six', { ips: sixes });
    world.pool('four', { ips: [FOUR] });
    await world.start();
    await world.untilStates(ref, Object.fromEntries(sixes.map((address) => [address, 'active'])));
    const lists = () => world.provider.calls.filter(({ verb }) => verb === 'listRoutedIPs').map(({ args }) => args);
    const before = lists().length;
    for (const name of names.slice(0, 4)) world.cluster.setNode(node(name, { ready: false }));
    await world.clock.runUntil(() => sixes.every((address) => ['e', 'f', 'g', 'h'].includes(world.holderOf(address) ?? '')), 30_000);
    await world.untilStates(ref, Object.fromEntries(sixes.map((address) => [address, 'active'])));
    const waited = lists().slice(before);
    expect(waited.length).toBeGreaterThan(0);
    expect(waited.filter(([family]) => family !== 6)).toEqual([]);
    const verified = lists().length;
    await world.clock.advance(300_000);
    expect(new Set(lists().slice(verified).map(String))).toEqual(new Set(['4', '6']));
  });

  test('of IPv6 addresses are read while a pool has one, and no longer', async ({ open }) => {
    const world = open({ facts });
    const { six } = await bothOn(world);
    const sixes = () => world.provider.calls.filter(({ verb, args }) => verb === 'listRoutedIPs' && args[0] === 6).length;
    await world.clock.advance(660_000);
    expect(sixes()).toBeGreaterThan(2);
    world.cluster.removePool(six);
    await world.clock.advance(360_000);
    const before = sixes();
    await world.clock.advance(1_200_000);
    expect(sixes()).toBe(before);
    world.pool('again', { ips: [SIX] });
    await world.clock.advance(60_000);
    expect(sixes()).toBe(before + 2);
  });

  test('of IPv6 addresses that cannot be read hold up no IPv4 address, also under a new leader, and say so where they are wanted', async ({
    open,
  }) => {
    const world = open({ facts });
    const { six, four, first } = await bothOn(world);
    let isDown = true;
    world.begins = (process) => {
      const standing = process.providers.all[PROVIDER];
      const { provider } = standing ?? {};
      if (!standing || !provider) throw new Error('there is no provider');
      const listRoutedIPs: typeof provider.listRoutedIPs = (call) =>
        call.family === 6 && isDown ? Promise.reject(new ProviderError('Unavailable', 'list: 503')) : provider.listRoutedIPs(call);
      process.providers.set(PROVIDER, { ...standing, provider: { ...provider, listRoutedIPs } });
    };
    first.kill();
    const process = await world.start();
    const ready = () => world.cluster.conditions(six).find(({ type }) => type === 'Ready');
    await world.clock.runUntil(() => ready()?.reason === 'ProviderUnread', 60_000);
    expect(ready()).toMatchObject({
      status: 'Unknown',
      message: expect.stringContaining('the IPv6 addresses of digitalocean could not be read yet: list: 503'),
    });
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(FOUR, 'b', 8_000);
    await world.untilStates(four, { [FOUR]: 'active' });
    expect(Object.values(process.supervisor.unreadProviders())).toEqual([expect.stringContaining('the IPv6 addresses of digitalocean')]);
    expect(world.holderOf(SIX)).toBe('a');
    isDown = false;
    await world.untilOn(SIX, 'b', 15_000);
    expect(process.supervisor.unreadProviders()).toEqual({});
  });

  test('of IPv6 addresses that cannot be read are forgotten with the last pool that has one', async ({ open }) => {
    const world = open({ facts });
    let isDown = true;
    world.begins = ({ providers }) => {
      const standing = providers.all[PROVIDER];
      const { provider } = standing ?? {};
      if (!standing || !provider) throw new Error('there is no provider');
      const listRoutedIPs: typeof provider.listRoutedIPs = (call) =>
        call.family === 6 && isDown ? Promise.reject(new ProviderError('Unavailable', 'list: 503')) : provider.listRoutedIPs(call);
      providers.set(PROVIDER, { ...standing, provider: { ...provider, listRoutedIPs } });
    };
    world.nodes(node('a'));
    world.address(FOUR);
    const four = world.pool('four', { ips: [FOUR] });
    const six = world.pool('six', { ips: [SIX] });
    const { supervisor } = await world.start();
    await world.untilStates(four, { [FOUR]: 'active' });
    await world.clock.runUntil(() => Object.keys(supervisor.unreadProviders()).length === 1, 30_000);
    world.cluster.removePool(six);
    await world.clock.runUntil(() => Object.keys(supervisor.unreadProviders()).length === 0, 120_000);
    // A pool that is edited to have one finds a list that was read for it.
    isDown = false;
    world.address(SEVEN);
    world.pool('four', { ips: [SEVEN] });
    await world.untilStates(four, { [SEVEN]: 'active' }, 60_000);
    const sixes = () => world.provider.calls.filter(({ verb, args }) => verb === 'listRoutedIPs' && args[0] === 6).length;
    const before = sixes();
    expect(before).toBeGreaterThan(0);
    await world.clock.advance(700_000);
    expect(sixes()).toBeGreaterThan(before);
  });

  test('are read for a pool that was edited to have IPv4 addresses while nobody led: it gives up those that it had', async ({ open }) => {
    const world = open({ facts });
    const { six, first } = await bothOn(world);
    first.kill();
    const other = world.address('203.0.113.9');
    world.pool('six', { ips: [other] });
    await world.start();
    await world.untilStates(six, { [other]: 'active' }, 60_000);
    expect(Object.keys(world.status(six).ips ?? {})).toEqual([other]);
  });

  test('that show less than there is take nothing away: what they do not show is looked at, and nothing is created', async ({ open }) => {
    const world = open({ facts });
    const { four, first } = await bothOn(world);
    const shown = world.address('203.0.113.8', 'c');
    world.begins = (process) => {
      const standing = process.providers.all[PROVIDER];
      const { provider } = standing ?? {};
      if (!standing || !provider) throw new Error('there is no provider');
      const listRoutedIPs: typeof provider.listRoutedIPs = async (call) => {
        const all = await provider.listRoutedIPs(call);
        throw new PartialList(
          'list: 1 of 3 were shown',
          all.filter(({ address }) => address === shown),
        );
      };
      process.providers.set(PROVIDER, { ...standing, provider: { ...provider, listRoutedIPs } });
    };
    first.kill();
    await world.start();
    await world.clock.advance(40_000);
    expect([world.status(four).activeIPs, world.assigns().length]).toEqual([1, 0]);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(FOUR, 'b', 8_000);
    await world.untilStates(four, { [FOUR]: 'active' });
    world.pool('lacking', { desiredIPs: 1 });
    await world.clock.advance(700_000);
    expect(world.provider.writes().filter(({ verb }) => verb === 'createRoutedIP')).toEqual([]);
    expect(world.status(four).activeIPs).toBe(1);
  });
});

describe('an IPv4 address whose creation was not answered', () => {
  test('is told from an IPv6 one that a person reserved meanwhile', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'));
    world.provider.faults.next('createRoutedIP', { kind: 'loseReply' });
    const ref = world.pool('four', { desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(() => world.provider.cloud.addresses().length === 1, 30_000);
    world.address(SIX);
    await world.clock.runUntil(() => world.status(ref).activeIPs === 1, 60_000);
    expect(world.provider.cloud.addresses()).toHaveLength(2);
    expect(Object.keys(world.states(ref))).not.toContain(SIX);
  });
});

describe('a pool that cannot be served', () => {
  test('is told so: of both families, and of more IPv6 addresses than it lists', async ({ open }) => {
    const world = open({ facts });
    world.nodes(node('a'), node('b'));
    const mixed = world.pool('mixed', { ips: [FOUR, SIX] });
    const more = world.pool('more', { ips: [SEVEN], desiredIPs: 2 });
    await world.start();
    await world.clock.runUntil(() => world.status(mixed).error !== undefined && world.status(more).error !== undefined, 10_000);
    expect(world.status(mixed).error).toContain('give each family a pool of its own');
    expect(world.status(more).error).toContain('IPv6 addresses are not created');
    expect(world.provider.writes()).toEqual([]);
  });

  test('because the provider has no IPv6 is told so', async ({ open }) => {
    const world = open({ facts: { ipv6: false } });
    world.nodes(node('a'));
    const ref = world.pool('six', { ips: [SIX] });
    await world.start();
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 10_000);
    expect(world.status(ref).error).toBe(`address ${SIX} in ips is IPv6, which this provider's addresses do not support`);
  });
});
