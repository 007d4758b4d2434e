import { expect } from 'vitest';
import { jobBodies } from '../../../actors/jobs/registry.ts';
import { type Address, UNASSIGNED } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, SECOND } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;

test('a worker of the former version, which knows no job of that name, does not keep an address on its node for long', async ({ open }) => {
  const world = open();
  world.setNode(...['a', 'b'].map((name, index) => node(name, { createdAt: index })));
  world.address(A);
  const ref = world.pool('ingress', { ips: [A] });
  await world.start();
  await world.clock.runUntil(() => world.reasonOf(ref) === 'AllActive', MINUTE);
  const bodies = jobBodies as { unassign?: unknown };
  const { unassign } = bodies;
  delete bodies.unassign;
  try {
    world.invariants.unwanted.add(A);
    world.cluster.annotate(ref, { [UNASSIGNED]: A });
    await world.clock.advance(5 * SECOND);
  } finally {
    bodies.unassign = unassign;
  }
  const after = await world.clock.runUntil(() => world.holderOf(A) === null, 10 * MINUTE);
  expect(after).toBeLessThan(MINUTE);
});
