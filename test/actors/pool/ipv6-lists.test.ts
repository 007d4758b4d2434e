import { describe, expect } from 'vitest';
import { PartialList, ProviderError } from '../../../actors/ports/errors.ts';
import { test } from '../../support/sound.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { bothOn, FOUR, facts, SEVEN, SIX } from './ipv6-pools.ts';

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
    await world.clock.advance(30_000);
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

  test('are read anew with other credentials, both of them', async ({ open }) => {
    const world = open({ facts });
    const { first } = await bothOn(world);
    const standing = first.providers.all[PROVIDER];
    const { provider } = standing ?? {};
    if (!standing || !provider) throw new Error('there is no provider');
    const families: number[] = [];
    const listRoutedIPs: typeof provider.listRoutedIPs = (call) => {
      families.push(call.family);
      return provider.listRoutedIPs(call);
    };
    first.providers.set(PROVIDER, { ...standing, provider: { ...provider, listRoutedIPs } });
    await world.clock.runUntil(() => new Set(families).size === 2, 10_000);
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
