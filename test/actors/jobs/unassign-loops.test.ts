import { describe, expect, test } from 'vitest';
import type { Chart, Charts } from '../../../actors/runtime/charts.ts';
import { type Address, UNASSIGNED } from '../../../machines/model/types.ts';
import { PAUSED } from '../../../machines/pool/annotations.ts';
import { node, providerIDOf } from '../../support/world.ts';
import { MINUTE, RoutedWorld, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const MOST = 20_000;

/** Charts of which the one of addresses ends a turn that goes round and round: it would else never come back. */
const bounded = (charts: Charts): Charts => {
  const { machine, ...ip } = charts.ip as Chart;
  let steps = 0;
  const counting = {
    ...ip,
    get machine() {
      steps += 1;
      if (steps > MOST) throw new Error(`the address heard ${MOST} events`);
      return machine;
    },
  } as Chart;
  return { ...charts, ip: counting };
};

describe('a parked address', () => {
  test.each([
    ['that was put on a node of its pool, whose annotation is replaced by a pause', { [PAUSED]: 'true' }],
    ['without what goes wrong: the same, without a pause', {}],
    ['without what goes wrong: the same, with both annotations', { [PAUSED]: 'true', [UNASSIGNED]: A }],
  ])('%s: no turn goes round and round', async (_, marks) => {
    const world = new RoutedWorld({ spoil: bounded });
    world.setNode(...['a', 'b'].map((name, index) => node(name, { createdAt: index })));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.clock.runUntil(() => world.reasonOf(ref) === 'AllActive', MINUTE);
    world.invariants.unwanted.add(A);
    world.cluster.annotate(ref, { [UNASSIGNED]: A });
    await world.clock.runUntil(() => world.holderOf(A) === null, 5 * SECOND);
    world.provider.cloud.moveByHand(A, providerIDOf('b'));
    await world.clock.advance(10 * MINUTE);
    world.cluster.annotate(ref, marks);
    await world.clock.advance(MINUTE);
    expect(world.holderOf(A)).toBe('b');
    expect(world.faults()).toEqual([]);
  });

  test('that was never its own, whose annotation is replaced by a pause: nobody needs rights at the provider for that', async () => {
    const world = new RoutedWorld({ spoil: bounded });
    world.setNode(...['a', 'b'].map((name, index) => node(name, { createdAt: index })));
    world.address(A, 'b');
    const ref = world.pool('ingress', { ips: [A] });
    world.cluster.annotate(ref, { [UNASSIGNED]: A });
    await world.start();
    await world.clock.advance(MINUTE);
    world.cluster.annotate(ref, { [PAUSED]: 'true' });
    await world.clock.advance(MINUTE);
    expect(world.faults()).toEqual([]);
  });

  test('of a RoutedIP: whoever may write one in his own namespace, and names an address that stands on a node', async () => {
    const world = new RoutedWorld({ spoil: bounded });
    world.setClass();
    world.setNode(...['a', 'b'].map((name, index) => node(name, { createdAt: index })));
    world.address(A, 'b');
    world.setWeb('shop', ['a', 'b']);
    const ref = world.setRoutedIP('shop', { routedIP: A });
    world.cluster.annotate(ref, { [UNASSIGNED]: 'true' });
    await world.start();
    await world.clock.advance(MINUTE);
    world.cluster.annotate(ref, { [PAUSED]: 'true' });
    await world.clock.advance(MINUTE);
    expect(world.faults()).toEqual([]);
  });
});
