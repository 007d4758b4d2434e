import { describe, expect, test } from 'vitest';
import { runVipJob } from '../../../actors/jobs/vip-queue.ts';
import { VirtualIPNotFound } from '../../../actors/ports/errors.ts';
import type { MigrationJobName } from '../../../machines/migration/jobs.ts';
import { SECOND } from '../vip/world.ts';
import { expectMigrated, served } from './acts.ts';
import { ADDRESS, CLONE, STAGES } from './world.ts';

const STEPS: readonly MigrationJobName[] = [
  'claimService',
  'reassociateIP',
  'handOverIP',
  'convertService',
  'assignIngress',
  'removeClone',
];

describe('while VirtualIPs are not served', () => {
  test.each(STEPS)('%s of a migration does nothing, since its stage cannot be shown', async (step) => {
    const world = await served();
    world.legacy.annotate('vip');
    world.legacy.serve(false);
    const before = [world.k8s.service('default', 'web'), world.vip, world.k8s.ips()];
    const input = { vip: world.vip?.ref, service: 'web', address: ADDRESS, clone: CLONE, pinned: false } as never;
    const fence = { read: async () => undefined, assertFresh: () => undefined };
    const means = { vips: world.k8s.process(), virtualIPs: world.legacy.process() };
    const failed = runVipJob(step, { input, fence }, means).catch((error: unknown) => error);
    await world.clock.advance(SECOND);
    expect(await failed).toBeInstanceOf(VirtualIPNotFound);
    expect([world.k8s.service('default', 'web'), world.vip, world.k8s.ips()]).toEqual(before);
  });

  test('a migration waits, whenever in it that begins, and goes on as soon as they are', async () => {
    for (const [each, state] of STAGES.entries()) {
      const world = await served();
      world.legacy.annotate('vip');
      await world.untilState(state);
      world.legacy.serve(false);
      await world.clock.advance(200 * SECOND + each);
      expect(world.vip?.status.state).toBe(state);
      world.legacy.serve(true);
      await world.untilState('Migrated', 'vip', undefined, 5 * SECOND);
      await world.clock.advance(5 * SECOND);
      expectMigrated(world);
    }
  });

  test('a copy that could not be kept like its Service is made so as soon as they are, and nothing is wrong any more', async () => {
    const world = await served();
    world.legacy.serve(false);
    world.k8s.setService({ name: 'web', more: { ...world.k8s.service('default', 'web')?.more, labels: { app: 'other' } } });
    world.legacy.serve(true);
    world.legacy.serve(false);
    await world.clock.advance(200 * SECOND);
    expect(world.place()).toBe('CoolOff');
    world.legacy.serve(true);
    await world.clock.runUntil(() => world.place() === 'Valid', 5 * SECOND);
    await world.clock.advance(SECOND);
    expect([world.vip?.status.state, world.k8s.service('default', CLONE)?.more?.labels]).toEqual(['Valid', { app: 'other' }]);
  });
});
