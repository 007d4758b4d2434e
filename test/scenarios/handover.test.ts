import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { CLASS, openRouted, type Routed } from '../e2e/routed.ts';
import { openStage, type Stage } from '../e2e/stage.ts';
import { openTarget } from '../e2e/target.ts';

interface Cluster {
  readonly world: Routed;
  readonly firewall: string;
  readonly nodes: readonly string[];
}

/** An address goes from one cluster to another one of the same account, as docs/handing-over.md tells it: two operators, each with a Redis and an API server of its own. */
describe('an address that one cluster hands to another', () => {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  let ends: (() => Promise<void>)[] = [];
  let former: Cluster;
  let next: Cluster;

  const opened = async (nodes: readonly string[], firewall: string, beside?: Stage): Promise<Cluster> => {
    const target = await openTarget();
    ends.push(() => target.close());
    const stage = await openStage(target, beside ? { beside } : {});
    ends.push(() => stage.close());
    const world = openRouted(stage);
    ends.push(() => world.close());
    await stage.nodes(...nodes);
    await world.addFirewall(firewall);
    await world.service('shop', nodes);
    return { world, firewall, nodes };
  };

  beforeEach(async () => {
    ends = [];
    former = await opened(['a', 'b'], 'edge-former');
    next = await opened(['c', 'd'], 'edge-next', former.world.stage);
    // Each finds out within seconds what the other one has done.
    for (const { world } of [former, next]) await world.stage.start({ flags: ['--verify-interval=2s'] });
  });

  afterEach(async () => {
    for (const end of ends.reverse()) await end();
  });

  /** Each assign that reached the provider: by which cluster's node it was for. */
  const moves = (address: string): readonly string[] =>
    former.world.stage.cloud.calls
      .select({ writes: true })
      .filter(({ path, body }) => path.includes(address) && (body as { readonly type?: string } | null)?.type === 'assign')
      .map(({ body }) => former.world.stage.cloud.state.droplets.get(Number((body as { droplet_id?: number }).droplet_id))?.name ?? '?')
      .map((node) => (former.nodes.includes(node) ? 'former' : 'next'));

  const pause = ({ world }: Cluster, paused: 'true' | null) =>
    world.editRoutedIP('shop', { metadata: { annotations: { 'routedip.io/paused': paused } } });

  const verified = async (since: number, times = 3): Promise<void> =>
    former.world.stage.until('it is verified some times more', () => {
      const lists = former.world.stage.cloud.calls
        .select({ since })
        .filter(({ method, path }) => method === 'GET' && path.includes('/reserved_ips?'));
      return lists.length >= 2 * times;
    });

  test('is moved once, serves all the while, and stays when the former cluster lets its object go', async () => {
    await former.world.setClass(CLASS, { routedIPFirewallName: former.firewall });
    await former.world.routedIP('shop');
    const address = await former.world.stable('shop');

    // Looked at beforehand: it is seen, and nothing is sent.
    await next.world.setClass(CLASS, { routedIPFirewallName: next.firewall });
    await next.world.routedIP('shop', { routedIP: address });
    await next.world.degraded('shop', 'HeldElsewhere');
    expect(moves(address)).toEqual(['former']);

    await pause(former, 'true');
    await former.world.stage.until(
      'the former one is paused',
      async () => (await former.world.condition('shop', 'Paused'))?.status === 'True',
    );
    await next.world.editClass(CLASS, { adoption: 'Any' });
    await next.world.stable('shop');
    expect(moves(address)).toEqual(['former', 'next']);
    expect(next.world.firewall(next.firewall).ports).toContain('tcp/30080');
    // Until then: whoever is still sent to the former node gets an answer there.
    expect(former.world.firewall(former.firewall).ports).toContain('tcp/30080');

    await former.world.deleteRoutedIP('shop');
    await pause(former, null);
    await former.world.stage.until('the former one is gone', async () => (await former.world.status('shop')) === null);
    expect(former.world.firewall(former.firewall)).toEqual({ ports: ['tcp/22'], nodes: [] });

    const since = next.world.lastCall();
    await verified(since);
    expect(next.world.changes(since)).toEqual([]);
    expect(moves(address)).toEqual(['former', 'next']);
    expect(next.nodes).toContain(next.world.stage.heldBy(address));
    expect((await next.world.condition('shop', 'Ready'))?.status).toBe('True');
  });

  test('comes back as it went', async () => {
    await former.world.setClass(CLASS, { routedIPFirewallName: former.firewall, adoption: 'Any' });
    await former.world.routedIP('shop');
    const address = await former.world.stable('shop');
    await pause(former, 'true');
    await next.world.setClass(CLASS, { routedIPFirewallName: next.firewall, adoption: 'Any' });
    await next.world.routedIP('shop', { routedIP: address });
    await next.world.stable('shop');

    await pause(next, 'true');
    await next.world.stage.until('the next one is paused', async () => (await next.world.condition('shop', 'Paused'))?.status === 'True');
    await pause(former, null);
    await former.world.stage.until('it is back', () => former.world.stage.heldBy(address) !== null);
    await next.world.deleteRoutedIP('shop');
    await pause(next, null);
    await next.world.stage.until('the next one is gone', async () => (await next.world.status('shop')) === null);
    await verified(former.world.lastCall());
    expect(moves(address)).toEqual(['former', 'next', 'former']);
  });

  test('that both want is fought for until one of them has lost it as often as its class says, which leaves it to the other one', async () => {
    const contention = { moves: 2, windowSeconds: 3600 };
    const rules = (firewall: string) => ({ routedIPFirewallName: firewall, adoption: 'Any', contention });
    await former.world.setClass(CLASS, rules(former.firewall));
    await former.world.routedIP('shop');
    const address = await former.world.stable('shop');
    await next.world.setClass(CLASS, rules(next.firewall));
    await next.world.routedIP('shop', { routedIP: address });

    const reasons = () => Promise.all([former, next].map(async ({ world }) => (await world.condition('shop'))?.reason));
    await former.world.stage.until('one of them has yielded', async () => (await reasons()).includes('Contended'), 120_000);
    // The former one has it first, and is the first to have lost it twice.
    expect((await former.world.condition('shop'))?.reason).toBe('Contended');
    await next.world.stable('shop');
    const fought = ['former', 'next', 'former', 'next'];
    expect(moves(address)).toEqual(fought);
    await verified(former.world.lastCall());
    expect(moves(address)).toEqual(fought);
    expect((await former.world.condition('shop'))?.message).toContain(address);
    expect((await former.world.status('shop'))?.contendedUntil).toEqual(expect.any(String));
    expect(await former.world.events('shop')).toEqual(expect.arrayContaining(['DriftDetected', 'Contended']));
    expect([(await next.world.condition('shop', 'Ready'))?.status, (await next.world.condition('shop'))?.status]).toEqual([
      'True',
      'False',
    ]);
  });

  test('of a pool is taken out of one list, and into the other', async () => {
    const { ip } = former.world.stage.cloud.addReservedIP({ region: 'nyc3' });
    const { ip: other } = former.world.stage.cloud.addReservedIP({ region: 'nyc3' });
    await former.world.stage.pool('ingress', { ips: [ip, other] });
    await former.world.stage.until('both are active', async () => (await former.world.stage.getPool('ingress')).status?.activeIPs === 2);
    await former.world.stage.editPool('ingress', { ips: [other] });
    await former.world.stage.until(
      'it is let go',
      async () => (await former.world.stage.getPool('ingress')).status?.ips?.[ip] === undefined,
    );
    // It stays where it is, and serves, until the other cluster takes it.
    expect(former.world.stage.heldBy(ip)).not.toBeNull();
    await next.world.stage.pool('ingress', { ips: [ip] });
    await next.world.stage.until('it is active there', async () => (await next.world.stage.activeOn('ingress', ip)) !== null);
    await verified(former.world.lastCall());
    expect([moves(ip), moves(other)]).toEqual([['former', 'next'], ['former']]);
  });
});
