import { describe, expect } from 'vitest';
import type { Supervisor } from '../../../actors/supervisor.ts';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER, providerIDOf, type World } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld } from './world.ts';

const A = '203.0.113.7' as Address;
/** From one verification to the next at most. */
const VERIFIED = 310_000;
const AWAY = { kind: 'refuse', error: 'Unavailable' } as const;

const ready = (world: World, ref: ObjectRef) => {
  const { status, reason, message } = world.cluster.conditions(ref).find(({ type }) => type === 'Ready') ?? {};
  return { status, reason, message };
};
const verifications = ({ invariants }: World): number =>
  invariants.turns
    .flatMap(({ transitions }) => transitions)
    .filter(({ heard }) => heard.some(({ event }) => /^xstate\.(done|error)\.actor\.verifyAll$/.test(event.type))).length;

/** A RoutedIP on `a` and a pool whose address is on `b`, both of one account. */
async function serving(world: RoutedWorld): Promise<{ policy: ObjectRef; rip: ObjectRef; pool: ObjectRef; supervisor: Supervisor }> {
  const policy = world.setClass();
  world.setNode(node('a'), node('b', { labels: { pool: 'pools' } }));
  world.setWeb('shop', ['a']);
  world.address(A, 'b');
  const rip = world.setRoutedIP('shop');
  const pool = world.pool('ingress', { ips: [A], match: { nodeLabel: 'pool=pools' } });
  const { supervisor } = await world.leader();
  await world.stable(rip, 'a');
  await world.untilStates(pool, { [A]: 'active' });
  await world.clock.advance(20_000);
  return { policy, rip, pool, supervisor };
}

/** Lets that many verifications fail. */
async function fail(world: World, times: number, how: Fault = AWAY): Promise<void> {
  world.provider.faults.always('listRoutedIPs', how);
  const before = verifications(world);
  await world.clock.runUntil(() => verifications(world) >= before + times, (times + 1) * VERIFIED);
  await world.clock.advance(1000);
  expect(verifications(world)).toBe(before + times);
}

describe('addresses that nobody can verify', () => {
  test('are Ready after two verifications that could not be made, and Unknown after the third, in place all the time', async ({ open }) => {
    const world = open();
    const { rip, pool } = await serving(world);
    await fail(world, 2);
    expect([ready(world, rip).status, ready(world, pool).status]).toEqual(['True', 'True']);
    const writes = world.provider.writes().length;
    await fail(world, 1);
    const because = 'as far as is known: 3 verifications in a row could not be made, the last one: ';
    expect(ready(world, rip)).toEqual({
      status: 'Unknown',
      reason: 'Unverified',
      message: expect.stringContaining(`${world.statusOf(rip).routedIP} is on a, ${because}`),
    });
    expect(ready(world, pool)).toEqual({
      status: 'Unknown',
      reason: 'Unverified',
      message: expect.stringContaining(`1 of 1 addresses are active, ${because}`),
    });
    expect(world.statusOf(rip)).toMatchObject({ state: 'Stable', assignedNode: 'a' });
    expect(world.states(pool), 'FLIPOP’s word stays').toEqual({ [A]: 'active' });
    expect([world.reasonOf(rip, 'Degraded'), world.reasonOf(pool, 'Degraded')]).toEqual(['Unverified', 'Unverified']);
    expect(world.provider.writes()).toHaveLength(writes);
    expect(world.cluster.annotations()).toEqual({ b: A });
  });

  test('are Unknown after the first one when the provider refuses the token: no other try helps', async ({ open }) => {
    const world = open();
    const { rip, pool } = await serving(world);
    await fail(world, 1, { kind: 'refuse', error: 'Unauthorized', message: '401 Unable to authenticate you' });
    const message = expect.stringContaining('as far as is known: the provider refuses the token: 401 Unable to authenticate you');
    expect([ready(world, rip), ready(world, pool)]).toEqual([
      { status: 'Unknown', reason: 'Unverified', message },
      { status: 'Unknown', reason: 'Unverified', message },
    ]);
    expect([world.reasonOf(rip, 'Degraded'), world.reasonOf(pool, 'Degraded')]).toEqual(['Unverified', 'Unverified']);
  });

  test.for([
    ['a token that is refused', 1, 'Unauthorized', 'the provider refuses the token: request '],
    ['the third verification that fails', 3, 'Unavailable', '3 verifications in a row could not be made, the last one: request '],
  ] as const)(
    'are told after %s by /readyz, by their class, and by one Event of it, until they can be verified',
    async ([_, times, error, why], { open }) => {
      const world = open();
      const { policy, rip, supervisor } = await serving(world);
      const message = expect.stringContaining(`the addresses of ${PROVIDER} cannot be verified: ${why}`);
      const events = () => world.cluster.announced.filter(({ about }) => about.uid === policy.uid).map(({ event }) => event);
      let requests = 0;
      // No provider says the same twice.
      const failed = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i += 1) await fail(world, 1, { kind: 'refuse', error, message: `request ${++requests} failed` });
      };
      expect([ready(world, policy).status, supervisor.unreadProviders(), events()]).toEqual(['True', {}, []]);
      await failed(times);
      expect(ready(world, policy)).toEqual({ status: 'Unknown', reason: 'Unverified', message });
      expect(supervisor.unreadProviders()).toEqual({ [PROVIDER]: message });
      await failed(2);
      const told = { type: 'Warning', action: 'Serve', reason: 'Unverified', message };
      expect(events()).toEqual([told]);

      world.provider.faults.clear();
      await world.clock.runUntil(() => ready(world, rip).status === 'True', VERIFIED);
      await world.clock.runUntil(() => ready(world, policy).status === 'True', 2000);
      expect(supervisor.unreadProviders()).toEqual({});
      await failed(times);
      expect(events()).toEqual([told, told]);
    },
  );

  test('are Ready again with the next verification', async ({ open }) => {
    const world = open();
    const { rip, pool } = await serving(world);
    await fail(world, 3);
    expect(ready(world, rip).status).toBe('Unknown');
    world.provider.faults.clear();
    await world.clock.runUntil(() => ready(world, rip).status === 'True', VERIFIED);
    await world.clock.runUntil(() => ready(world, pool).status === 'True', 1000);
    expect([ready(world, rip).reason, ready(world, pool).reason]).toEqual(['Assigned', 'AllActive']);
    await fail(world, 2);
    expect(ready(world, rip).status, 'it is counted anew').toBe('True');
  });

  test('cost no write for each verification, neither of a record nor of a status', async ({ open }) => {
    const world = open();
    const { rip, pool } = await serving(world);
    await fail(world, 3);
    const versions = () =>
      JSON.stringify([...world.invariants.records].filter(([id]) => !id.startsWith('verify/')).map(([id, { version }]) => [id, version]));
    const [before, shown] = [versions(), world.cluster.projections.length];
    await fail(world, 4);
    expect(versions()).toBe(before);
    expect(world.cluster.projections.slice(shown).filter(({ ref }) => [rip.uid, pool.uid].includes(ref.uid))).toEqual([]);
  });

  test('are Unknown for the next leader, too, and Ready once the provider answers', async ({ open }) => {
    const world = open();
    const { rip } = await serving(world);
    await fail(world, 3);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.advance(MINUTE);
    expect(ready(world, rip).status).toBe('Unknown');
    world.provider.faults.clear();
    await world.clock.runUntil(() => ready(world, rip).status === 'True', 2 * VERIFIED);
    expect(world.statusOf(rip)).toMatchObject({ state: 'Stable', assignedNode: 'a' });
  });

  test('fail over all the same, and are Unknown again where they are then', async ({ open }) => {
    const world = open();
    const { rip } = await serving(world);
    await fail(world, 3);
    world.setNode(node('c'));
    world.setWeb('shop', ['a', 'c']);
    world.cluster.setNode(node('a', { ready: false }));
    await world.stable(rip, 'c');
    expect(world.firewall().nodes).toEqual([providerIDOf('c')]);
    await world.clock.advance(1000);
    expect(ready(world, rip)).toMatchObject({ status: 'Unknown', message: expect.stringContaining('is on c, as far as is known') });
  });
});
