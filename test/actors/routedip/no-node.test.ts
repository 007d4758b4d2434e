import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { test as poolTest } from '../../support/sound.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.7' as Address;
/** Of somebody else. */
const FOREIGN = '198.51.100.1' as Address;
const DEGRADED = 'Degraded';

async function until(world: RoutedWorld, ref: Parameters<RoutedWorld['messageOf']>[0], message: string): Promise<void> {
  await world.clock.runUntil(() => world.messageOf(ref, DEGRADED) === message, 5 * SECOND);
}

describe('a RoutedIP that no node may hold', () => {
  test('says of each node why, and says so anew when that changes, although nothing else does', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(node('a', { ready: false }), node('b', { unschedulable: true }));
    world.setWeb('shop', ['a', 'b']);
    const { supervisor } = await world.leader();
    const ref = world.setRoutedIP('shop');
    await world.untilReason(ref, 'NoEligibleNode', DEGRADED);
    expect(world.statusOf(ref).routedIP, 'none is created').toBeUndefined();
    const free = 'no eligible node is free for an address, and none is created';
    expect(world.messageOf(ref, DEGRADED)).toBe(`${free}: a (the Node is not Ready), b (the Node is cordoned)`);
    expect(world.messageOf(ref)).toBe(world.messageOf(ref, DEGRADED));
    expect(world.reasonOf(ref, 'FirewallReady'), 'its port is open nowhere').toBe('Opening');
    await world.clock.advance(SECOND);
    const versions = () => JSON.stringify([...(supervisor.records().get('rip/web/shop') ?? [])].map(([id, { version }]) => [id, version]));
    const before = versions();
    world.setNode(node('a', { ready: false }), node('b', { deleting: true }));
    await until(world, ref, `${free}: a (the Node is not Ready), b (the Node is being deleted)`);
    expect(versions(), 'nothing is written for that').toBe(before);
    world.setNode(node('a'));
    await world.stable(ref, 'a');
    expect(world.reasonOf(ref, DEGRADED)).toBe('AsExpected');
    world.setNode(node('a', { ready: false }));
    await until(
      world,
      ref,
      `no eligible node is free for ${world.statusOf(ref).routedIP}: a (the Node is not Ready), b (the Node is being deleted)`,
    );
  });
});

describe('a pool with an address that no node may hold', () => {
  poolTest('says of each node why, and says so anew when that changes', async ({ open }) => {
    const world = open();
    world.nodes(node('a', { ready: false }), node('b', { labels: { pool: 'other' } }));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    const message = (): string => world.cluster.conditions(ref).find(({ type }) => type === DEGRADED)?.message ?? '';
    await world.clock.runUntil(() => message() === `no eligible node is free for ${A}: a (the Node is not Ready)`, 30 * SECOND);
    world.nodes(node('a', { taints: [{ key: 'gpu', effect: 'NoSchedule' }] }));
    await world.clock.runUntil(() => message().endsWith('a (its taint gpu:NoSchedule is not tolerated)'), 5 * SECOND);
    world.nodes(node('a'));
    await world.untilStates(ref, { [A]: 'active' });
    expect(message()).toBe('nothing is wrong');
  });
});

describe('a pool whose only free node the provider refuses', () => {
  poolTest('says so, with what the provider said and when it is tried again, while it waits', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(FOREIGN, 'a');
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    const told = () => world.cluster.conditions(ref).find(({ type }) => type === DEGRADED);
    await world.clock.runUntil(() => told()?.reason === 'NoEligibleNode', 30 * SECOND);
    expect(told()?.message).toMatch(
      new RegExp(`^no eligible node is free for ${A}: a \\(left alone until \\S+ after a failure: .*${FOREIGN}`),
    );
    world.provider.cloud.moveByHand(FOREIGN, null);
    await world.untilOn(A, 'a', 600 * SECOND);
    await world.clock.runUntil(() => told()?.reason === 'AsExpected', SECOND);
  });
});
