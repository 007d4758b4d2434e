import { describe, expect } from 'vitest';
import type { Json } from '../../../actors/ports/records.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';

/** A pool of a namespace, on the nodes that bear its label. */
const pool = (world: RoutedWorld, namespace: string, ips: readonly string[], more: { readonly [field: string]: Json } = {}): ObjectRef =>
  world.cluster.setPool({
    namespace,
    name: 'p',
    spec: { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: `pool=${namespace}` }, ips: [...ips], ...more },
  });
const routedIP = (world: RoutedWorld, namespace: string, spec: { readonly [field: string]: Json }): ObjectRef =>
  world.cluster.setPool({ kind: 'RoutedIP', namespace, name: 'r', spec: { serviceRef: { serviceName: 'web' }, ...spec } });

/** Two nodes for each of two tenants, and an address that serves for the younger object of `mine`; the older one of `other` has another address. */
async function serving(world: RoutedWorld) {
  for (const tenant of ['mine', 'other']) world.nodes(...['1', '2'].map((each) => node(tenant + each, { labels: { pool: tenant } })));
  world.address(A);
  world.address(B);
  const other = pool(world, 'other', [B]);
  const mine = pool(world, 'mine', [A]);
  const process = await world.start();
  await world.untilStates(mine, { [A]: 'active' });
  await world.untilStates(other, { [B]: 'active' });
  return { other, mine, process, on: world.holderOf(A) };
}

/** The older pool of `other` asks for an address first and has no node for it; the younger one of `mine` has one, and waits. */
async function inLine(world: RoutedWorld) {
  world.nodes(node('mine1', { labels: { pool: 'mine' } }));
  world.address(A);
  const other = pool(world, 'other', [A]);
  const mine = pool(world, 'mine', [A]);
  await world.start();
  await world.untilStates(other, { [A]: 'unassigned' });
  await world.untilStates(mine, { [A]: 'error' });
  return { other, mine };
}

const keepsIt = (world: RoutedWorld, ref: ObjectRef) => ({
  on: world.holderOf(A),
  state: world.states(ref)[A],
  conflict: world.eventsOf(ref).includes('AddressConflict'),
});

describe('whoever has an address keeps it', () => {
  test('when an older pool lists it later: that one says whose it is, and nothing of the holder changes', async ({ open }) => {
    const world = open();
    const { other, mine, on } = await serving(world);
    const writes = world.provider.writes().length;
    const before = world.cluster.pool(mine)?.status;
    pool(world, 'other', [B, A]);
    await world.untilReason(other, 'AddressConflict', 'Degraded');
    expect(world.status(other).ips).toMatchObject({ [A]: { state: 'error', error: `${A} belongs to pool mine/p, which keeps it` } });
    await world.clock.advance(3 * MINUTE);
    expect([world.cluster.pool(mine)?.status, keepsIt(world, mine)]).toEqual([before, { on, state: 'active', conflict: false }]);
    expect(world.provider.writes()).toHaveLength(writes);
  });

  test('and its failover goes on while others ask for it', async ({ open }) => {
    const world = open();
    const { mine, on } = await serving(world);
    pool(world, 'other', [B, A]);
    await world.clock.advance(SECOND);
    world.cluster.setNode(node(on ?? '', { labels: { pool: 'mine' }, ready: false }));
    await world.untilOn(A, on === 'mine1' ? 'mine2' : 'mine1');
    await world.untilStates(mine, { [A]: 'active' });
  });

  test('without a node, too', async ({ open }) => {
    const world = open();
    const { mine, other } = await serving(world);
    for (const name of ['mine1', 'mine2']) world.cluster.setNode(node(name, { labels: { pool: 'mine' }, ready: false }));
    await world.untilStates(mine, { [A]: 'no-match' });
    world.provider.cloud.moveByHand(A as never, null);
    await world.clock.advance(6 * MINUTE);
    pool(world, 'other', [B, A]);
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
    await world.clock.advance(2 * MINUTE);
    expect(world.holderOf(A)).toBeNull();
  });

  test('under another leader, and when all records are lost', async ({ open }) => {
    const world = open();
    const { mine, other, process, on } = await serving(world);
    pool(world, 'other', [B, A]);
    await world.untilReason(other, 'AddressConflict', 'Degraded');
    const next = await world.restart(process);
    await world.clock.advance(2 * MINUTE);
    expect(keepsIt(world, mine)).toEqual({ on, state: 'active', conflict: false });
    next.kill();
    world.store.wipe();
    await world.start();
    await world.clock.advance(2 * MINUTE);
    expect(keepsIt(world, mine)).toEqual({ on, state: 'active', conflict: false });
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
  });

  test('when it was listed by another one while nobody led', async ({ open }) => {
    const world = open();
    const { mine, other, process, on } = await serving(world);
    process.kill();
    world.store.wipe();
    pool(world, 'other', [B, A]);
    await world.start();
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
    expect(keepsIt(world, mine)).toEqual({ on, state: 'active', conflict: false });
  });

  test('while it is paused', async ({ open }) => {
    const world = open();
    const { mine, on } = await serving(world);
    world.cluster.annotate(mine, { [PAUSED]: 'true' });
    pool(world, 'other', [B, A]);
    await world.clock.advance(2 * MINUTE);
    expect(keepsIt(world, mine)).toEqual({ on, state: 'active', conflict: false });
  });

  test('until it takes it out of its spec: then the next one has it, where it is', async ({ open }) => {
    const world = open();
    const { mine, other } = await serving(world);
    pool(world, 'other', [B, A]);
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
    pool(world, 'mine', [], { desiredIPs: 0, ips: [B] });
    await world.untilStates(other, { [A]: 'active', [B]: 'active' });
    await world.untilStates(mine, { [B]: 'error' });
  });

  test('but not one that was deleted and made again under its name, with a status of before or without one', async ({ open }) => {
    const world = open();
    const { mine, other } = await serving(world);
    pool(world, 'other', [B, A]);
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
    world.cluster.removePool(mine);
    const again = pool(world, 'mine', [A]);
    await world.untilStates(other, { [A]: 'active', [B]: 'active' });
    await world.untilStates(again, { [A]: 'error' });
  });
});

describe('a status that somebody has forged', () => {
  const FORGED = { ips: { [A]: { state: 'active', nodeName: 'other1', epoch: 9 } } };

  test('gains nothing against one that has the address by the records', async ({ open }) => {
    const world = open();
    const { mine, on } = await serving(world);
    const spec = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=other' }, ips: [A] };
    const forged = world.cluster.setPool({ namespace: 'other', name: 'forged', spec, status: FORGED });
    await world.untilStates(forged, { [A]: 'error' });
    await world.clock.advance(2 * MINUTE);
    expect(keepsIt(world, mine)).toEqual({ on, state: 'active', conflict: false });
  });

  test('gains nothing when the records are lost either, if it is of a younger one', async ({ open }) => {
    const world = open();
    const { mine, process, on } = await serving(world);
    process.kill();
    world.store.wipe();
    const spec = { provider: 'digitalocean', region: 'nyc3', match: { nodeLabel: 'pool=other' }, ips: [A] };
    const forged = world.cluster.setPool({ namespace: 'other', name: 'forged', spec, status: FORGED });
    await world.start();
    await world.untilStates(forged, { [A]: 'error' });
    await world.clock.advance(2 * MINUTE);
    expect(keepsIt(world, mine)).toEqual({ on, state: 'active', conflict: false });
  });
});

describe('an edit that makes an object invalid', () => {
  test('loses nothing: nobody else gets what it has, and it has it when it is mended', async ({ open }) => {
    const world = open();
    const { mine, other, process, on } = await serving(world);
    pool(world, 'mine', [A], { match: { nodeLabel: 'pool in (' } });
    await world.untilReason(mine, 'InvalidSpec', 'Degraded');
    pool(world, 'other', [B, A]);
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
    await world.restart(process);
    await world.clock.advance(2 * MINUTE);
    expect([world.holderOf(A), world.states(other)]).toEqual([on, { [A]: 'error', [B]: 'active' }]);
    pool(world, 'mine', [A]);
    await world.untilStates(mine, { [A]: 'active' });
  });

  test('loses nothing either when it no longer names what it has, or when the records are lost', async ({ open }) => {
    const world = open();
    const { mine, other, process, on } = await serving(world);
    pool(world, 'mine', ['nonsense']);
    await world.untilReason(mine, 'InvalidSpec', 'Degraded');
    pool(world, 'other', [B, A]);
    await world.untilStates(other, { [A]: 'error', [B]: 'active' });
    process.kill();
    world.store.wipe();
    await world.start();
    await world.clock.advance(2 * MINUTE);
    expect([world.holderOf(A), world.states(other)]).toEqual([on, { [A]: 'error', [B]: 'active' }]);
  });

  test('gains nothing: an older one that is edited to list an address is no hindrance to who has it', async ({ open }) => {
    const world = open();
    const { mine, other, on } = await serving(world);
    pool(world, 'other', [A], { provider: 'nonsense' });
    await world.untilReason(other, 'InvalidSpec', 'Degraded');
    world.cluster.setNode(node(on ?? '', { labels: { pool: 'mine' }, ready: false }));
    await world.untilOn(A, on === 'mine1' ? 'mine2' : 'mine1');
    await world.untilStates(mine, { [A]: 'active' });
    expect(world.eventsOf(other)).not.toContain('AddressConflict');
  });

  test('loses no place in line either', async ({ open }) => {
    const world = open();
    const { other, mine } = await inLine(world);
    pool(world, 'other', [A], { match: { nodeLabel: 'pool in (' } });
    await world.clock.advance(2 * MINUTE);
    expect(world.states(mine)).toEqual({ [A]: 'error' });
    pool(world, 'other', []);
    world.cluster.removePool(other);
    await world.untilStates(mine, { [A]: 'active' });
  });

  test('leaves to others what it waited for and does not name any more, and waits behind them when it is mended', async ({ open }) => {
    const world = open();
    const { other, mine } = await inLine(world);
    pool(world, 'other', [B], { match: { nodeLabel: 'pool in (' } });
    await world.untilStates(mine, { [A]: 'active' });
    world.nodes(node('other1', { labels: { pool: 'other' } }));
    pool(world, 'other', [A]);
    await world.untilReason(other, 'AddressConflict', 'Degraded');
    expect([world.holderOf(A), world.states(mine)]).toEqual(['mine1', { [A]: 'active' }]);
  });

  test('has nothing from the start when it is created so', async ({ open }) => {
    const world = open();
    world.nodes(node('mine1', { labels: { pool: 'mine' } }));
    world.address(A);
    const other = pool(world, 'other', [A], { provider: 'nonsense' });
    const mine = pool(world, 'mine', [A]);
    await world.start();
    await world.untilStates(mine, { [A]: 'active' });
    expect(world.reasonOf(other, 'Degraded')).toBe('InvalidSpec');
  });
});

describe('among those who have nothing of it', () => {
  test('the oldest comes first, whoever is seen first', async ({ open }) => {
    const world = open();
    world.nodes(node('mine1', { labels: { pool: 'mine' } }));
    world.address(A);
    const mine = pool(world, 'mine', [B]);
    const other = pool(world, 'other', [A]);
    await world.start();
    await world.untilStates(other, { [A]: 'unassigned' });
    pool(world, 'mine', [A]);
    await world.untilStates(mine, { [A]: 'active' });
    await world.untilStates(other, { [A]: 'error' });
  });
});

describe('an address that the provider lets on no node', () => {
  test('is not passed to an older one between two tries', async ({ open }) => {
    const world = open();
    world.nodes(node('mine1', { labels: { pool: 'mine' } }));
    world.address(A);
    world.address('203.0.113.99', 'mine1');
    const other = pool(world, 'other', [B]);
    const mine = pool(world, 'mine', [A]);
    await world.start();
    await world.clock.runUntil(() => world.assigns().filter(({ result }) => result === 'NodeInUse').length > 2, MINUTE);
    await world.clock.advance(SECOND);
    pool(world, 'other', [A, B]);
    await world.clock.advance(30 * MINUTE);
    expect([world.reasonOf(other, 'Degraded'), world.states(other)[A]]).toEqual(['AddressConflict', 'error']);
    expect(world.reasonOf(mine, 'Degraded')).not.toBe('AddressConflict');
  });
});

describe('an address that two RoutedIPs of different classes wait for', () => {
  test('is the younger one’s as soon as the older one has no issuer any more, before anything was known of its account', async ({
    open,
  }) => {
    const world = open();
    world.setClass();
    world.setNode(node('a'));
    for (const namespace of ['other', 'mine']) world.cluster.setService(namespace, 'web', service(['a']));
    const spec = { issuerClass: 'digitalocean', region: 'nyc3', fromSecretsRef: [{ name: 'token' }] };
    const issuer = world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'other', name: 'own', spec });
    const process = await world.start();
    process.providers.set('digitalocean@other.token', { facts: world.facts, provider: null, unread: true });
    routedIP(world, 'other', { issuerRef: { name: 'own' }, routedIP: A });
    const mine = routedIP(world, 'mine', { className: CLASS_NAME, routedIP: A });
    await world.untilReason(mine, 'AddressConflict');
    world.cluster.removePolicy(issuer);
    await world.untilReason(mine, 'AddressNotFound', undefined, 5 * SECOND);
  });
});

describe('an address that a RoutedIP has', () => {
  async function bound(world: RoutedWorld, park: { readonly [field: string]: Json }) {
    world.setClass();
    world.setNode(node('a', { createdAt: 2 }), node('b', { createdAt: 1 }));
    world.address(A);
    for (const namespace of ['other', 'mine']) world.cluster.setService(namespace, 'web', service(['a', 'b']));
    const other = routedIP(world, 'other', park);
    const mine = routedIP(world, 'mine', { className: CLASS_NAME, routedIP: A });
    await world.start();
    await world.stable(mine, 'a');
    return { other, mine };
  }
  const fails = async (world: RoutedWorld, mine: ObjectRef) => {
    world.cluster.setNode(node('a', { createdAt: 2, ready: false }));
    await world.stable(mine, 'b', MINUTE);
  };

  test.for([
    ['an older one without a class names it', { className: 'no/such' }, { className: 'no/such', routedIP: A }, 'ClassNotFound'],
    ['an older one names it and gets a class', { className: 'no/such' }, { className: CLASS_NAME, routedIP: A }, 'AddressConflict'],
    [
      'an older one without a class named it from the start',
      { className: 'no/such', routedIP: A },
      { className: 'no/such', routedIP: A },
      'ClassNotFound',
    ],
  ] as const)('stays with it when %s', async ([, before, after, reason], { open }) => {
    const world = open();
    const { other, mine } = await bound(world, before);
    routedIP(world, 'other', after);
    await world.untilReason(other, reason);
    await fails(world, mine);
    await world.clock.advance(2 * MINUTE);
    expect([world.reasonOf(mine), world.holderOf(A), world.statusOf(other).routedIP]).toEqual(['Assigned', 'b', undefined]);
  });

  test('stays with it while its class comes to name another account, and an older pool lists it', async ({ open }) => {
    const world = open();
    world.setClass();
    const labels = { pool: 'mine' };
    world.setNode(node('a'), node('b', { labels }), node('c', { labels }));
    world.address(A);
    world.address(B);
    world.cluster.setService('mine', 'web', service(['a']));
    const older = pool(world, 'mine', [B]);
    const ref = routedIP(world, 'mine', { className: CLASS_NAME, routedIP: A });
    const process = await world.start();
    process.providers.set('digitalocean@default.token', { facts: world.facts, provider: world.provider.process() });
    await world.stable(ref, 'a', MINUTE);
    world.provider.faults.always('any', { kind: 'refuse', error: 'Unavailable' });
    world.setClass({ fromSecretsRef: [{ name: 'token' }] });
    await world.clock.advance(SECOND);
    pool(world, 'mine', [A, B]);
    await world.clock.advance(MINUTE);
    world.provider.faults.clear();
    await world.stable(ref, 'a', 10 * MINUTE);
    expect([world.reasonOf(ref), world.states(older)[A], world.holderOf(A)]).toEqual(['Assigned', 'error', 'a']);
  });

  test('is annotated on no node that a pool had it on before', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(node('a', { labels: { pool: 'mine' } }), node('b'));
    world.address(A);
    const former = pool(world, 'mine', [A]);
    await world.start();
    await world.untilStates(former, { [A]: 'active' });
    world.cluster.setService('mine', 'web', service(['b']));
    const ref = routedIP(world, 'mine', { className: CLASS_NAME, routedIP: A });
    await world.untilReason(ref, 'AddressConflict');
    expect(world.cluster.annotations()).toEqual({ a: A });
    world.cluster.removePool(former);
    await world.stable(ref, 'b', MINUTE);
    expect(world.cluster.annotations()).toEqual({});
  });

  test('stays with it while it is taken off, after it was deleted, and is the next one’s then', async ({ open }) => {
    const world = open();
    const { other, mine } = await bound(world, { className: 'no/such' });
    routedIP(world, 'other', { className: CLASS_NAME, routedIP: A });
    await world.untilReason(other, 'AddressConflict');
    world.provider.faults.always('any', { kind: 'refuse', error: 'Unavailable' });
    world.cluster.markDeleting(mine);
    await world.clock.advance(20 * SECOND);
    expect([world.reasonOf(other), world.cluster.pool(mine) !== null]).toEqual(['AddressConflict', true]);
    world.provider.faults.clear();
    await world.stable(other, undefined, 10 * MINUTE);
    expect(world.cluster.pool(mine)).toBeNull();
  });
});
