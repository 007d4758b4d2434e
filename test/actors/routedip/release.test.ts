import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { accountOf, secretKey } from '../../hostile/accounts.ts';
import { type Killer, node, PROVIDER, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, RoutedWorld, SECOND } from './world.ts';

const GIVEN = '203.0.113.70' as Address;
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
const BARE = { ports: ['tcp/22'], nodes: [] };

/** A RoutedIP that serves on `young`. */
async function served(world: RoutedWorld, ofClass = {}, ofRoutedIP = {}, meets: Killer = () => false): Promise<ObjectRef> {
  world.setClass(ofClass);
  world.setNode(OLD, YOUNG);
  world.setWeb('shop', ['old', 'young']);
  const ref = world.setRoutedIP('shop', ofRoutedIP);
  await world.start(meets);
  await world.stable(ref, 'young');
  return ref;
}

const gone = (world: RoutedWorld, ref: ObjectRef, withinMs = MINUTE): Promise<number> =>
  world.clock.runUntil(() => world.cluster.pool(ref) === null, withinMs);

const announced = (world: RoutedWorld, { uid }: ObjectRef): readonly string[] =>
  world.cluster.announced.filter(({ about }) => about.uid === uid).map(({ event }) => event.reason);

describe('a RoutedIP that is deleted while its address is assigned', () => {
  /** Deleted 1 s into an assign that takes 5 s. */
  async function deletedWhileAssigning(world: RoutedWorld, ofClass = {}): Promise<{ ref: ObjectRef; address: Address }> {
    const ref = await served(world, ofClass);
    const address = world.statusOf(ref).routedIP as Address;
    const sent = world.assigns().length;
    world.cluster.setNode({ ...YOUNG, ready: false });
    await world.clock.runUntil(() => world.assigns().length > sent, 10 * SECOND);
    await world.clock.advance(SECOND);
    expect(world.statusOf(ref).state).toBe('Assigning');
    world.cluster.markDeleting(ref);
    return { ref, address };
  }

  test('waits for the assign to end, then prunes both nodes, leaves the address under Retain, and goes with its finalizer', async ({
    open,
  }) => {
    const world = open({ provider: { actionMs: 5 * SECOND } });
    const { ref, address } = await deletedWhileAssigning(world);
    await world.clock.advance(3 * SECOND);
    expect(world.cluster.pool(ref)?.marks?.finalizers, 'the assign is under way').toHaveLength(1);
    expect(world.firewall().nodes, 'nothing is pruned yet').toEqual([providerIDOf('old'), providerIDOf('young')]);
    expect(world.holderOf(address)).toBe('young');
    await gone(world, ref);
    expect(world.holderOf(address)).toBe('old');
    expect(world.firewall()).toEqual(BARE);
    expect(world.cluster.holders()).toEqual({});
    expect(announced(world, ref)).toEqual(['Retained']);
  });

  test('deletes the address under Delete, once the assign has ended and its ports are closed', async ({ open }) => {
    const world = open({ provider: { actionMs: 5 * SECOND } });
    const { ref, address } = await deletedWhileAssigning(world, { routedIPReclaimPolicy: 'Delete' });
    await world.clock.advance(3 * SECOND);
    expect(world.changes(), 'the assign is under way').not.toContain('deleteRoutedIP');
    await gone(world, ref);
    expect(
      world.provider.cloud
        .history(address)
        .map(({ providerID }) => providerID)
        .slice(-2),
    ).toEqual([providerIDOf('old'), null]);
    expect(world.provider.cloud.addresses()).toEqual([]);
    expect(world.changes().at(-1)).toBe('deleteRoutedIP');
    expect(world.firewall()).toEqual(BARE);
  });
});

describe('an address that its RoutedIP names', () => {
  test('is retained although the policy is Delete, and an Event says so: it was not made here', async ({ open }) => {
    const world = open();
    world.address(GIVEN);
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' }, { routedIP: GIVEN });
    expect(world.statusOf(ref)).toMatchObject({ routedIP: GIVEN, addressOrigin: 'Found' });
    world.cluster.markDeleting(ref);
    await gone(world, ref);
    expect(world.changes()).not.toContain('deleteRoutedIP');
    expect(world.holderOf(GIVEN)).toBe('young');
    expect(announced(world, ref)).toEqual(['Retained']);
    expect(world.firewall()).toEqual(BARE);
  });

  test('is deleted under the policy Delete when an annotation asks for it', async ({ open }) => {
    const world = open();
    world.address(GIVEN);
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' }, { routedIP: GIVEN });
    world.cluster.annotate(ref, { 'routedip.io/delete-adopted': 'true' });
    expect(world.cluster.pool(ref)?.marks?.annotations).toEqual({ 'routedip.io/delete-adopted': 'true' });
    world.cluster.markDeleting(ref);
    await gone(world, ref);
    expect(world.provider.cloud.addresses()).toEqual([]);
    expect(announced(world, ref)).toEqual(['Released']);
  });
});

describe('a RoutedIP that is deleted while the provider is down', () => {
  const DOWN = { kind: 'noConnection' } as const;

  async function deletedWhileDown(world: RoutedWorld): Promise<ObjectRef> {
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' });
    world.provider.faults.always('any', DOWN);
    world.cluster.markDeleting(ref);
    await world.clock.advance(10 * MINUTE);
    return ref;
  }

  test('stays, with its finalizer and the reason, and goes when the provider is back', async ({ open }) => {
    const world = open();
    const ref = await deletedWhileDown(world);
    expect(world.cluster.pool(ref)?.marks?.finalizers).toHaveLength(1);
    expect(world.reasonOf(ref, 'Degraded')).toBe('FirewallNotReady');
    expect(world.messageOf(ref, 'Degraded')).toContain('connection refused');
    expect(world.statusOf(ref).error).toContain('connection refused');
    world.provider.faults.clear();
    await gone(world, ref, 10 * MINUTE);
    expect(world.provider.cloud.addresses()).toEqual([]);
    expect(world.firewall()).toEqual(BARE);
  });

  test('goes at once when it is released by force, and nothing of it is done at the provider', async () => {
    const world = new RoutedWorld();
    const ref = await deletedWhileDown(world);
    const before = world.changes();
    const [made] = world.provider.cloud.addresses();
    world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
    await gone(world, ref, SECOND);
    expect(world.changes()).toEqual(before);
    expect(world.provider.cloud.addresses()).toEqual([made]);
    expect(made?.providerID).toBe(providerIDOf('young'));
    expect(announced(world, ref)).toEqual(['Released']);
  });

  test('goes by force as well when nothing is known of it any more', async () => {
    const world = new RoutedWorld();
    world.setClass({ routedIPReclaimPolicy: 'Delete' });
    world.setNode(node('young'));
    world.setWeb('shop', ['young']);
    const process = await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    process.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
    world.cluster.markDeleting(ref);
    const sent = world.changes().length;
    await world.start();
    await gone(world, ref, 2 * MINUTE);
    expect(world.changes().slice(sent)).toEqual([]);
  });
});

test('a RoutedIP that is to go by force asks once what became of its creation while the account of its issuer refuses the token', async ({
  open,
}) => {
  const world = open();
  const [namespace, refused] = ['web', secretKey('web', 'refused')];
  world.setClass({});
  world.setNode(node('young'));
  world.setWeb('shop', ['young']);
  world.cluster.setPolicy({
    ...{ kind: 'RoutedIPIssuer', namespace, name: 'refused' },
    spec: { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name: 'refused' }] },
  });
  world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 5 * SECOND });
  const process = await world.leader();
  const ref = world.setRoutedIP('shop');
  await world.clock.runUntil(() => world.statusOf(ref).pendingCreate !== undefined, MINUTE);
  process.kill();
  world.cluster.setPool({
    ...{ kind: 'RoutedIP', namespace, name: ref.name },
    spec: { issuerRef: { name: 'refused' }, serviceRef: { serviceName: 'shop' } },
  });
  world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
  world.cluster.markDeleting(ref);
  const next = await world.start();
  next.providers.set(refused, accountOf('refused', world));
  await world.clock.advance(20 * SECOND);
  const before = world.invariants.turns.length;
  await world.clock.advance(10 * SECOND);
  expect(world.invariants.turns.length - before).toBeLessThan(10);
});

describe('a class that says Retain since the deletion of its RoutedIP was decided', () => {
  async function retained(world: RoutedWorld, ref: ObjectRef): Promise<void> {
    const address = world.statusOf(ref).routedIP as Address;
    await gone(world, ref, 10 * MINUTE);
    expect(world.holderOf(address)).toBe('young');
    expect(announced(world, ref)).toEqual(['Retained']);
    expect(world.firewall()).toEqual(BARE);
  }

  test('keeps the address whose deletion the provider has refused so far', async ({ open }) => {
    const world = open();
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' });
    world.provider.faults.always('deleteRoutedIP', { kind: 'noConnection' });
    world.cluster.markDeleting(ref);
    await world.clock.advance(10 * MINUTE);
    world.setClass({ routedIPReclaimPolicy: 'Retain' });
    world.provider.faults.clear();
    await retained(world, ref);
  });

  test('keeps it in the last moment before the call', async ({ open }) => {
    const world = open();
    const isMet = (point: string, about: string): boolean => {
      if (point === 'beforeSend' && about.startsWith('deleteRoutedIP')) world.setClass({ routedIPReclaimPolicy: 'Retain' });
      return false;
    };
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' }, {}, isMet);
    world.cluster.markDeleting(ref);
    await retained(world, ref);
  });

  test.for(['gone', 'made again under its name'])(
    'keeps it although somebody took our finalizer off: the RoutedIP is %s',
    async (now, { open }) => {
      const world = open();
      const ref = await served(world, { routedIPReclaimPolicy: 'Delete' });
      const address = world.statusOf(ref).routedIP as Address;
      world.provider.faults.always('deleteRoutedIP', { kind: 'noConnection' });
      // What is open for it is closed only once it is gone.
      world.rules.firewalls.forced('rip/web/shop');
      world.cluster.removePool(ref);
      if (now !== 'gone') world.setRoutedIP('shop');
      await world.clock.advance(10 * MINUTE);
      world.setClass({ routedIPReclaimPolicy: 'Retain' });
      world.provider.faults.clear();
      await world.clock.advance(10 * MINUTE);
      expect(world.provider.cloud.addresses().map((each) => each.address)).toContain(address);
      expect(world.changes()).not.toContain('deleteRoutedIP');
    },
  );

  test('comes too late for a call that was sent, and the Event says so', async ({ open }) => {
    const world = open();
    const ref = await served(world, { routedIPReclaimPolicy: 'Delete' });
    world.provider.faults.next('deleteRoutedIP', { kind: 'loseReply' });
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.changes().at(-1) === 'deleteRoutedIP', MINUTE);
    world.setClass({ routedIPReclaimPolicy: 'Retain' });
    await gone(world, ref, 10 * MINUTE);
    expect(world.provider.cloud.addresses()).toEqual([]);
    expect(announced(world, ref)).toEqual(['Released']);
  });
});

describe('a RoutedIP that was let go', () => {
  test('is not taken up again while nobody has told yet that it is gone; another one of its name is served', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    const told: (() => void)[] = [];
    world.goes = (tell) => told.push(tell);
    world.cluster.markDeleting(ref);
    await gone(world, ref);
    await world.clock.advance(2 * MINUTE);
    const cells = world.processes.flatMap(({ supervisor }) => [...supervisor.records().keys()]);
    expect([told.length, cells.filter((id) => id.startsWith('rip/'))]).toEqual([1, []]);
    for (const tell of told) tell();
    world.goes = (tell) => tell();
    const next = world.setRoutedIP('shop');
    expect(next.uid).not.toBe(ref.uid);
    // The former address stays where it was, and is used again.
    await world.stable(next, 'young');
  });
});
