import { describe, expect } from 'vitest';
import type { Kept } from '../../../machines/model/types.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const NODES = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => node(name));
const NAMES = NODES.map(({ name }) => name);
const OTHER = { className: null, issuerRef: { name: 'other' } };

function prepare(world: RoutedWorld, ofClass = {}, ofOther = {}): void {
  world.setClass({ routedIPFirewallName: '', ...ofClass });
  const spec = { issuerClass: PROVIDER, region: 'nyc3', ...ofOther };
  world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'other', spec });
  world.openNamespace();
  world.setNode(...NODES);
  for (const name of NAMES) world.setWeb(name, NAMES);
}

const kept = (world: RoutedWorld, namespace = 'web'): readonly Kept[] => world.ledger.current()[namespace] ?? [];
const ofSource = (world: RoutedWorld, name: string) => kept(world).filter(({ source }) => source === name);

describe('what one tenant does', () => {
  test('keeps no other namespace from its addresses, be its own ledger full or refused', async ({ open }) => {
    const world = open({ settings: { maxAddressesPerNamespace: 1 } });
    prepare(world);
    world.ledger.goDown('web');
    await world.leader();
    const mine = world.setRoutedIP('a');
    world.cluster.setService('ops', 'own', service(NAMES));
    const spec = { className: 'digitalocean.com/floating-ip', serviceRef: { serviceName: 'own' } };
    const own = world.cluster.setPool({ kind: 'RoutedIP', namespace: 'ops', name: 'own', spec });
    await world.stable(own);
    await world.untilReason(mine, 'AddressLedgerUnavailable');
  });

  test('while its ledger is refused has it read no oftener, however much the tenant changes', async ({ open }) => {
    const world = open({ settings: { maxAddressesPerNamespace: 1 } });
    prepare(world);
    world.ledger.goDown('web');
    await world.leader();
    for (let count = 0; count < 20; count += 1) {
      const ref = world.setRoutedIP('a');
      await world.clock.advance(700);
      world.cluster.markDeleting(ref);
      await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    }
    world.setRoutedIP('a');
    await world.clock.advance(MINUTE);
    const before = world.ledger.reads();
    await world.clock.advance(10 * MINUTE);
    expect(world.ledger.reads() - before).toBeLessThan(10 * 6);
  });

  test('takes no place in the ledger for what has no limit and is not made', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    world.provider.cloud.setQuota(0);
    for (const name of NAMES) world.setRoutedIP(name);
    await world.clock.advance(5 * SECOND);
    expect(kept(world).filter(({ address }) => address === null)).toEqual([]);
  });
});

describe('a class that was changed', () => {
  for (let at = 0; at <= 2000; at += 250) {
    test(`gives no address beyond its limit to whoever comes to it ${at} ms after asking another one`, async ({ open }) => {
      const world = open();
      prepare(world, { maxAddressesPerNamespace: 3 }, { maxAddressesPerNamespace: 1 });
      await world.leader();
      await world.stable(world.setRoutedIP('f', OTHER));
      for (const name of ['a', 'b', 'c']) world.setRoutedIP(name);
      await world.clock.advance(at);
      for (const name of ['a', 'b', 'c']) world.setRoutedIP(name, OTHER);
      await world.clock.advance(10 * MINUTE);
      expect(ofSource(world, 'RoutedIPIssuer/other')).toHaveLength(1);
      expect(world.provider.cloud.addresses().length).toBe(kept(world).filter(({ address }) => address !== null).length);
    });

    test(`is what an address counts by that was begun by it, if the object has another one ${at} ms later`, async ({ open }) => {
      const world = open();
      prepare(world, { maxAddressesPerNamespace: 1 });
      await world.leader();
      for (const name of ['a', 'b', 'c', 'd']) {
        world.setRoutedIP(name);
        await world.clock.advance(at);
        world.setRoutedIP(name, OTHER);
        await world.clock.advance(5 * MINUTE);
      }
      expect(ofSource(world, 'ClusterRoutedIPClass/floating').length).toBeLessThanOrEqual(1);
      expect(world.provider.cloud.addresses().length).toBe(kept(world).filter(({ address }) => address !== null).length);
    });
  }

  test('does not take the place that another class gave, be it as it was given', async ({ open }) => {
    const world = open();
    prepare(world, { maxAddressesPerNamespace: 3 }, { maxAddressesPerNamespace: 1 });
    await world.leader();
    await world.stable(world.setRoutedIP('f', OTHER));
    world.provider.cloud.setQuota(0);
    for (const name of ['a', 'b', 'c']) world.setRoutedIP(name);
    await world.clock.advance(3 * MINUTE);
    for (const name of ['a', 'b', 'c']) world.setRoutedIP(name, OTHER);
    await world.clock.advance(SECOND);
    world.provider.cloud.setQuota(100);
    await world.clock.advance(15 * MINUTE);
    expect(world.provider.cloud.addresses()).toHaveLength(1);
    expect(ofSource(world, 'RoutedIPIssuer/other')).toHaveLength(1);
  });

  for (const [what, wrong] of [
    ['of a provider that nobody knows', { issuerClass: 'nowhere' }],
    ['with an IPGroup, which no issuer may have', { issuerClass: PROVIDER, region: 'nyc3', ipGroup: 'lan' }],
  ] as const)
    test(`creates nothing more once its RoutedIPs name an issuer ${what}`, async ({ open }) => {
      const world = open({ settings: { maxAddressesPerNamespace: 2 } });
      prepare(world, { maxAddressesPerNamespace: 1 });
      world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'wrong', spec: wrong });
      await world.leader();
      await world.stable(world.setRoutedIP('a'));
      for (const name of ['b', 'c', 'd']) {
        const ref = world.setRoutedIP(name);
        await world.untilReason(ref, 'AddressLimitReached');
        world.setRoutedIP(name, { className: null, issuerRef: { name: 'wrong' } });
      }
      await world.clock.advance(10 * MINUTE);
      expect(world.provider.cloud.addresses()).toHaveLength(1);
    });

  test('has a limit from now on: whoever waits meanwhile goes on by itself', async ({ open }) => {
    const world = open();
    prepare(world);
    await world.leader();
    world.provider.cloud.setQuota(0);
    const ref = world.setRoutedIP('a');
    await world.clock.advance(MINUTE);
    world.setClass({ routedIPFirewallName: '', maxAddressesPerNamespace: 1 });
    await world.clock.advance(MINUTE);
    world.provider.cloud.setQuota(100);
    await world.stable(ref, undefined, 15 * MINUTE);
  });
});

describe('an object that is deleted and made again under its name', () => {
  const moments = [0, 250, 500, 750, 1000, 1250, 1500, 2000];
  test.for(moments.flatMap((at) => [true, false].map((isReleased) => [at, isReleased] as const)))(
    'gets its namespace no address more: %s ms after it was made, released by us %s',
    async ([at, isReleased], { open }) => {
      const world = open({ settings: { maxAddressesPerNamespace: 2 } });
      prepare(world);
      await world.leader();
      const makeAndDelete = async (change: Parameters<RoutedWorld['setRoutedIP']>[1]): Promise<void> => {
        const ref = world.setRoutedIP('a', change);
        await world.clock.advance(at);
        if (isReleased) world.cluster.markDeleting(ref);
        else world.cluster.removePool(ref);
        await world.clock.runUntil(() => world.cluster.pool(ref) === null, 5 * MINUTE);
      };
      await makeAndDelete({});
      world.ledger.goDown('web');
      await makeAndDelete(OTHER);
      await makeAndDelete({});
      world.ledger.comeBack();
      await makeAndDelete(OTHER);
      for (const name of ['b', 'c', 'd']) world.setRoutedIP(name);
      await world.clock.advance(15 * MINUTE);
      expect(world.provider.cloud.addresses()).toHaveLength(2);
      expect(kept(world)).toHaveLength(2);
    },
  );
});
