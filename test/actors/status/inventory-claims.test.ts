import { describe, expect } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Address } from '../../../machines/model/types.ts';
import type { Account, Standing } from '../../../machines/status/inventory.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

const LISTED = '203.0.113.71' as Address;
const SPARE = '203.0.113.72' as Address;

function account(world: RoutedWorld): Account | undefined {
  const leader = world.processes.find(({ supervisor }) => supervisor.leading);
  return leader?.supervisor.inventory?.accounts.find((each) => each.account === PROVIDER);
}

const standingOf = (world: RoutedWorld, of: unknown): Standing | undefined =>
  account(world)?.addresses.find(({ address }) => address === of)?.standing;

describe('an address is no orphan', () => {
  test('while a tool takes it out of the spec of its pool', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    const ref = world.pool('ingress', { ips: [], desiredIPs: 1 });
    await world.leader();
    await world.clock.runUntil(() => Object.values(world.states(ref)).includes('active'), 5 * MINUTE);
    const [address] = Object.keys(world.states(ref)) as Address[];
    const seen = new Set<Standing | undefined>();
    for (let passed = 0; passed < 10 * MINUTE; passed += 5 * SECOND) {
      await world.clock.advance(5 * SECOND);
      world.pool('ingress', { ips: [], desiredIPs: 1 });
      if (passed > MINUTE) seen.add(standingOf(world, address));
    }
    expect([...seen]).toEqual(['claimed']);
  });

  test('that was made for a pool and cannot be written into its spec yet', async ({ open }) => {
    const world = open();
    world.nodes(node('a'), node('b'));
    world.address(LISTED, 'a');
    world.pool('ingress', { ips: [LISTED], desiredIPs: 2 });
    const { process } = world.cluster;
    const refuse = () => Promise.reject(new ProviderError('Unauthorized', 'spec.ips: forbidden'));
    world.cluster.process = () => Object.assign(process.call(world.cluster), { appendAddress: refuse });
    await world.leader();
    await world.clock.runUntil(() => account(world)?.totals?.addresses === 2, 20 * MINUTE);
    await world.clock.advance(2 * MINUTE);
    expect(account(world)?.addresses.map(({ standing }) => standing)).toEqual(['claimed', 'claimed']);
  });

  test('that was made for an object of a kind that is not seen here', async ({ open }) => {
    const world = open();
    world.setClass({ routedIPFirewallName: '' });
    world.nodes(node('a'), node('b'));
    world.setWeb('shop', ['a', 'b']);
    world.address(LISTED);
    world.pool('ingress', { ips: [LISTED], desiredIPs: 1 });
    const ref = world.setRoutedIP('shop');
    const first = await world.leader();
    await world.stable(ref);
    const { routedIP } = world.statusOf(ref);
    first.kill();
    const { process } = world.cluster;
    world.cluster.process = () => {
      const made = process.call(world.cluster);
      const { start } = made;
      return Object.assign(made, {
        knows: (kind: string) => kind === 'FloatingIPPool',
        start: (listener: Parameters<typeof start>[0]) =>
          start.call(made, {
            ...listener,
            poolObserved: (object) => void (object.ref.kind !== 'RoutedIP' && listener.poolObserved(object)),
            clusterObserved: (of, fact) => void (of.kind !== 'RoutedIP' && listener.clusterObserved(of, fact)),
          }),
      });
    };
    await world.leader();
    await world.clock.advance(10 * MINUTE);
    expect(account(world)?.addresses.find(({ address }) => address === routedIP)).toMatchObject({
      standing: 'claimed',
      owner: 'RoutedIP web/shop',
    });
  });

  test('while the provider of its pool is misspelt', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    for (const address of [LISTED, SPARE, '203.0.113.79']) world.address(address);
    const ref = world.pool('ingress', { ips: [LISTED, SPARE], desiredIPs: 2 });
    world.pool('other', { ips: ['203.0.113.79'], match: { nodeLabel: 'none=here' } });
    await world.leader();
    await world.clock.runUntil(() => world.states(ref)[LISTED] === 'active', 5 * MINUTE);
    world.pool('ingress', { ips: [LISTED, SPARE], desiredIPs: 2, provider: 'digitalocaen' });
    await world.clock.advance(10 * MINUTE);
    expect([LISTED, SPARE].map((each) => standingOf(world, each))).toEqual(['claimed', 'claimed']);
  });
});
