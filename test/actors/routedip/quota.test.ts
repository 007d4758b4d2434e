import { describe, expect } from 'vitest';
import type { Address, Kept, ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const NODES = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => node(name));
const NAMES = NODES.map(({ name }) => name);

const limited = (maxAddressesPerNamespace: number) => ({ settings: { maxAddressesPerNamespace } });

/** Nodes, a class, and the Services of these names; nobody runs yet. */
function prepare(world: RoutedWorld, names: readonly string[], ofClass = {}): void {
  world.setClass({ routedIPFirewallName: '', ...ofClass });
  world.setNode(...NODES);
  for (const name of names) world.setWeb(name, NAMES);
}

const made = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'createRoutedIP').length;
const kept = (world: RoutedWorld, namespace = 'web'): readonly Kept[] => world.ledger.current()[namespace] ?? [];
const addresses = (world: RoutedWorld, namespace = 'web') => kept(world, namespace).flatMap(({ address }) => address ?? []);

/** The user deletes it; it is gone with its finalizer. */
async function deleted(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
}

describe('a namespace that may keep two addresses', () => {
  test('gets no third one by making and deleting RoutedIPs whose class retains, and is told which are retained', async ({ open }) => {
    const world = open(limited(2));
    prepare(world, NAMES);
    await world.leader();
    const retained: unknown[] = [];
    for (const name of ['a', 'b']) {
      const ref = world.setRoutedIP(name);
      await world.stable(ref);
      retained.push(world.statusOf(ref).routedIP);
      await deleted(world, ref);
    }
    for (const name of ['c', 'd', 'e']) {
      const ref = world.setRoutedIP(name);
      await world.untilReason(ref, 'AddressLimitReached');
      for (const address of retained) expect(world.messageOf(ref)).toContain(address);
      expect(world.messageOf(ref)).toContain('--max-addresses-per-namespace allows 2');
      expect(world.eventsOf(ref)).toContain('AddressLimitReached');
      await world.clock.advance(10 * MINUTE);
      await deleted(world, ref);
    }
    expect(made(world)).toBe(2);
    expect(addresses(world)).toEqual(retained);
  });

  test('may use a retained one again, which takes no place', async ({ open }) => {
    const world = open(limited(1));
    prepare(world, ['a', 'b']);
    await world.leader();
    const first = world.setRoutedIP('a');
    await world.stable(first);
    const { routedIP } = world.statusOf(first);
    await deleted(world, first);
    const second = world.setRoutedIP('b', { routedIP: routedIP ?? '' });
    await world.stable(second);
    expect(made(world)).toBe(1);
    expect(addresses(world)).toEqual([routedIP]);
  });

  test('is served when its class begins to retain while a creation waits after a failure', async ({ open }) => {
    const world = open(limited(2));
    prepare(world, ['a'], { routedIPReclaimPolicy: 'Delete', routedIPFirewallName: 'edge' });
    await world.leader();
    world.provider.faults.always('findRoutedIPFirewall', { kind: 'refuse', error: 'Unavailable' });
    const ref = world.setRoutedIP('a');
    await world.untilReason(ref, 'CreateFailed');
    // After the third failure it waits for five seconds.
    await world.clock.advance(4 * SECOND);
    prepare(world, ['a'], { routedIPReclaimPolicy: 'Retain', routedIPFirewallName: 'edge' });
    world.provider.faults.clear();
    await world.stable(ref);
    expect(made(world)).toBe(1);
  });

  test('has room again by itself once an address was deleted with its RoutedIP', async ({ open }) => {
    const world = open(limited(1));
    prepare(world, ['a', 'b'], { routedIPReclaimPolicy: 'Delete' });
    await world.leader();
    const first = world.setRoutedIP('a');
    await world.stable(first);
    const second = world.setRoutedIP('b');
    await world.untilReason(second, 'AddressLimitReached');
    await deleted(world, first);
    await world.stable(second);
    expect(addresses(world)).toEqual([world.statusOf(second).routedIP]);
  });

  test('has room again once somebody deleted a retained address at the provider, or took it out of the ledger', async ({ open }) => {
    const world = open(limited(1));
    prepare(world, NAMES);
    await world.leader();
    const first = world.setRoutedIP('a');
    await world.stable(first);
    const address = world.statusOf(first).routedIP as Address;
    await deleted(world, first);
    const second = world.setRoutedIP('b');
    await world.untilReason(second, 'AddressLimitReached');
    world.provider.cloud.removeByHand(address);
    await world.stable(second, undefined, 15 * MINUTE);
    expect(addresses(world)).toEqual([world.statusOf(second).routedIP]);
    await deleted(world, second);
    const third = world.setRoutedIP('c');
    await world.untilReason(third, 'AddressLimitReached');
    world.ledger.edit(() => ({}));
    await world.stable(third, undefined, 2 * MINUTE);
  });

  test('counts an address that it gave back and that somebody writes down for it again: a deletion is forgotten once it is written down', async ({
    open,
  }) => {
    const world = open(limited(1));
    prepare(world, ['a', 'b'], { routedIPReclaimPolicy: 'Delete' });
    await world.leader();
    const first = world.setRoutedIP('a');
    await world.stable(first);
    const before = kept(world);
    const address = world.statusOf(first).routedIP as Address;
    await deleted(world, first);
    await world.clock.runUntil(() => kept(world).length === 0, MINUTE);
    world.provider.cloud.addAddress(address, 'nyc3');
    world.ledger.edit(() => ({ web: before.map((line) => ({ ...line, since: world.clock.now() })) }));
    await world.untilReason(world.setRoutedIP('b'), 'AddressLimitReached');
    await world.clock.advance(15 * MINUTE);
    expect(addresses(world)).toEqual([address]);
  });

  test('does not get both of two addresses for one place that are asked for at once, be it by two classes or issuers', async ({ open }) => {
    const world = open(limited(1));
    prepare(world, ['a', 'b', 'c']);
    world.openNamespace();
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'one', spec: { issuerClass: PROVIDER, region: 'nyc3' } });
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'two', spec: { issuerClass: PROVIDER, region: 'nyc3' } });
    await world.leader();
    const refs = [
      world.cluster.setPool({
        kind: 'RoutedIP',
        namespace: 'web',
        name: 'a',
        spec: { issuerRef: { name: 'one' }, serviceRef: { serviceName: 'a' } },
      }),
      world.cluster.setPool({
        kind: 'RoutedIP',
        namespace: 'web',
        name: 'b',
        spec: { issuerRef: { name: 'two' }, serviceRef: { serviceName: 'b' } },
      }),
      world.setRoutedIP('c'),
    ];
    await world.clock.advance(5 * MINUTE);
    expect(refs.map((ref) => world.reasonOf(ref))).toEqual(['Assigned', 'AddressLimitReached', 'AddressLimitReached']);
    expect(made(world)).toBe(1);
  });

  test('keeps nobody else from theirs', async ({ open }) => {
    const world = open(limited(1));
    prepare(world, ['a', 'b']);
    await world.leader();
    for (const name of ['a', 'b']) world.setRoutedIP(name);
    const spec = { className: 'digitalocean.com/floating-ip', serviceRef: { serviceName: 'own' } };
    world.cluster.setService('other', 'own', service(NAMES));
    const own = world.cluster.setPool({ kind: 'RoutedIP', namespace: 'other', name: 'own', spec });
    await world.stable(own);
    expect(addresses(world, 'other')).toEqual([world.statusOf(own).routedIP]);
  });
});

describe('what a namespace keeps', () => {
  test('outlives the store, every process, the objects and their finalizers', async ({ open }) => {
    const world = open(limited(2));
    prepare(world, NAMES);
    const process = await world.leader();
    const [first, second] = [world.setRoutedIP('a'), world.setRoutedIP('b')];
    await world.stable(first);
    await world.stable(second);
    process.kill();
    // As a tenant may who is allowed to edit them: nobody is there to see it, and the store is lost besides.
    world.cluster.removePool(first);
    world.cluster.removePool(second);
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.start();
    const third = world.setRoutedIP('c');
    await world.untilReason(third, 'AddressLimitReached', 'Ready', 2 * MINUTE);
    expect(made(world)).toBe(2);
  });

  const points = ['beforeSend', 'beforeReplyRead', 'afterReply', 'afterWrite', 'afterDispatch'] as const;
  test.for(points.flatMap((point) => [false, true].map((isLost) => [point, isLost] as const)))(
    'counts an address from before it is made, so that a restart at any moment gives none away: %s, store lost %s',
    async ([point, isLost], { open }) => {
      let killed = 0;
      for (let occurrence = 1; occurrence <= 21; occurrence += 5) {
        const world = open(limited(1));
        prepare(world, ['a', 'b', 'c']);
        let left = occurrence;
        await world.start((at) => {
          if (at !== point) return false;
          left -= 1;
          return left === 0;
        });
        const refs = ['a', 'b', 'c'].map((name) => world.setRoutedIP(name));
        await world.clock.advance(20 * SECOND);
        if (world.processes.length === 0) {
          killed += 1;
          if (isLost) {
            world.store.wipe();
            world.queues.wipe();
            world.invariants.forget();
          }
          await world.start();
        }
        await world.clock.advance(5 * MINUTE);
        const reasons = refs.map((ref) => world.reasonOf(ref)).sort();
        expect(reasons, `${point} ${occurrence}`).toEqual(['AddressLimitReached', 'AddressLimitReached', 'Assigned']);
        expect(world.provider.cloud.addresses().length, `${point} ${occurrence}`).toBe(1);
        expect(kept(world)).toHaveLength(1);
      }
      expect(killed).toBeGreaterThan(1);
    },
  );

  test('is written down anew, of all that still live, when somebody empties the ledger', async ({ open }) => {
    const world = open(limited(2));
    prepare(world, NAMES);
    await world.leader();
    const [first, second] = [world.setRoutedIP('a'), world.setRoutedIP('b')];
    await world.stable(first);
    await world.stable(second);
    world.ledger.edit(() => ({}));
    const third = world.setRoutedIP('c');
    await world.untilReason(third, 'AddressLimitReached');
    expect(addresses(world)).toEqual([world.statusOf(first).routedIP, world.statusOf(second).routedIP].sort());
  });

  test('counts what stands there by hand, and nothing is made while it cannot be read', async ({ open }) => {
    const world = open(limited(1));
    prepare(world, NAMES);
    const line = { address: '203.0.113.200' as Address, owner: '', uid: '', source: '', provider: '', since: 0 };
    world.ledger.edit(() => ({ web: [line] }));
    world.ledger.goDown();
    await world.leader();
    const ref = world.setRoutedIP('a');
    await world.untilReason(ref, 'AddressLedgerUnavailable');
    await world.clock.advance(5 * MINUTE);
    world.ledger.comeBack();
    await world.untilReason(ref, 'AddressLimitReached');
    expect(world.messageOf(ref)).toContain('203.0.113.200');
    expect(made(world)).toBe(0);
    world.ledger.edit(() => ({}));
    await world.stable(ref, undefined, 2 * MINUTE);
  });

  test('is written down where there is no limit, too, and a ledger that is away keeps nothing from being made', async ({ open }) => {
    const world = open();
    prepare(world, NAMES);
    world.ledger.goDown();
    await world.leader();
    const ref = world.setRoutedIP('a');
    await world.stable(ref);
    world.ledger.comeBack();
    await world.clock.runUntil(() => kept(world).length === 1, MINUTE);
    expect(kept(world)).toMatchObject([
      { address: world.statusOf(ref).routedIP, owner: 'RoutedIP/a', source: 'ClusterRoutedIPClass/floating', provider: PROVIDER },
    ]);
  });
});

describe('a class that lets a namespace keep one address', () => {
  test('says so, and another class serves on', async ({ open }) => {
    const world = open();
    prepare(world, NAMES, { maxAddressesPerNamespace: 1 });
    world.setClass({ className: 'example.com/other', routedIPFirewallName: '' }, 'other');
    await world.leader();
    const [first, second] = [world.setRoutedIP('a'), world.setRoutedIP('b')];
    await world.stable(first);
    await world.untilReason(second, 'AddressLimitReached');
    expect(world.messageOf(second)).toContain('maxAddressesPerNamespace of ClusterRoutedIPClass floating allows 1');
    // Whoever raises it need do nothing else.
    world.setClass({ routedIPFirewallName: '', maxAddressesPerNamespace: 2 });
    await world.stable(second, undefined, 2 * MINUTE);
  });
});

describe('a FloatingIPPool', () => {
  test('creates as many as its namespace may keep, one after the other, and no more after it was deleted and made again', async ({
    open,
  }) => {
    const world = open(limited(2));
    world.setNode(...NODES.map((each) => ({ ...each, labels: { pool: 'work' } })));
    await world.leader();
    const pool = world.pool('ingress', { desiredIPs: 3 });
    await world.clock.runUntil(() => made(world) === 2, 5 * MINUTE);
    await world.clock.runUntil(() => world.reasonOf(pool) === 'AddressLimitReached', MINUTE);
    await world.clock.advance(5 * MINUTE);
    expect(made(world)).toBe(2);
    world.cluster.removePool(pool);
    await world.clock.advance(MINUTE);
    const again = world.pool('again', { desiredIPs: 1 });
    await world.clock.runUntil(() => world.reasonOf(again) === 'AddressLimitReached', MINUTE);
    expect(addresses(world, 'default')).toHaveLength(2);
  });
});
