import { describe, expect } from 'vitest';
import { ObservedPolicies } from '../../../actors/controllers/class-cache.ts';
import type { Json } from '../../../actors/ports/records.ts';
import type { ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { jobDriven } from '../kubernetes-jobs/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
const gone = (given: ObservedNode): ObservedNode => ({ ...given, ready: false });

/** Two nodes that serve `web/shop`, and a leader; no class yet, and no RoutedIP. */
async function ready(world: RoutedWorld) {
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  return world.leader();
}

const shownOf = ({ cluster }: RoutedWorld, { uid }: ObjectRef) =>
  cluster.projections.findLast(({ ref }) => ref.uid === uid)?.status as
    | { readonly routedIPCount: number; readonly routedIPs: readonly { readonly name: string }[] }
    | undefined;

const usersOf = (world: RoutedWorld, ref: ObjectRef): readonly string[] => shownOf(world, ref)?.routedIPs.map(({ name }) => name) ?? [];

/** What was done about addresses and firewalls. */
const done = (world: RoutedWorld): readonly string[] => world.changes();
/** Everything that was asked about addresses or firewalls one by one. */
const asked = (world: RoutedWorld): readonly string[] =>
  world.provider.calls.map(({ verb }) => verb).filter((verb) => verb !== 'listRoutedIPs');

describe('a RoutedIP whose class is not there', () => {
  test('says ClassNotFound and makes no call of the cloud, until the class comes', async ({ open }) => {
    const world = open();
    await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'ClassNotFound', 'Ready', SECOND);
    await world.clock.advance(10 * MINUTE);
    expect(world.reasonOf(ref, 'Degraded')).toBe('ClassNotFound');
    expect(world.statusOf(ref)).toMatchObject({ state: 'Unassigned', error: expect.stringContaining(CLASS_NAME) });
    expect(world.eventsOf(ref)).toEqual(['ClassNotFound']);
    expect(world.provider.calls).toEqual([]);
    world.setClass();
    await world.stable(ref, 'young', 5 * SECOND);
  });

  test('because it was deleted later keeps its address attached, is Degraded, and goes on with the next one', async ({ open }) => {
    const world = open();
    const policy = world.setClass();
    world.address(A);
    const process = await ready(world);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'young');
    const before = done(world).length;
    world.cluster.removePolicy(policy);
    await world.untilReason(ref, 'ClassNotFound', 'Degraded', SECOND);
    world.cluster.setNode(gone(YOUNG));
    await world.clock.advance(10 * MINUTE);
    await world.restart(process);
    await world.clock.advance(10 * MINUTE);
    expect(done(world).slice(before)).toEqual([]);
    expect(world.holderOf(A)).toBe('young');
    expect(world.statusOf(ref)).toMatchObject({ assignedNode: 'young', routedIP: A });
    world.setClass();
    await world.stable(ref, 'old');
  });
});

describe('a class', () => {
  test('that a RoutedIP uses is kept from going, and no other', async ({ open }) => {
    const world = open();
    const process = await ready(world);
    const told: string[] = [];
    const { guard } = process.cluster;
    const listen: typeof guard = (ref) => {
      told.push(`${ref.kind} ${ref.name}`);
      return guard(ref);
    };
    Object.assign(process.cluster, { guard: listen });
    world.setClass();
    world.setClass({ className: 'other', region: 'nyc3' }, 'other');
    await world.clock.advance(SECOND);
    expect(told).toEqual([]);
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    expect(told).toContain('ClusterRoutedIPClass floating');
    expect(told).not.toContain('ClusterRoutedIPClass other');
  });

  test('that the server does not let us keep is told of once, and tried again twice a minute, whatever happens meanwhile', async ({
    open,
  }) => {
    const world = open();
    const process = await ready(world);
    const { guard } = process.cluster;
    let tries = 0;
    const refuse: typeof guard = (ref) => {
      if (ref.kind === 'RoutedIP') return guard(ref);
      tries += 1;
      return tries > 5 ? guard(ref) : Promise.reject(new Error('spec.region: Too long'));
    };
    Object.assign(process.cluster, { guard: refuse });
    world.setClass();
    const ref = world.setRoutedIP('shop');
    for (let second = 0; second < 100; second += 1) {
      world.setRoutedIP(`other-${second % 2}`, { className: second % 4 === 0 ? 'other' : CLASS_NAME });
      await world.clock.advance(SECOND);
    }
    expect([tries, world.statusOf(ref).assignedNode !== undefined]).toEqual([4, true]);
    expect(world.log.filter(({ message }) => message.startsWith('a class could not be guarded'))).toHaveLength(1);
    await world.clock.advance(MINUTE);
    expect(tries).toBe(6);
  });

  test('tells how many use it, and names the first ten', async ({ open }) => {
    const world = open();
    await ready(world);
    const policy = world.setClass();
    const names = Array.from({ length: 12 }, (_, index) => `shop-${String(index).padStart(2, '0')}`);
    for (const name of names.toReversed()) world.setRoutedIP(name);
    await world.clock.runUntil(() => shownOf(world, policy)?.routedIPCount === names.length, MINUTE);
    expect(usersOf(world, policy)).toEqual(names.slice(0, 10));
  });

  test('is kept while an address is being made as it says for a RoutedIP that names another one by now', async () => {
    const { world, ref, policy } = await jobDriven();
    world.setClass({ routedIPFirewallName: '' });
    world.jobs.script('create', { kind: 'exit', code: 0, afterMs: 30 * SECOND });
    await world.clock.runUntil(() => world.jobs.actions.includes('create'), 10 * SECOND);
    world.setRoutedIP('shop', { className: CLASS_NAME });
    await world.clock.advance(10 * SECOND);
    // What it shows is told again with whatever changes.
    world.setRoutedIP('shop', { className: CLASS_NAME });
    await world.clock.advance(5 * SECOND);
    expect(usersOf(world, policy)).toEqual(['shop']);
    await world.clock.runUntil(() => world.statusOf(ref).routedIP !== undefined, MINUTE);
    world.setRoutedIP('shop', { className: CLASS_NAME, serviceRef: { serviceName: 'shop' } });
    await world.clock.advance(5 * SECOND);
    expect(usersOf(world, policy)).toEqual([]);
  });

  test('goes, and whoever it has served is for the one that has its className by then', async ({ open }) => {
    const world = open();
    const older = world.setClass({ region: 'nyc3' }, 'older');
    await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'young');
    const newer = world.setClass({ region: 'fra1', routedIPFirewallName: '' }, 'newer');
    await world.untilReason(newer, 'Conflict', 'Conflict', SECOND);
    expect(world.statusOf(ref)).toMatchObject({ class: { name: 'older' }, firewall: 'edge' });
    expect([world.reasonOf(older), world.reasonOf(newer)]).toEqual(['AsExpected', 'AsExpected']);
    expect(world.messageOf(newer, 'Conflict')).toContain('older');
    world.cluster.removePolicy(older);
    await world.clock.runUntil(() => (world.statusOf(ref).class as { name?: string }).name === 'newer', 5 * SECOND);
    expect(world.cluster.conditions(ref)).toContainEqual(expect.objectContaining({ type: 'FirewallReady', reason: 'NoFirewall' }));
    await world.stable(ref, 'young');
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });

  test('that is told again without a change is no news', () => {
    const policies = new ObservedPolicies('default');
    const ref = { kind: 'ClusterRoutedIPClass', namespace: '', name: 'floating', uid: 'first' };
    const told = { ref, generation: 1, createdAt: 0, deleting: false, spec: { className: CLASS_NAME }, status: {} };
    expect([policies.put(told), policies.put({ ...told, status: { term: 1 } })]).toEqual([true, false]);
    expect(policies.put({ ...told, generation: 2, spec: { className: CLASS_NAME, region: 'fra1' } })).toBe(true);
    expect(policies.put({ ...told, ref: { ...ref, uid: 'second' } }), 'another one of that name').toBe(true);
  });
});

describe('a spec is refused', () => {
  const cases: [string, { readonly [field: string]: Json }, string][] = [
    ['className and issuerRef together', { issuerRef: { name: 'mine' } }, 'exactly one of className'],
    ['the former issuerClass', { className: '', issuerClass: 'digitalocean' }, 'issuerClass is served no more'],
    ['neither className nor issuerRef', { className: '' }, 'exactly one of className'],
    ['an address with a number above 255', { routedIP: '999.1.1.1' }, 'routedIP must be an IPv4 address'],
    ['letters around an address', { routedIP: 'x1.2.3.4y' }, 'routedIP must be an IPv4 address'],
    ['an address of three numbers', { routedIP: '1.2.3' }, 'routedIP must be an IPv4 address'],
    ['an address with a leading zero', { routedIP: '010.1.2.3' }, 'routedIP must be an IPv4 address'],
    ['an IPv6 address', { routedIP: '2001:db8::1' }, 'routedIP must be an IPv4 address'],
  ];
  test.for(cases)('for %s, and nothing is done', async ([, change, text], { open }) => {
    const world = open();
    world.setClass();
    world.address(A);
    await ready(world);
    const ref = world.setRoutedIP('shop', change);
    await world.untilReason(ref, 'InvalidSpec', 'Ready', SECOND);
    await world.clock.advance(5 * MINUTE);
    expect(world.statusOf(ref).error).toContain(text);
    expect(world.eventsOf(ref)).toEqual(['InvalidSpec']);
    expect(asked(world)).toEqual([]);
    world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'young');
  });
});

describe('an address that the spec names', () => {
  test('and the provider does not know is said not to be found, looked for slowly, and never replaced by a new one', async ({ open }) => {
    const world = open();
    world.setClass();
    await ready(world);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.untilReason(ref, 'AddressNotFound');
    const looked = asked(world).length;
    await world.clock.advance(50 * SECOND);
    expect(asked(world).length, 'it waits a minute').toBe(looked);
    await world.clock.advance(20 * MINUTE);
    expect(asked(world).length - looked).toBeLessThanOrEqual(4);
    expect(done(world)).toEqual([]);
    expect(world.eventsOf(ref)).toContain('AddressNotFound');
    world.address(A);
    await world.stable(ref, 'young', 10 * MINUTE);
    expect(done(world)).not.toContain('createRoutedIP');
  });

  test('and sits on a foreign droplet is found, and moved to the elected node only after its firewall is open there', async ({ open }) => {
    const world = open();
    world.setClass({ adoption: 'Any' });
    world.provider.cloud.addNode(providerIDOf('foreign'));
    world.address(A, 'foreign');
    await ready(world);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'young');
    expect(world.eventsOf(ref)).toContain('AddressFound');
    expect(done(world)).toEqual(['addRoutedIPFirewallPort', 'addRoutedIPFirewallNode', 'assignRoutedIP']);
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  });

  test('and sits on an eligible node is adopted there without an assign, although another node is younger', async ({ open }) => {
    const world = open();
    world.setClass();
    world.address(A, 'old');
    await ready(world);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'old');
    await world.clock.advance(10 * MINUTE);
    expect(world.statusOf(ref)).toMatchObject({ assignedNode: 'old', addressOrigin: 'Found' });
    expect(done(world)).toEqual(['addRoutedIPFirewallPort', 'addRoutedIPFirewallNode']);
  });

  test('and an older RoutedIP has is left to that one: the newer says AddressConflict and makes no call, until the older is gone', async ({
    open,
  }) => {
    const world = open();
    world.setClass();
    world.address(A);
    await ready(world);
    world.setWeb('blog', ['old']);
    const older = world.setRoutedIP('shop', { routedIP: A });
    const newer = world.setRoutedIP('blog', { routedIP: A });
    await world.stable(older, 'young');
    await world.untilReason(newer, 'AddressConflict');
    await world.clock.advance(10 * MINUTE);
    expect(world.assigns()).toHaveLength(1);
    expect(world.statusOf(newer)).toMatchObject({ state: 'Unassigned', error: expect.stringContaining('web/shop') });
    expect(world.eventsOf(newer)).toEqual(['AddressConflict']);
    expect(world.reasonOf(older)).toBe('Assigned');
    world.cluster.markDeleting(older);
    await world.clock.runUntil(() => world.cluster.pool(older) === null, 30 * SECOND);
    await world.stable(newer, 'old');
  });

  test('and another RoutedIP was given at its creation is a conflict, too', async ({ open }) => {
    const world = open();
    world.setClass();
    await ready(world);
    const older = world.setRoutedIP('shop');
    await world.stable(older, 'young');
    const before = done(world).length;
    const newer = world.setRoutedIP('blog', { routedIP: world.statusOf(older).routedIP ?? '' });
    world.setWeb('blog', ['old']);
    await world.untilReason(newer, 'AddressConflict', 'Ready', 2 * MINUTE);
    expect(done(world).slice(before)).toEqual([]);
  });

  test('and an older FloatingIPPool lists is left to that one; a younger pool leaves it to the RoutedIP', async ({ open }) => {
    const world = open();
    world.setClass();
    world.address(A);
    world.address(B);
    world.provider.cloud.addNode(providerIDOf('third'));
    await ready(world);
    world.setNode(node('third', { createdAt: 0 }));
    const older = world.pool('older', { ips: [A] });
    const ref = world.setRoutedIP('shop', { routedIP: A });
    const served = world.setRoutedIP('blog', { routedIP: B });
    world.setWeb('blog', ['old', 'young', 'third']);
    const younger = world.pool('younger', { ips: [B] });
    await world.untilStates(older, { [A]: 'active' });
    await world.stable(served);
    await world.untilReason(ref, 'AddressConflict');
    expect(world.messageOf(ref)).toContain('belongs to FloatingIPPool default/older,');
    await world.untilReason(younger, 'AddressConflict', 'Degraded');
    expect(world.messageOf(younger, 'Degraded')).toContain('belongs to RoutedIP web/blog,');
    await world.clock.advance(10 * MINUTE);
    expect(world.assigns()).toHaveLength(2);
  });

  test('cannot be edited once it is bound: the edit is refused, and the bound address keeps serving', async ({ open }) => {
    const world = open();
    world.setClass();
    world.address(A);
    world.address(B);
    await ready(world);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'young');
    const before = done(world).length;
    world.setRoutedIP('shop', { routedIP: B });
    await world.untilReason(ref, 'InvalidSpec');
    await world.clock.advance(10 * MINUTE);
    expect(world.statusOf(ref)).toMatchObject({ routedIP: A, assignedNode: 'young', error: expect.stringContaining(`${A} is bound`) });
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['young', null]);
    expect(done(world).slice(before)).toEqual([]);
    world.setRoutedIP('shop', { routedIP: A });
    await world.untilReason(ref, 'Assigned');
    expect(done(world).slice(before)).toEqual([]);
  });

  test('may be written into the spec once it was created for it', async ({ open }) => {
    const world = open();
    world.setClass();
    await ready(world);
    const ref = world.setRoutedIP('shop');
    await world.stable(ref, 'young');
    const address = world.statusOf(ref).routedIP ?? '';
    const before = done(world).length;
    world.setRoutedIP('shop', { routedIP: address });
    await world.clock.advance(MINUTE);
    expect(world.statusOf(ref)).toMatchObject({ routedIP: address, assignedNode: 'young', addressOrigin: 'Created', state: 'Stable' });
    expect(done(world).slice(before)).toEqual([]);
  });
});
