import { describe, expect } from 'vitest';
import type { Json } from '../../../actors/ports/records.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { killAll } from '../../support/setups.ts';
import { node, PROVIDER, providerIDOf } from '../../support/world.ts';
import { jobDriven } from '../kubernetes-jobs/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.7' as Address;
/** Longer than from one verification of all addresses to the next. */
const VERIFIED = 310 * SECOND;
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
const ANY = { adoption: 'Any' };

/** A RoutedIP for a Service on old and young that names an address which is on `holder`, a machine that is no node unless it is one of these. */
function naming(world: RoutedWorld, holder: string | null, policy: { readonly [field: string]: Json } = {}): ObjectRef {
  world.setClass({ routedIPFirewallName: '', ...policy });
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  if (holder !== null) world.provider.cloud.addNode(providerIDOf(holder));
  world.address(A, holder);
  return world.setRoutedIP('shop', { routedIP: A });
}

/** Nothing was asked of the provider that changes anything. */
const expectUntouched = (world: RoutedWorld, holder: string | null = 'stranger'): void => {
  expect(world.provider.writes()).toEqual([]);
  expect(world.holderOf(A)).toBe(holder);
};

function lostRecords(world: RoutedWorld): void {
  world.store.wipe();
  world.queues.wipe();
  world.invariants.forget();
}

const HELD = `${A} is on digitalocean://stranger, which is no node of this cluster: it is taken once it is free`;

describe('an address on a machine outside of the cluster that a RoutedIP names', () => {
  test('stays there, and is taken once a verification finds it free', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger');
    await world.leader();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    await world.clock.advance(VERIFIED);
    expectUntouched(world);
    expect(world.messageOf(ref)).toBe(`${HELD} (adoption of ClusterRoutedIPClass floating: Unassigned)`);
    expect(world.eventsOf(ref)).toEqual(['HeldElsewhere']);
    expect(world.statusOf(ref)).toMatchObject({ state: 'Unassigned', providerID: 'digitalocean://stranger' });
    expect(world.statusOf(ref), 'it has not got it').not.toHaveProperty('routedIP');
    world.provider.cloud.moveByHand(A, null);
    await world.stable(ref, 'young', VERIFIED);
    expect(world.eventsOf(ref)).toEqual(expect.arrayContaining(['AddressFound', 'Assigned']));
    expect(world.eventsOf(ref)).not.toContain('AddressTaken');
  });

  test('stays there when all records are lost', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger');
    await world.leader();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    killAll(world);
    lostRecords(world);
    await world.leader();
    await world.clock.advance(VERIFIED);
    expectUntouched(world);
  });

  test('is given up for another one when the spec names another one', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger');
    await world.leader();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    world.address('203.0.113.8');
    world.setRoutedIP('shop', { routedIP: '203.0.113.8' });
    await world.stable(ref, 'young');
    expect(world.holderOf(A)).toBe('stranger');
  });

  test('is taken at once when its machine becomes a node of the cluster, serving or not', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger');
    await world.leader();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    world.cluster.setNode(node('stranger'));
    await world.stable(ref, 'young', 10 * SECOND);
  });

  test('is not deleted with it, whatever it asks for', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger', { routedIPReclaimPolicy: 'Delete' });
    world.cluster.annotate(ref, { 'routedip.io/delete-adopted': 'true' });
    await world.leader();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    expectUntouched(world);
  });

  test('is taken where the class says Any, and an Event tells from where', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger', ANY);
    await world.leader();
    await world.stable(ref, 'young');
    await world.clock.advance(SECOND);
    expect(world.cluster.projections.flatMap(({ events }) => events)).toContainEqual({
      type: 'Warning',
      reason: 'AddressTaken',
      action: 'Adopt',
      message: `${A} was taken off digitalocean://stranger, which is no node of this cluster`,
    });
  });

  test('is taken once the class says Any', async ({ open }) => {
    const world = open();
    const ref = naming(world, 'stranger');
    await world.leader();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    world.setClass({ routedIPFirewallName: '', ...ANY });
    await world.stable(ref, 'young');
  });

  test('stays there when somebody took it there after it was last read', async ({ open }) => {
    const world = open();
    const ref = naming(world, null);
    world.setWeb('shop', []);
    await world.leader();
    await world.untilReason(ref, 'NoEligibleNode', 'Degraded');
    world.provider.cloud.addNode(providerIDOf('stranger'));
    world.provider.cloud.moveByHand(A, providerIDOf('stranger'));
    world.setWeb('shop', ['young']);
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    await world.clock.advance(VERIFIED);
    expectUntouched(world);
    expect(world.statusOf(ref)).toMatchObject({ routedIP: A, epoch: 1, unconfirmed: true });
  });
});

describe('a class that adopts nothing', () => {
  test.for([null, 'young', 'stranger'])('leaves an address where it is that is on %s', async (holder, { open }) => {
    const world = open();
    const ref = naming(world, holder, { adoption: 'Never' });
    await world.leader();
    await world.untilReason(ref, 'AdoptionNotAllowed', 'Degraded');
    await world.clock.advance(VERIFIED);
    expectUntouched(world, holder);
    expect(world.messageOf(ref)).toBe(
      `${A} was not made for this RoutedIP, and is not taken (adoption of ClusterRoutedIPClass floating: Never)`,
    );
  });

  test('leaves a RoutedIP what was made for it, and what it has had', async ({ open }) => {
    const world = open();
    const ref = naming(world, null);
    const made = world.setRoutedIP('shop');
    world.setWeb('blog', ['old', 'young']);
    const blog = world.setRoutedIP('blog', { routedIP: A });
    await world.leader();
    await world.clock.runUntil(() => [made, blog].every((each) => world.statusOf(each).state === 'Stable'), MINUTE);
    world.setClass({ routedIPFirewallName: '', adoption: 'Never' });
    await world.clock.advance(SECOND);
    world.setRoutedIP('shop', { routedIP: world.statusOf(ref).routedIP as string });
    await world.clock.advance(VERIFIED);
    expect([made, blog].map((each) => world.reasonOf(each))).toEqual(['Assigned', 'Assigned']);
  });
});

describe('an address that was on a node for its RoutedIP', () => {
  test.for([
    { what: 'whose node is deleted while its machine lives on', moves: false },
    { what: 'that somebody moves to a machine outside of the cluster', moves: true },
  ])('$what fails over when all records are lost', async ({ moves }, { open }) => {
    const world = open();
    const ref = naming(world, null);
    await world.leader();
    await world.stable(ref, 'young');
    await world.clock.advance(2 * SECOND);
    killAll(world);
    world.provider.cloud.addNode(providerIDOf('stranger'));
    if (moves) world.provider.cloud.moveByHand(A, providerIDOf('stranger'));
    else world.cluster.removeNode('young');
    world.setWeb('shop', ['old']);
    lostRecords(world);
    await world.leader();
    await world.stable(ref, 'old', MINUTE);
    expect(world.eventsOf(ref)).not.toContain('HeldElsewhere');
  });

  test('fails over with another account of its class, too', async ({ open }) => {
    const world = open();
    const ref = naming(world, null);
    const { providers } = await world.leader();
    await world.stable(ref, 'young');
    const { epoch } = world.statusOf(ref);
    providers.set(`${PROVIDER}@default.do-token`, { facts: world.facts, provider: world.provider.process() });
    world.setWeb('shop', []);
    world.cluster.removeNode('young');
    world.setClass({ routedIPFirewallName: '', fromSecretsRef: [{ name: 'do-token' }] });
    await world.clock.advance(10 * SECOND);
    world.setWeb('shop', ['old']);
    await world.stable(ref, 'old', MINUTE);
    expect(world.statusOf(ref).epoch).toBe((epoch as number) + 1);
  });
});

describe('a class whose addresses Jobs find', () => {
  const named = async (holder: string | null, change: { readonly [field: string]: Json } = {}) => {
    const { world } = await jobDriven({ routedIPFirewallName: '', ...change });
    world.jobs.platform.holders.set(A, holder === null ? null : providerIDOf(holder));
    world.setWeb('blog', ['old', 'young']);
    return { world, ref: world.setRoutedIP('blog', { serviceRef: { serviceName: 'blog' }, routedIP: A }) };
  };

  test('leaves one on a machine outside of the cluster, and looks from time to time whether it is free', async () => {
    const { world, ref } = await named('stranger');
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded', MINUTE);
    await world.clock.advance(VERIFIED);
    expect(world.heldBy(A)).toBe('stranger');
    world.jobs.platform.holders.set(A, null);
    await world.stable(ref, undefined, VERIFIED);
  });

  test('takes it where it says Any', async () => {
    const { world, ref } = await named('stranger', ANY);
    await world.stable(ref, undefined, 2 * MINUTE);
    await world.clock.advance(SECOND);
    expect(world.eventsOf(ref)).toContain('AddressTaken');
  });

  test('takes none of which its Job does not say where it is, unless it says Any', async () => {
    const { world, ref } = await named('stranger');
    world.jobs.platform.holders.delete(A);
    await world.untilReason(ref, 'AdoptionNotAllowed', 'Degraded', MINUTE);
    expect(world.messageOf(ref)).toMatch(/^the Job that is to find 203\.0\.113\.7 does not say where it is: it is not taken/);
    expect(world.jobs.actions).not.toContain(`assign ${A}`);
    world.jobs.platform.takesAny = true;
    world.jobClass({ routedIPFirewallName: '', ...ANY });
    await world.stable(ref, undefined, 2 * MINUTE);
  });
});

describe('an address on a machine outside of the cluster that a FloatingIPPool lists', () => {
  const listed = (world: RoutedWorld, annotations: Readonly<Record<string, string>> = {}): ObjectRef => {
    world.setNode(OLD);
    world.provider.cloud.addNode(providerIDOf('stranger'));
    world.address(A, 'stranger');
    const ref = world.pool('ingress', { ips: [A] });
    world.cluster.annotate(ref, annotations);
    return ref;
  };

  test('is taken, as by FLIPOP, and an Event tells from where', async ({ open }) => {
    const world = open();
    const ref = listed(world);
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(SECOND);
    expect(world.eventsOf(ref)).toContain('AddressTaken');
  });

  test.for([
    { adopt: 'unassigned', annotation: undefined },
    { adopt: 'unassigned', annotation: 'any' },
    { adopt: 'any', annotation: 'unassigned' },
    { adopt: 'any', annotation: 'Unasigned' },
  ] as const)('stays there under --adopt=$adopt with the annotation $annotation', async ({ adopt, annotation }, { open }) => {
    const world = open({ settings: { adopt } });
    const ref = listed(world, annotation === undefined ? {} : { 'routedip.io/adopt': annotation });
    await world.start();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    await world.clock.advance(VERIFIED);
    expectUntouched(world);
    expect(world.messageOf(ref)).toBe(`0 of 1 addresses are active: ${HELD} (adopt: unassigned)`);
    world.provider.cloud.moveByHand(A, null);
    await world.untilOn(A, 'old', VERIFIED);
  });

  test('is taken once the annotation is taken off', async ({ open }) => {
    const world = open();
    const ref = listed(world, { 'routedip.io/adopt': 'unassigned' });
    await world.start();
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    world.cluster.annotate(ref, {});
    await world.untilOn(A, 'old');
  });

  test('is taken back under --adopt=unassigned when it was moved there, also when all records are lost', async ({ open }) => {
    const world = open({ settings: { adopt: 'unassigned' } });
    const ref = listed(world);
    world.provider.cloud.moveByHand(A, null);
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(2 * SECOND);
    killAll(world);
    world.provider.cloud.moveByHand(A, providerIDOf('stranger'));
    lostRecords(world);
    await world.start();
    await world.untilOn(A, 'old', MINUTE);
  });
});
