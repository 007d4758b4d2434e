import { expect } from 'vitest';
import { killAll } from '../../support/setups.ts';
import { one, stable } from '../crash/routed-scenarios.ts';
import { jobDriven } from '../kubernetes-jobs/world.ts';
import { MINUTE, SECOND } from '../outage/telling.ts';
import { test } from '../routedip/routedip-test.ts';
import { CLASS_NAME } from '../routedip/world.ts';

test("an address that was given back, and is somebody else's by now, is not deleted on the word of records that went back in time", async ({
  open,
}) => {
  const world = open({ away: true });
  const ref = one({ routedIPReclaimPolicy: 'Delete' })(world);
  await world.start();
  await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
  await world.clock.advance(20 * SECOND);
  const before = world.store.checkpoint();
  const [given] = world.provider.cloud.addresses();
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, 3 * MINUTE);
  expect([given?.address.length, world.provider.cloud.addresses()]).toEqual([expect.any(Number), []]);
  killAll(world);
  world.invariants.forget();
  world.store.restart(before);
  world.address(given?.address ?? '', 'theirs');
  const since = world.provider.calls.length;
  await world.start();
  await world.clock.advance(5 * MINUTE);
  expect(world.provider.cloud.addresses().map(({ address }) => address)).toEqual([given?.address]);
  const writes = world.provider.calls.slice(since).filter(({ verb }) => verb === 'deleteRoutedIP');
  expect(writes).toEqual([]);
});

test('an address that a Job was making is found where it was begun, when all records are lost and its RoutedIP names a class of another platform by then', async () => {
  const { world, ref } = await jobDriven();
  world.setClass({ routedIPFirewallName: '' });
  world.jobs.script('create', { kind: 'exit', code: 0, afterMs: 30 * SECOND });
  await world.clock.runUntil(() => world.jobs.actions.includes('create'), 10 * SECOND);
  expect(world.statusOf(ref)).toMatchObject({ pendingCreate: { provider: 'job.http' } });
  killAll(world);
  world.setRoutedIP('shop', { className: CLASS_NAME });
  world.store.wipe();
  world.queues.wipe();
  world.invariants.forget();
  await world.operator();
  await world.clock.runUntil(() => world.statusOf(ref).routedIP !== undefined, 3 * MINUTE);
  expect(world.jobs.platform.holders.has(world.statusOf(ref).routedIP as string)).toBe(true);
  expect(world.jobs.actions.filter((action) => action === 'create')).toHaveLength(1);
  expect(world.provider.calls.filter(({ verb }) => verb === 'createRoutedIP')).toEqual([]);
});

test('a RoutedIP that came to name another address while nobody led says so after all records are lost, and nothing is done for it', async ({
  open,
}) => {
  const world = open();
  const other = '203.0.113.51';
  world.address(other);
  const ref = one()(world);
  await world.start();
  await world.clock.runUntil(() => stable(world, ref, 'young'), MINUTE);
  killAll(world);
  world.store.wipe();
  world.queues.wipe();
  world.invariants.forget();
  const bound = world.statusOf(ref).routedIP;
  world.setRoutedIP('shop', { routedIP: other });
  const since = world.changes().length;
  await world.start();
  await world.clock.advance(5 * MINUTE);
  expect(world.reasonOf(ref)).toBe('InvalidSpec');
  expect(world.messageOf(ref)).toContain(`${bound} is bound`);
  expect(world.changes().slice(since)).toEqual([]);
});
