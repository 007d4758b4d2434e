import { expect, test } from 'vitest';
import { Guards } from '../../actors/guards.ts';
import type { ClusterWriter, PoolObject } from '../../actors/ports/cluster.ts';
import { virtualClock } from '../../adapters/memory/clock.ts';

const routedIP = (uid: string): PoolObject => ({
  ref: { kind: 'RoutedIP', namespace: 'web', name: 'shop', uid },
  generation: 1,
  createdAt: 0,
  deleting: false,
  spec: {},
  status: {},
});

test('a RoutedIP that is made again while the former one of its name is being guarded is guarded, too', async () => {
  const clock = virtualClock();
  const guarded: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const guard: ClusterWriter['guard'] = async ({ uid }) => {
    guarded.push(uid);
    await hanging.promise;
  };
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const guards = new Guards({ writer: { guard } as ClusterWriter, clock, log, isLeading: () => true });
  guards.see(routedIP('former'));
  guards.see(routedIP('former'));
  guards.see(routedIP('again'));
  await clock.settle();
  expect(guarded).toEqual(['former']);
  hanging.resolve();
  await clock.settle();
  expect(guarded).toEqual(['former', 'again']);
  guards.see(routedIP('again'));
  await clock.settle();
  expect(guarded).toEqual(['former', 'again', 'again']);
});
