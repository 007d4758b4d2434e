import { afterEach, describe, expect } from 'vitest';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Address } from '../../../machines/model/types.ts';
import { type Metered, openMetered } from '../../support/metered.ts';
import { node, PROVIDER, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { CLASS_NAME, FIREWALL, MINUTE, type RoutedWorld, SECOND, service } from './world.ts';

const A = '203.0.113.7' as Address;
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
/** What the class's Secret is known under. */
const KEY = `${PROVIDER}@default.do-token`;

/** Address A serves on `old`, where it was found, with its port open there; `young` serves the Service, too. */
async function serving(world: RoutedWorld) {
  world.setClass();
  world.setNode(OLD, YOUNG);
  world.address(A, 'old');
  world.setWeb('shop', ['old', 'young']);
  const process = await world.leader();
  const ref = world.setRoutedIP('shop', { routedIP: A });
  await world.stable(ref, 'old');
  expect(world.assigns()).toEqual([]);
  expect(world.firewall().nodes).toEqual([providerIDOf('old')]);
  return { process, ref };
}
const BOTH = [providerIDOf('old'), providerIDOf('young')];

describe('an assign that was accepted', () => {
  test('and is never completed is given up after two minutes, and repeated under the same epoch; nothing is closed before', async ({
    open,
  }) => {
    const world = open({ provider: { actionMs: 400 * SECOND } });
    const { ref } = await serving(world);
    world.cluster.setNode({ ...OLD, ready: false });
    await world.clock.runUntil(() => world.assigns().length === 1, 10 * SECOND);
    const { epoch } = world.statusOf(ref);
    const waited = await world.clock.runUntil(() => world.statusOf(ref).state === 'CoolOff', 130 * SECOND);
    expect(waited).toBeGreaterThan(115 * SECOND);
    expect(world.statusOf(ref)).toMatchObject({ epoch, electedNode: 'young', assignedNode: 'old', inDoubt: true });
    expect(world.reasonOf(ref)).toBe('AssignFailed');
    expect(world.eventsOf(ref)).toContain('AssignFailed');
    expect(world.firewall().nodes, 'nothing is closed').toEqual(BOTH);
    await world.clock.runUntil(() => world.holderOf(A) === 'young', 10 * MINUTE);
    await world.stable(ref, 'young');
    expect(world.statusOf(ref).epoch).toBe(epoch);
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  });

  test('while the provider shows the old droplet is not confirmed: nothing is closed, and the status says the old node', async ({
    open,
  }) => {
    const world = open();
    const { ref } = await serving(world);
    world.provider.staleReads(5 * MINUTE);
    world.cluster.setNode({ ...OLD, ready: false });
    await world.clock.runUntil(() => world.assigns().length === 1, 10 * SECOND);
    await world.clock.advance(SECOND);
    expect(world.holderOf(A), 'it has taken effect').toBe('young');
    for (let waited = 0; waited < 4 * MINUTE; waited += 10 * SECOND) {
      await world.clock.advance(10 * SECOND);
      expect(world.statusOf(ref)).toMatchObject({ assignedNode: 'old' });
      expect(world.reasonOf(ref)).not.toBe('Assigned');
      expect(world.firewall().nodes).toEqual(BOTH);
    }
    expect(
      world.eventsOf(ref).filter((reason) => reason === 'Assigned'),
      'on the old node',
    ).toHaveLength(1);
    await world.stable(ref, 'young', 10 * MINUTE);
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  });

  test('and whose action ends in an error is issued again, with the firewall open all the time', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world);
    world.provider.cloud.failActions(1);
    world.cluster.setNode({ ...OLD, ready: false });
    await world.clock.runUntil(() => world.assigns().length === 2, 2 * MINUTE);
    expect(world.firewall().nodes).toEqual(BOTH);
    await world.stable(ref, 'young', MINUTE);
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  });

  for (const point of ['afterReply', 'beforeReplyRead'] as const)
    test(`by a process that dies ${point === 'afterReply' ? 'right after' : 'before it reads'} the answer is confirmed by the next one, not sent again`, async ({
      open,
    }) => {
      const world = open();
      const { process, ref } = await serving(world);
      process.kill();
      const second = await world.start((at, about) => at === point && about.startsWith('assignRoutedIP'));
      await world.clock.runUntil(() => second.supervisor.leading, MINUTE);
      world.cluster.setNode({ ...OLD, ready: false });
      await world.clock.runUntil(() => second.dead, MINUTE);
      expect(world.statusOf(ref).assignedNode).toBe('old');
      const writes = world.changes().length;
      await world.start();
      await world.stable(ref, 'young', 2 * MINUTE);
      expect(world.assigns()).toHaveLength(1);
      expect(world.changes().slice(writes)).toEqual(['deleteRoutedIPFirewallNode']);
      expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
    });
});

describe('credentials that are refused', () => {
  test('are told of by one Event, and waited for until the Secret changes, with everything left as it is', async ({ open }) => {
    const world = open();
    world.setClass({ fromSecretsRef: [{ name: 'do-token' }] });
    world.setNode(OLD, YOUNG);
    world.address(A, 'old');
    world.setWeb('shop', ['old', 'young']);
    const process = await world.start();
    const own = world.provider.process();
    const refused = { facts: world.facts, provider: { ...own, assignRoutedIP: () => Promise.reject(unauthorized()) } };
    process.providers.set(KEY, { facts: world.facts, provider: own });
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'old');
    process.providers.set(KEY, refused);
    world.cluster.setNode({ ...OLD, ready: false });
    await world.untilReason(ref, 'Unauthorized');
    await world.clock.advance(30 * MINUTE);
    expect(world.statusOf(ref).state).toBe('CoolOff');
    expect(world.eventsOf(ref).filter((reason) => reason === 'Unauthorized')).toHaveLength(1);
    expect(world.assigns(), 'nothing got through').toEqual([]);
    expect([world.holderOf(A), world.firewall().nodes]).toEqual(['old', BOTH]);
    process.providers.set(KEY, { facts: world.facts, provider: world.provider.process() });
    await world.stable(ref, 'young', 2 * SECOND);
    expect(world.firewall().nodes).toEqual([providerIDOf('young')]);
  });

  const unauthorized = () => new ProviderError('Unauthorized', 'assign: 401');
});

describe('a limit of the provider', () => {
  let world: Metered;
  afterEach(() => world.close());

  test('with Retry-After 60 keeps every call back for 60 s, also those of an election that comes meanwhile', async () => {
    world = await openMetered();
    world.nodes('web', 'a', 'b', 'c', 'd');
    const [first = '', second = ''] = world.addresses(2, ['a', 'b']);
    await fetch(`${world.cloud.url}/v2/firewalls`, {
      method: 'POST',
      headers: { authorization: 'Bearer token-of-the-test', 'content-type': 'application/json' },
      body: JSON.stringify({
        name: FIREWALL,
        inbound_rules: [{ protocol: 'tcp', ports: '22', sources: { addresses: ['0.0.0.0/0', '::/0'] } }],
      }),
    });
    const spec = { className: CLASS_NAME, region: 'nyc3', routedIPFirewallName: FIREWALL };
    world.cluster.setPolicy({ kind: 'ClusterRoutedIPClass', name: 'floating', spec });
    world.cluster.setService('web', 'shop', service(['a', 'b', 'c', 'd']));
    const refs = [first, second].map((routedIP, index) =>
      world.cluster.setPool({
        kind: 'RoutedIP',
        namespace: 'web',
        name: `rip-${index}`,
        spec: { className: CLASS_NAME, serviceRef: { serviceName: 'shop' }, routedIP },
      }),
    );
    await world.start();
    const state = (index: number) => world.cluster.pool(refs[index] as never)?.status as { state?: string; assignedNode?: string };
    await world.until(() => [0, 1].every((index) => state(index)?.state === 'Stable'), MINUTE);
    const isAssign = { method: 'POST', path: '/actions' };
    world.cloud.faults.add({ kind: 'status', code: 429, headers: { 'retry-after': '60' }, match: isAssign, times: 1 });
    world.fail('web', 'a');
    await world.until(() => world.calls().some(({ status }) => status === 429), MINUTE);
    const since = world.calls().at(-1)?.n ?? 0;
    await world.advance(5 * SECOND);
    world.fail('web', 'b');
    await world.advance(54 * SECOND);
    expect(world.calls(since).map(({ path }) => path)).toEqual([]);
    await world.until(() => [0, 1].every((index) => !['a', 'b'].includes(state(index)?.assignedNode ?? 'a')), 30 * SECOND);
    await world.until(() => [0, 1].every((index) => state(index)?.state === 'Stable'), MINUTE);
    expect([0, 1].map((index) => state(index)?.assignedNode).sort()).toEqual(['c', 'd']);
  });
});
