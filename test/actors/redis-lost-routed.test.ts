import { expect } from 'vitest';
import { killAll } from '../support/setups.ts';
import { MINUTE, SECOND } from './away-telling.ts';
import { one, stable } from './routed-crash-scenarios.ts';
import { test } from './routed-test.ts';

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
