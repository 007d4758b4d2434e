import { describe, expect } from 'vitest';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';
import { bothOn, FOUR, facts, SEVEN, SIX } from './ipv6-pools.ts';

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
