import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, SECOND, service, servicePort } from '../routedip/world.ts';

const NODES = Array.from({ length: 30 }, (_, index) => node(`n${index}`, { createdAt: index }));
const NAMES = NODES.map(({ name }) => name);
const SHARED = 'shared';
const MOST_RULES = 50;

const ports = (first: number, count: number) => Array.from({ length: count }, (_, index) => servicePort(first + index));

/** A firewall that covers all nodes by their tag, with rules of a person besides. */
async function ready(world: RoutedWorld, byHand = ['tcp/22']) {
  world.provider.cloud.addFirewall(SHARED, byHand, [], { tagged: NAMES.map(providerIDOf) });
  world.setClass({ routedIPFirewallName: SHARED });
  world.setNode(...NODES);
  return world.leader();
}

function expose(world: RoutedWorld, namespace: string, name: string, listens: ReturnType<typeof ports>): ObjectRef {
  world.cluster.setService(namespace, name, service(NAMES, { ports: listens }));
  const spec = { className: CLASS_NAME, serviceRef: { serviceName: name } };
  return world.cluster.setPool({ kind: 'RoutedIP', namespace, name, spec });
}

/** Twenty Services of ten ports each, in one namespace. */
const attack = (world: RoutedWorld): readonly ObjectRef[] =>
  Array.from({ length: 20 }, (_, index) => expose(world, 'attacker', `a${index}`, ports(10_000 + 10 * index, 10)));

const rules = (world: RoutedWorld): number => world.firewall(SHARED).ports.length;

const MORE = Array.from({ length: MOST_RULES }, (_, index) => ({ port: 20_000 + index, protocol: 'TCP' as const }));
/** A person uses up all rules that are left. */
const fill = (world: RoutedWorld): unknown => world.provider.cloud.openPorts(SHARED, MORE.slice(rules(world)));

/** Its node fails. */
async function moves(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  const holder = String(world.statusOf(ref).assignedNode);
  world.cluster.setNode({ ...node(holder), ready: false });
  await world.clock.runUntil(() => world.holderOf(String(world.statusOf(ref).routedIP) as Address) !== holder, 10 * SECOND);
}

const served = (world: RoutedWorld, refs: readonly ObjectRef[]): readonly ObjectRef[] =>
  refs.filter((ref) => world.statusOf(ref).state === 'Stable');
const looks = (world: RoutedWorld): number => world.provider.calls.filter(({ verb }) => verb === 'findRoutedIPFirewall').length;
const eventsAbout = (world: RoutedWorld, ref: ObjectRef, reason: string): number =>
  world.eventsOf(ref).filter((each) => each === reason).length;

describe('a namespace that asks for every rule of a shared firewall', () => {
  test('leaves some to one that comes later, whose failover goes on when it is full', async ({ open }) => {
    const world = open();
    await ready(world);
    const theirs = attack(world);
    await world.clock.advance(2 * MINUTE);
    expect(served(world, theirs)).toHaveLength(3);
    const victim = expose(world, 'victim', 'shop', ports(443, 2));
    await world.stable(victim);
    expect(world.firewall(SHARED).ports).toEqual(expect.arrayContaining(['tcp/443', 'tcp/444']));
    fill(world);
    expect(rules(world)).toBe(MOST_RULES);
    await moves(world, victim);
    await world.stable(victim);
    expect(world.firewall(SHARED).ports).toEqual(expect.arrayContaining(['tcp/443', 'tcp/444']));
  });

  test('leaves some also where a person has added most of the rules', async ({ open }) => {
    const world = open();
    await ready(
      world,
      Array.from({ length: 44 }, (_, index) => `tcp/${1000 + index}`),
    );
    attack(world);
    for (let index = 0; index < 6; index += 1) expose(world, 'attacker', `one${index}`, ports(30_000 + index, 1));
    await world.clock.advance(2 * MINUTE);
    const victim = expose(world, 'victim', 'shop', ports(443, 2));
    await world.stable(victim);
  });

  test('hears in a condition which firewall is full, what it has of it, and what to do, and by one Event', async ({ open }) => {
    const world = open();
    await ready(world);
    const theirs = attack(world);
    await world.clock.advance(30 * MINUTE);
    const [refused] = theirs.filter((ref) => world.reasonOf(ref) === 'FirewallLimit');
    if (!refused) throw new Error('nobody is refused');
    expect(world.messageOf(refused, 'FirewallReady')).toBe(
      `firewall ${SHARED} has no room for that: namespace attacker has 30 rules of it and needs 10 more, and 19 are free; of the last 10 a namespace gets one only ` +
        'while it has fewer than are free. Give up ports of this namespace, remove rules that nobody needs, or use another firewall',
    );
    expect(eventsAbout(world, refused, 'FirewallLimit')).toBe(1);
  });

  test('has it looked at no oftener than each of those that were refused waits', async ({ open }) => {
    const world = open();
    await ready(world);
    const theirs = attack(world);
    await world.clock.advance(20 * MINUTE);
    const before = looks(world);
    await world.clock.advance(60 * MINUTE);
    expect(looks(world) - before).toBeLessThanOrEqual(6 * (theirs.length - 3));
  });

  test('gets its ports as soon as it gives others up, and one after the other', async ({ open }) => {
    const world = open();
    await ready(world);
    const theirs = attack(world);
    await world.clock.advance(20 * MINUTE);
    const [first] = served(world, theirs);
    if (!first) throw new Error('nobody serves');
    world.cluster.markDeleting(first);
    await world.clock.runUntil(() => world.cluster.pool(first) === null, 10 * SECOND);
    await world.clock.runUntil(() => served(world, theirs).length === 3, 10 * SECOND);
    await world.clock.advance(MINUTE);
    expect(served(world, theirs)).toHaveLength(3);
    expect(rules(world)).toBe(31);
  });
});

test('while a firewall is gone nobody gains rules by asking for more: what is put back is what was there', async ({ open }) => {
  const world = open();
  await ready(world);
  const greedy = expose(world, 'attacker', 'one', ports(10_000, 1));
  await world.stable(greedy);
  world.provider.cloud.removeFirewall(SHARED);
  await world.clock.advance(6 * MINUTE);
  world.cluster.setService('attacker', 'one', service(NAMES, { ports: ports(10_000, 60) }));
  await world.clock.advance(6 * MINUTE);
  world.provider.cloud.addFirewall(SHARED, ['tcp/22'], [], { tagged: NAMES.map(providerIDOf) });
  await world.clock.advance(20 * MINUTE);
  expect(rules(world)).toBeLessThanOrEqual(40);
  const victim = expose(world, 'victim', 'shop', ports(443, 2));
  await world.stable(victim);
});

test('rules that are given up go to the namespace with the fewest of those that wait, at once', async ({ open }) => {
  const world = open();
  await ready(
    world,
    Array.from({ length: 44 }, (_, index) => `tcp/${1000 + index}`),
  );
  const busy = Array.from({ length: 3 }, (_, index) => expose(world, 'busy', `b${index}`, ports(10_000 + index, 1)));
  for (const ref of busy) await world.stable(ref);
  fill(world);
  const more = expose(world, 'busy', 'more', ports(10_010, 1));
  const quiet = expose(world, 'quiet', 'shop', ports(443, 1));
  for (const ref of [more, quiet]) await world.untilReason(ref, 'FirewallLimit');
  await world.clock.advance(20 * MINUTE);
  const [first] = busy;
  if (first) world.cluster.markDeleting(first);
  await world.stable(quiet, undefined, 10 * SECOND);
  expect(world.reasonOf(more)).toBe('FirewallLimit');
});

describe('a RoutedIP that serves', () => {
  test('keeps all that it has, more than its share, and moves with it while a new port is refused', async ({ open }) => {
    const world = open();
    await ready(world);
    const ref = expose(world, 'web', 'big', ports(10_000, 38));
    await world.stable(ref);
    world.cluster.setService('web', 'big', service(NAMES, { ports: ports(10_000, 48) }));
    await world.untilReason(ref, 'FirewallLimit');
    for (let times = 0; times < 2; times += 1) {
      await moves(world, ref);
      await world.untilReason(ref, 'FirewallLimit', 'FirewallReady');
      expect(world.reasonOf(ref)).toBe('Assigned');
      expect(world.statusOf(ref).ports).toHaveLength(38);
    }
    world.cluster.setService('web', 'big', service(NAMES, { ports: ports(10_000, 39) }));
    await world.stable(ref);
    expect(world.statusOf(ref).ports).toHaveLength(39);
  });
});
