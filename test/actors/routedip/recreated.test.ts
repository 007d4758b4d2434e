import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { ADDRESS, type Address } from '../../../machines/model/types.ts';
import { node, PROVIDER, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld } from './world.ts';

/** The user deletes it; it is gone with its finalizer. */
async function deleted(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
}

const made = (world: RoutedWorld): number => world.changes().filter((verb) => verb === 'createRoutedIP').length;

function prepare(world: RoutedWorld, ofClass = {}): void {
  world.setClass({ routedIPFirewallName: '', ...ofClass });
  world.setNode(node('a'), node('b'), node('c'));
  for (const name of ['web', 'shop']) world.setWeb(name, ['a', 'b', 'c']);
}

/** A RoutedIP that has an address, which is retained when it is deleted. */
async function retained(world: RoutedWorld, name = 'web'): Promise<Address> {
  const ref = world.setRoutedIP(name);
  await world.stable(ref);
  const { routedIP } = world.statusOf(ref);
  await deleted(world, ref);
  return routedIP as Address;
}

const statusOf = (world: RoutedWorld, ref: ObjectRef) => world.statusOf(ref);

describe('a RoutedIP that is deleted and made again under its name', () => {
  test('gets the address that its class has retained, and none is made', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const address = await retained(world);
    const again = world.setRoutedIP('web');
    await world.stable(again);
    expect(statusOf(world, again)).toMatchObject({ routedIP: address, addressOrigin: 'Created' });
    expect(world.eventsOf(again)[0]).toBe('AddressReused');
    expect(made(world)).toBe(1);
  });

  test('gets it from another leader, which has lost all records', async ({ open }) => {
    const world = open();
    prepare(world);
    const former = await world.leader();
    const address = await retained(world);
    former.kill();
    world.store.wipe();
    const again = world.setRoutedIP('web');
    await world.leader();
    await world.stable(again);
    expect(statusOf(world, again).routedIP).toBe(address);
    expect(made(world)).toBe(1);
  });

  test('gets it again and again, and has it deleted once its class says so', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const address = await retained(world);
    expect(await retained(world)).toBe(address);
    const last = world.setRoutedIP('web');
    await world.stable(last);
    prepare(world, { routedIPReclaimPolicy: 'Delete' });
    await deleted(world, last);
    expect(world.provider.cloud.list()).toEqual([]);
    const anew = world.setRoutedIP('web');
    await world.stable(anew);
    expect(statusOf(world, anew).routedIP).not.toBe(address);
    expect(made(world)).toBe(2);
  });

  test('gets it although its namespace has no room for another one', async ({ open }) => {
    const world = open({ settings: { maxAddressesPerNamespace: 1 } });
    prepare(world);
    await world.leader();
    const address = await retained(world);
    const other = world.setRoutedIP('shop');
    await world.untilReason(other, 'AddressLimitReached');
    const again = world.setRoutedIP('web');
    await world.stable(again);
    expect(statusOf(world, again).routedIP).toBe(address);
  });

  test('gets another one while somebody else has it, be that a RoutedIP or a machine outside of the cluster', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const address = await retained(world);
    const other = world.setRoutedIP('shop', { routedIP: address });
    await world.stable(other);
    const again = world.setRoutedIP('web');
    await world.stable(again);
    expect(statusOf(world, again).routedIP).not.toBe(address);
    await deleted(world, again);
    const { routedIP } = statusOf(world, again);
    const next = world.provider.cloud.list().find((each) => each.address !== address)?.address as Address;
    world.provider.cloud.addNode(providerIDOf('stranger'));
    world.provider.cloud.moveByHand(next, providerIDOf('stranger'));
    await world.clock.advance(6 * MINUTE);
    const third = world.setRoutedIP('web');
    await world.stable(third);
    expect([address, next, routedIP]).not.toContain(statusOf(world, third).routedIP);
    expect(world.holderOf(next)).toBe('stranger');
  });

  test('gets another one by an issuer, of which the account may be the same', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const address = await retained(world);
    world.openNamespace();
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec: { issuerClass: PROVIDER, region: 'nyc3' } });
    const again = world.setRoutedIP('web', { className: null, issuerRef: { name: 'own' } });
    await world.stable(again);
    expect(statusOf(world, again).routedIP).not.toBe(address);
  });

  test('gets another one when it was deleted at the provider since that was listed', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const address = await retained(world);
    world.provider.cloud.removeByHand(address);
    const again = world.setRoutedIP('web');
    await world.stable(again);
    expect(statusOf(world, again).routedIP).not.toBe(address);
  });

  test('waits for nobody while the ledger cannot be read', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const address = await retained(world);
    world.ledger.goDown();
    const again = world.setRoutedIP('web');
    await world.stable(again);
    expect(statusOf(world, again).routedIP).not.toBe(address);
  });
});

describe('a RoutedIP that is restored in another cluster, without its status', () => {
  /** Its manifest as a backup has it: the annotation that the operator wrote is there, the status is not. */
  const restored = (world: RoutedWorld, address: string, name = 'web'): ObjectRef => {
    const spec = { className: CLASS_NAME, serviceRef: { serviceName: name } };
    return world.cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name, spec, annotations: { [ADDRESS]: address } });
  };
  const A = '203.0.113.7' as Address;

  test('bears its address in an annotation as soon as it has one', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    const ref = world.setRoutedIP('web');
    await world.stable(ref);
    const annotations = world.cluster.pool(ref)?.marks?.annotations;
    expect(annotations).toEqual({ [ADDRESS]: statusOf(world, ref).routedIP });
  });

  test('gets its address again, which is not deleted with it since anybody may have written the annotation', async ({ open }) => {
    const world = open();
    prepare(world, { routedIPReclaimPolicy: 'Delete' });
    world.address(A, null);
    await world.leader();
    const ref = restored(world, A);
    await world.stable(ref);
    expect(statusOf(world, ref)).toMatchObject({ routedIP: A, addressOrigin: 'Found' });
    await deleted(world, ref);
    expect(world.provider.cloud.list().map(({ address }) => address)).toEqual([A]);
    expect(made(world)).toBe(0);
  });

  test('waits for it as long as a machine of the former cluster has it', async ({ open }) => {
    const world = open();
    prepare(world);
    world.provider.cloud.addNode(providerIDOf('former'));
    world.address(A, 'former');
    await world.leader();
    const ref = restored(world, A);
    await world.untilReason(ref, 'HeldElsewhere', 'Degraded');
    world.provider.cloud.moveByHand(A, null);
    await world.stable(ref, undefined, 310_000);
    expect(statusOf(world, ref).routedIP).toBe(A);
    expect(made(world)).toBe(0);
  });

  test.for([
    ['its account has it no more', {}, () => undefined],
    ['its class adopts nothing', { adoption: 'Never' }, (world: RoutedWorld) => world.address(A, null)],
    [
      'another RoutedIP asks for it',
      {},
      (world: RoutedWorld) => {
        world.address(A, null);
        world.setRoutedIP('shop', { routedIP: A });
      },
    ],
  ] as const)('gets another one when %s', async ([, ofClass, before], { open }) => {
    const world = open();
    prepare(world, ofClass);
    await world.leader();
    // Older than whoever asks for the address: that decides nothing.
    const ref = restored(world, A);
    before(world);
    await world.stable(ref);
    expect(statusOf(world, ref).routedIP).not.toBe(A);
    expect(world.eventsOf(ref)).not.toContain('AddressConflict');
    expect(world.cluster.pool(ref)?.marks?.annotations).toEqual({ [ADDRESS]: statusOf(world, ref).routedIP });
  });

  test('keeps an address from nobody who asks for it later, while it has no node', async ({ open }) => {
    const world = open();
    prepare(world);
    world.setWeb('web', []);
    world.address(A, null);
    await world.leader();
    const ref = restored(world, A);
    await world.clock.advance(MINUTE);
    const other = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(other);
    expect(statusOf(world, other).routedIP).toBe(A);
    world.setWeb('web', ['a', 'b', 'c']);
    await world.stable(ref);
    expect(statusOf(world, ref).routedIP).not.toBe(A);
  });

  test('names no address by an annotation that says something else', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    for (const [name, text] of [
      ['web', 'not an address'],
      ['shop', '2001:db8::1'],
    ] as const) {
      const ref = restored(world, text, name);
      await world.stable(ref);
      expect(statusOf(world, ref).addressOrigin).toBe('Created');
    }
  });
});
