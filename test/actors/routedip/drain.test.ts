import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, SECOND } from './world.ts';

const A = '203.0.113.7';
/** Of somebody else. */
const FOREIGN = '198.51.100.1';
const UNSCHEDULABLE = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

describe('an address on a cordoned node', () => {
  test('and that the provider refuses on the other one says so until it has left, and names that in nodeErrors', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(node('a', { createdAt: 2 }), node('b', { createdAt: 1 }));
    world.address(A);
    world.address(FOREIGN, 'b');
    world.setWeb('shop', ['a', 'b']);
    await world.leader();
    const ref = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(ref, 'a');
    const before = world.provider.writes().length;
    world.setNode(node('a', { createdAt: 2, unschedulable: true, taints: [UNSCHEDULABLE] }));
    await world.untilReason(ref, 'NodeInUse', 'Degraded');
    expect(world.messageOf(ref, 'Degraded')).toContain(`${A} is to leave a, but b did not take it: `);
    await world.untilReason(ref, 'Assigned', 'Ready', SECOND);
    expect(world.statusOf(ref).nodeErrors).toEqual(['b']);
    expect(world.eventsOf(ref).filter((reason) => reason === 'NodeInUse')).toHaveLength(1);
    // One try, and the node let in and out again: the address serves meanwhile.
    await world.clock.advance(45 * SECOND);
    const verbs = world.provider.writes().map(({ verb }) => verb);
    const count = (verb: string): number => verbs.slice(before).filter((each) => each === verb).length;
    expect([count('assignRoutedIP'), count('addRoutedIPFirewallNode'), count('deleteRoutedIPFirewallNode')]).toEqual([1, 1, 1]);
    await world.clock.advance(10 * MINUTE);
    expect([world.reasonOf(ref, 'Degraded'), world.holderOf(A)]).toEqual(['NodeInUse', 'a']);
    world.provider.cloud.moveByHand(FOREIGN as Address, null);
    await world.stable(ref, 'b', 10 * MINUTE);
    await world.untilReason(ref, 'AsExpected', 'Degraded');
    expect(world.statusOf(ref)).not.toHaveProperty('nodeErrors');
  });
});
