import { describe, expect } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import type { Account, Holding, Inventory } from '../../../machines/status/inventory.ts';
import { accountOf, type Holds, secretKey } from '../../hostile/accounts.ts';
import { node, PROVIDER } from '../../support/world.ts';
import { GroupWorld } from '../routedip/group-world.ts';
import { test } from '../routedip/routedip-test.ts';
import { CLASS_NAME, MINUTE, type RoutedWorld, service } from '../routedip/world.ts';

const FREE = '203.0.113.70';
const LISTED = '203.0.113.71';
const NODES = ['a', 'b', 'c'];

/** A class and nodes; the Services `shop` and `web` serve on all of them. */
function prepare(world: RoutedWorld, ofClass = {}): void {
  world.setClass({ routedIPFirewallName: '', ...ofClass });
  world.setNode(...NODES.map((name) => node(name)));
  for (const name of ['shop', 'web']) world.setWeb(name, NODES);
}

/** What whoever leads shows. */
const shown = (world: RoutedWorld): Inventory | null =>
  world.processes.find(({ supervisor }) => supervisor.leading)?.supervisor.inventory ?? null;
const account = (world: RoutedWorld, key = PROVIDER): Account | undefined => shown(world)?.accounts.find((each) => each.account === key);
const holding = (world: RoutedWorld, address: unknown, key = PROVIDER): Holding | undefined =>
  account(world, key)?.addresses.find((each) => each.address === address);
const untilShown = (world: RoutedWorld, address: unknown, standing: Holding['standing'], withinMs = 10 * MINUTE): Promise<number> =>
  world.clock.runUntil(() => holding(world, address)?.standing === standing, withinMs);

async function deleted(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
}

describe('the inventory', () => {
  test('says whose each address is: of a pool, of a RoutedIP, on a node by hand, elsewhere, nobody’s', async ({ open }) => {
    const world = open();
    prepare(world);
    world.nodes(node('d', { labels: {} }));
    world.address(FREE);
    world.address(LISTED);
    world.address('203.0.113.72', 'd');
    world.provider.cloud.addNode('digitalocean://other' as never);
    world.address('203.0.113.73', 'other');
    const pool = world.pool('ingress', { ips: [LISTED] });
    const ref = world.setRoutedIP('shop');
    await world.leader();
    await world.stable(ref);
    await world.untilStates(pool, { [LISTED]: 'active' });
    const { routedIP, assignedNode } = world.statusOf(ref);
    await untilShown(world, routedIP, 'claimed');
    expect(holding(world, routedIP)).toMatchObject({
      owner: 'RoutedIP web/shop',
      node: assignedNode,
      madeFor: 'RoutedIP web/shop',
      costPerMonth: 0,
    });
    expect(holding(world, LISTED)).toMatchObject({ owner: 'FloatingIPPool default/ingress', standing: 'claimed', madeFor: null });
    expect(holding(world, '203.0.113.72')).toMatchObject({ owner: null, standing: 'unmanaged', node: 'd' });
    expect(holding(world, '203.0.113.73')).toMatchObject({
      owner: null,
      standing: 'elsewhere',
      node: null,
      machine: 'digitalocean://other',
    });
    expect(holding(world, FREE)).toMatchObject({ owner: null, standing: 'orphan', costPerMonth: 5 });
    expect(account(world)).toMatchObject({ problem: null, totals: { addresses: 5, orphans: 1, costPerMonth: 5 } });
  });

  test('costs no call to the provider but the lists that there are anyway', async ({ open }) => {
    const world = open();
    prepare(world);
    const { supervisor } = await world.leader();
    await world.stable(world.setRoutedIP('shop'));
    await world.clock.advance(MINUTE);
    const before = world.provider.calls.length;
    for (let minute = 0; minute < 30; minute += 1) {
      expect(supervisor.inventory?.accounts).toHaveLength(1);
      await world.clock.advance(MINUTE);
    }
    const verbs = world.provider.calls.slice(before).map(({ verb }) => verb);
    expect(new Set(verbs)).toEqual(new Set(['listRoutedIPs']));
    // One a minute: those that look for edits, and the verifications.
    expect(verbs.length).toBeLessThanOrEqual(31);
  });

  test('says for whom an address was made that its class has retained, who is gone with its namespace, though another one leads by now', async ({
    open,
  }) => {
    const world = open();
    prepare(world);
    const former = await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    const { routedIP } = world.statusOf(ref);
    await deleted(world, ref);
    former.kill();
    world.store.wipe();
    // Somebody else works with the account, in another namespace.
    world.address(LISTED);
    world.pool('ingress', { ips: [LISTED] });
    await world.leader();
    await untilShown(world, routedIP, 'orphan');
    expect(holding(world, routedIP)).toMatchObject({
      madeFor: 'RoutedIP web/shop',
      madeAt: expect.stringMatching(/Z$/),
      node: expect.any(String),
    });
  });

  test('counts an address as claimed again once somebody lists it', async ({ open }) => {
    const world = open();
    prepare(world);
    world.address(FREE);
    await world.leader();
    await world.stable(world.setRoutedIP('shop'));
    await untilShown(world, FREE, 'orphan');
    world.pool('ingress', { ips: [FREE] });
    await untilShown(world, FREE, 'claimed', 2 * MINUTE);
  });

  test('does not lose an orphan to whoever names it with a token that has no such address', async ({ open }) => {
    const world = open();
    prepare(world);
    world.address(FREE);
    world.begins = ({ providers }) => providers.set(secretKey('evil', 'own'), accountOf('foreign', world));
    const issuer = { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name: 'own' }] };
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'evil', name: 'own', spec: issuer });
    world.cluster.setService('evil', 'any', service(NODES));
    const spec = { serviceRef: { serviceName: 'any' }, routedIP: FREE, issuerRef: { name: 'own' } };
    world.cluster.setPool({ kind: 'RoutedIP', namespace: 'evil', name: 'squatter', spec });
    await world.leader();
    await world.stable(world.setRoutedIP('shop'));
    await untilShown(world, FREE, 'orphan');
    // Each account shows what it holds, and nothing of the other one.
    expect(account(world, secretKey('evil', 'own'))?.addresses.map(({ address }) => address)).not.toContain(FREE);
  });

  test.for(['a verification fails', 'the token is changed for one that is refused'])(
    'says that an account cannot be read, as long as it cannot, with what it held before: %s',
    async (how, { open }) => {
      const world = open();
      prepare(world);
      const { providers } = await world.leader();
      const ref = world.setRoutedIP('shop');
      await world.stable(ref);
      await world.clock.runUntil(() => account(world)?.totals?.addresses === 1, MINUTE);
      const { readAt } = account(world) ?? {};
      const { provider, facts } = providers.all[PROVIDER] ?? {};
      if (!provider || !facts) throw new Error('there is no provider');
      const isOther = how !== 'a verification fails';
      const refuse = () => Promise.reject(new ProviderError('Unauthorized', 'list: 401'));
      if (isOther) providers.set(PROVIDER, { facts, provider: { ...provider, listRoutedIPs: refuse } });
      else world.provider.faults.always('listRoutedIPs', { kind: 'refuse', error: 'Unauthorized', message: 'list: 401' });
      await world.clock.runUntil(() => account(world)?.problem != null, 10 * MINUTE);
      expect(account(world)).toMatchObject({ problem: 'list: 401', totals: { addresses: 1 } });
      expect(Date.parse(account(world)?.readAt ?? '')).toBeLessThan(world.clock.now() - (isOther ? 0 : MINUTE));
      if (isOther) expect(account(world)?.readAt).toBe(readAt);
      if (isOther) providers.set(PROVIDER, { facts, provider });
      else world.provider.faults.clear();
      await world.clock.runUntil(() => account(world)?.problem === null, 10 * MINUTE);
    },
  );

  test.for<readonly [Holds, string]>([
    ['refused', 'listRoutedIPs: 401'],
    ['nothing', 'the Secret is not there'],
  ])('says of an account that could never be read why, and nothing of what it holds: token %s', async ([holds, problem], { open }) => {
    const world = open();
    prepare(world);
    const key = secretKey('web', 'own');
    world.begins = ({ providers }) => providers.set(key, accountOf(holds, world));
    const spec = { issuerClass: PROVIDER, region: 'nyc3', fromSecretsRef: [{ name: 'own' }] };
    world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec });
    await world.leader();
    world.setRoutedIP('web', { className: null, issuerRef: { name: 'own' } });
    await world.clock.runUntil(() => account(world, key)?.problem != null, 2 * MINUTE);
    expect(account(world, key)).toMatchObject({ problem, readAt: null, totals: null, addresses: [] });
    // It is no trouble of another account.
    await world.stable(world.setRoutedIP('shop'));
    await world.clock.runUntil(() => account(world)?.totals?.addresses === 1, 10 * MINUTE);
    expect(account(world)?.problem).toBeNull();
  });

  test('says of an account that nobody works with that it is not read, and of one of Jobs that nobody can list it', async ({ open }) => {
    const world = open();
    await world.leader();
    await world.clock.runUntil(() => account(world) !== undefined, 2 * MINUTE);
    expect(account(world)).toMatchObject({
      readAt: null,
      problem: null,
      note: 'no pool and no RoutedIP works with it, so it is not read',
      totals: null,
    });
    const ofJobs = new GroupWorld();
    ofJobs.jobClass({ routedIPFirewallName: '' });
    await ofJobs.operator();
    await ofJobs.stable(ofJobs.wants('shop', { routedIP: '192.0.2.9' }));
    await ofJobs.clock.advance(MINUTE);
    await ofJobs.clock.runUntil(() => account(ofJobs, 'job.http') !== undefined, 2 * MINUTE);
    expect(account(ofJobs, 'job.http')).toMatchObject({
      readAt: null,
      problem: null,
      note: 'Jobs drive its addresses, and nobody can list them',
      totals: null,
    });
  });

  test('knows an address that an IPGroup may give, or has given', async () => {
    const world = new GroupWorld();
    world.group();
    world.address('192.0.2.1');
    world.address('192.0.2.3');
    world.setClass({ routedIPFirewallName: '' });
    world.groupClass();
    await world.operator();
    await world.stable(world.wants('api', { className: CLASS_NAME }));
    await untilShown(world, '192.0.2.1', 'claimed');
    expect(holding(world, '192.0.2.1')?.owner).toBe('IPGroup edge');
    // It is excluded there.
    expect(holding(world, '192.0.2.3')?.standing).toBe('orphan');
    const ref = world.wants('shop');
    await world.stable(ref);
    expect(world.addressOf(ref)).toBe('192.0.2.1');
    await world.clock.runUntil(() => holding(world, '192.0.2.1')?.owner === 'RoutedIP web/shop', 2 * MINUTE);
  });

  test('is nobody’s who does not lead', async ({ open }) => {
    const world = open();
    prepare(world);
    const first = await world.leader();
    const second = await world.start();
    await world.stable(world.setRoutedIP('shop'));
    await world.clock.runUntil(() => first.supervisor.inventory !== null, MINUTE);
    expect(second.supervisor.inventory).toBeNull();
    await first.stop();
    expect(first.supervisor.inventory).toBeNull();
    await world.clock.runUntil(() => second.supervisor.inventory !== null, 2 * MINUTE);
  });
});

describe('where it is written down', () => {
  test('stands what is so, anew when it has changed, and else every five minutes', async ({ open }) => {
    const world = open();
    prepare(world);
    world.address(FREE);
    const written: { readonly at: number; readonly inventory: Inventory }[] = [];
    world.inventoryWriter = {
      write: async (text) => void written.push({ at: world.clock.monotonic(), inventory: JSON.parse(text) as Inventory }),
    };
    await world.leader();
    await world.stable(world.setRoutedIP('shop'));
    const last = () => written.at(-1)?.inventory;
    await world.clock.runUntil(() => last()?.accounts[0]?.totals?.addresses === 2, 10 * MINUTE);
    expect(last()).toEqual(shown(world));
    const before = written.length;
    await world.clock.advance(30 * MINUTE);
    // One for each time that the account was read.
    expect(written.length - before).toBeLessThanOrEqual(7);
    const times = written.slice(before - 1).map(({ at }) => at);
    for (const [index, at] of times.slice(1).entries()) expect(at - (times[index] ?? 0)).toBeLessThanOrEqual(6 * MINUTE);
  });

  test('stands that somebody looks, where nothing ever changes', async ({ open }) => {
    const world = open();
    const times: number[] = [];
    world.inventoryWriter = { write: async () => void times.push(world.clock.monotonic()) };
    await world.leader();
    await world.clock.advance(30 * MINUTE);
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(gaps.length).toBeGreaterThanOrEqual(4);
    expect([Math.min(...gaps) >= 5 * MINUTE, Math.max(...gaps) <= 6 * MINUTE]).toEqual([true, true]);
  });

  test('nothing stands while it cannot be written, which is said once, and all is shown all the same', async ({ open }) => {
    const world = open();
    prepare(world);
    let isRefused = true;
    const written: string[] = [];
    world.inventoryWriter = {
      write: async (text) => (isRefused ? Promise.reject(new Error('may not create configmaps')) : void written.push(text)),
    };
    await world.leader();
    await world.stable(world.setRoutedIP('shop'));
    await world.clock.runUntil(() => account(world)?.totals?.addresses === 1, 10 * MINUTE);
    const said = () => world.log.filter(({ message }) => message === 'the inventory is not up to date');
    expect(said()).toEqual([{ level: 'warn', message: expect.any(String), fields: { error: 'may not create configmaps' } }]);
    isRefused = false;
    await world.clock.runUntil(() => written.length > 0, 2 * MINUTE);
    expect(said()).toHaveLength(1);
  });

  test('says nothing of what was made while the ledger cannot be read, and takes nothing on a node for an orphan', async ({ open }) => {
    const world = open();
    prepare(world);
    world.ledger.goDown('nowhere');
    await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.stable(ref);
    const { routedIP } = world.statusOf(ref);
    await deleted(world, ref);
    await untilShown(world, routedIP, 'unmanaged');
    world.ledger.comeBack();
    await untilShown(world, routedIP, 'orphan', 2 * MINUTE);
  });
});
