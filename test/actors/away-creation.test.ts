import { expect } from 'vitest';
import type { Address } from '../../machines/types.ts';
import { ingress } from '../support/setups.ts';
import { test } from '../support/sound.ts';
import type { World } from '../support/world.ts';
import { allActive, creates, ipsOf } from './creation-steps.ts';

const A = '203.0.113.207' as Address;
const SECOND = 1000;

/** Definitions of FLIPOP let no status tell of a creation. */
function pruned(world: World): void {
  const process = world.cluster.process.bind(world.cluster);
  world.cluster.process = () => {
    const writer = process();
    const { project } = writer;
    writer.project = (projection) => {
      const { pendingCreate: _, ...status } = projection.status as Readonly<Record<string, unknown>>;
      project({ ...projection, status: status as typeof projection.status });
    };
    writer.recordIntent = async () => undefined;
    return writer;
  };
}

test('a creation that is under way when Redis goes for the leader alone is not made again by the one that has Redis, whose status does not tell of it', async ({
  open,
}) => {
  const world = open({ away: true });
  pruned(world);
  const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
  const first = await world.start();
  await world.clock.advance(700);
  const second = await world.start();
  await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
  world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 5_000 });
  world.pool('ingress', { ips: [A], desiredIPs: 2 });
  await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
  first.store.cut();
  await world.clock.runUntil(() => second.supervisor.leading, 60 * SECOND);
  expect(world.log.some(({ message }) => message === 'the stored records are out of date, and are rebuilt from what is shown')).toBe(true);
  expect(world.status(ref).pendingCreate).toBeUndefined();
  await world.clock.runUntil(allActive(world, ref, 2), 120 * SECOND);
  await world.clock.advance(60 * SECOND);
  expect([creates(world).length, world.provider.cloud.addresses().length, ipsOf(world, ref).length]).toEqual([1, 2, 2]);
});
