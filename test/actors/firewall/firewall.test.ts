import { describe, expect, test } from 'vitest';
import { charts } from '../../../actors/controllers/chart-registry.ts';
import { ObservedPools } from '../../../actors/controllers/pool-cache.ts';
import { stateOf } from '../../../actors/controllers/record-view.ts';
import { consumeJobs } from '../../../actors/jobs/worker.ts';
import { Leader } from '../../../actors/leadership/leader.ts';
import type { LogFields } from '../../../actors/ports/observers.ts';
import { ObservedVips } from '../../../actors/vip/object-cache.ts';
import { VipDesk } from '../../../actors/vip/service-allocation.ts';
import { memoryDirectory } from '../../../adapters/memory/directory.ts';
import type { AddressContext } from '../../../machines/address/context.ts';
import type { FirewallPolicy } from '../../../machines/model/firewall-policy.ts';
import { node, PROVIDER, providerIDOf, World } from '../../support/world.ts';

const A = '203.0.113.7';
const POOL = 'pool/default/ingress';
const ADDRESS = `${POOL}/ip/${A}`;

/** A pool with one address on node a and a spare node b, run by a leader that a test can talk to. */
async function managed(policy: Partial<FirewallPolicy>) {
  const world = new World();
  world.nodes(node('a'), node('b'));
  world.address(A);
  world.provider.cloud.addFirewall('edge', ['tcp/22']);
  const pools = new ObservedPools();
  const lease = world.lease.contender('one');
  await lease.start({ acquired: () => {}, lost: () => {} });
  await world.store.openTerm(1);
  const log = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (message: string, fields?: LogFields) => void world.log.push({ level: 'error', message, fields }),
  };
  const base = { store: world.store, queues: world.queues, clock: world.clock, log, probe: () => {}, settings: world.settings };
  const providers = memoryDirectory({ [PROVIDER]: { facts: world.facts, provider: world.provider } });
  const leader = new Leader(
    1,
    {
      ...base,
      charts: charts(world.settings, () => 1),
      observers: [],
      providers,
      pools,
      listsChanged: () => undefined,
      vips: {
        deskFor: (cells) =>
          new VipDesk({
            seen: new ObservedVips(),
            cells,
            virtualIPs: null,
            routedIP: () => undefined,
            announcer: { stands: () => undefined },
          }),
      },
      quota: { listed: () => undefined, unlisted: () => undefined, roomOf: () => null, retainedFor: () => null },
      isServed: () => true,
      isGone: () => false,
      isAway: () => false,
    },
    () => {},
  );
  const writer = world.cluster.process();
  consumeJobs(
    PROVIDER,
    world.provider,
    { ...base, writer, leadership: { lease: () => ({ renewedAt: world.clock.monotonic(), durationMs: 15_000 }), seenTerm: () => 1 } },
    10,
  );
  world.pool('ingress', { ips: [A] });
  await writer.start({
    poolObserved: (pool) => void pools.put(pool),
    poolGone: () => {},
    clusterObserved: (ref, fact) => {
      pools.putFact(ref, fact);
      leader.observeCluster(POOL);
    },
  });
  await leader.open(null);
  const state = () => stateOf(leader.recordsOf(POOL)?.get(ADDRESS)?.snapshot.value);
  const tell = (change: Partial<FirewallPolicy>) =>
    leader.deliver({
      to: ADDRESS,
      event: {
        type: 'POLICY_OBSERVED',
        policy: { firewall: `firewall/${PROVIDER}/edge`, postAllow: false, ports: ['tcp/80'], ...policy, ...change },
      },
    });
  await world.clock.runUntil(() => state() === 'Stable', 10_000);
  await tell({});
  await world.clock.runUntil(
    () => state() === 'Stable' && Object.keys(leader.recordsOf(POOL)?.get(ADDRESS)?.waiting ?? {}).length === 0,
    10_000,
  );
  const since = world.provider.writes().length;
  return {
    world,
    tell,
    state,
    /** Nodes that it left and on which its rules may still stand. */
    previous: () =>
      ((leader.recordsOf(POOL)?.get(ADDRESS)?.snapshot.context ?? { previous: [] }) as unknown as AddressContext).previous.map(
        ({ name }) => name,
      ),
    writes: () =>
      world.provider
        .writes()
        .slice(since)
        .map(({ verb }) => verb),
    firewall: () => world.provider.cloud.findFirewall('edge'),
  };
}

describe('an address with a firewall', () => {
  test('opens its port on the node that holds it, without moving', async () => {
    const { world, firewall } = await managed({});
    expect(firewall()).toMatchObject({ ports: ['tcp/22', 'tcp/80'], nodes: ['digitalocean://a'] });
    expect(world.holderOf(A)).toBe('a');
    expect(world.faults()).toEqual([]);
  });

  test('opens the firewall before it is assigned, and prunes the former node after it is confirmed', async () => {
    const { world, state, writes, firewall } = await managed({});
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.holderOf(A) === 'b' && state() === 'Stable', 20_000);
    expect(writes()).toEqual(['addRoutedIPFirewallNode', 'assignRoutedIP', 'deleteRoutedIPFirewallNode']);
    expect(firewall()).toMatchObject({ ports: ['tcp/22', 'tcp/80'], nodes: ['digitalocean://b'] });
  });

  test('touches the firewall only after the assignment when the policy says so', async () => {
    const { world, state, writes } = await managed({ postAllow: true });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.holderOf(A) === 'b' && state() === 'Stable', 20_000);
    expect(writes()).toEqual(['assignRoutedIP', 'addRoutedIPFirewallNode', 'deleteRoutedIPFirewallNode']);
  });

  test('closes a port that it needs no more, and leaves rules that others made', async () => {
    const { world, tell, state, firewall } = await managed({});
    await tell({ ports: ['tcp/443'] });
    await world.clock.runUntil(() => state() === 'Stable', 20_000);
    expect(firewall()?.ports).toEqual(['tcp/22', 'tcp/443']);
  });

  test('that somebody moved to another node of ours leaves nothing open on the former one', async () => {
    const { world, previous, firewall } = await managed({});
    world.provider.cloud.moveByHand(A as never, providerIDOf('b'));
    await world.clock.runUntil(() => previous().includes('a'), 310_000);
    await world.clock.runUntil(() => firewall()?.nodes.length === 1 && previous().length === 0, 20_000);
    expect(firewall()?.nodes).toEqual(['digitalocean://b']);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`]);
  });

  test('that the provider did not know for a while leaves nothing open on the node where it was', async () => {
    const { world, state, previous, firewall } = await managed({});
    world.provider.cloud.removeByHand(A as never);
    await world.clock.runUntil(() => state() === 'CoolOff', 310_000);
    expect([previous(), firewall()?.nodes]).toEqual([['a'], ['digitalocean://a']]);
    world.address(A);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.holderOf(A) === 'b' && state() === 'Stable', 310_000);
    expect([previous(), firewall()?.nodes]).toEqual([[], ['digitalocean://b']]);
  });

  test('waits with the old holder serving while the firewall does not exist', async () => {
    const { world, tell, state } = await managed({});
    await tell({ firewall: `firewall/${PROVIDER}/missing` });
    await world.clock.runUntil(() => state() === 'CoolOff', 20_000);
    expect(world.holderOf(A)).toBe('a');
  });
});
