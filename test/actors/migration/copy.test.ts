import { describe, expect, test } from 'vitest';
import { migrationJobBodies } from '../../../actors/jobs/migration.ts';
import { SECOND } from '../vip/world.ts';
import { expectMigrated, MIGRATED, served, stuckAt } from './acts.ts';
import { ADDRESS, CLONE, type MigrationWorld, STAGES } from './world.ts';

const [PREPARING = '', REASSOCIATING = '', CLEANING_UP = '', CONVERTING = '', ASSIGNING = ''] = STAGES;
/** Longer than any step waits to be tried again. */
const LONG = 300 * SECOND;

/** By hand. */
const dropClone = (world: MigrationWorld): void => {
  const clone = world.k8s.service('default', CLONE);
  if (clone === null) throw new Error('there is no copy');
  world.k8s.deleteService(clone.ref);
};

describe('in a migration', () => {
  test('a copy that somebody has deleted already is no error', async () => {
    const world = await served();
    const mend = await stuckAt(world, 'deleteClone', ASSIGNING);
    dropClone(world);
    mend();
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test.each([
    ['mark', PREPARING],
    ['reassociate', REASSOCIATING],
    ['letGo', CLEANING_UP],
    ['convert', CONVERTING],
    ['setIngress', ASSIGNING],
  ] as const)('a copy that somebody deletes while %s cannot be done is there again, and serves until it can', async (verb, state) => {
    const world = await served();
    const mend = await stuckAt(world, verb, state);
    world.isServing = false;
    dropClone(world);
    await world.clock.runUntil(() => world.externals().includes(ADDRESS), 10 * SECOND);
    expect(world.vip?.status).toMatchObject({ state, message: expect.stringContaining('refused') });
    world.isServing = true;
    mend();
    await world.untilState('Migrated', 'vip', undefined, LONG);
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test('a copy of whose address somebody else has become the owner is not made again', async () => {
    const world = await served();
    await stuckAt(world, 'letGo', CLEANING_UP);
    world.isServing = false;
    world.k8s.setIP({ name: ADDRESS, owner: { namespace: 'default', name: 'other', uid: null } });
    dropClone(world);
    await world.clock.advance(LONG);
    expect([world.externals(), world.place()]).toEqual([[], 'CoolOff']);
  });
});

test.each([
  ['has its address', 'LoadBalancer'],
  ['wants no address any more', 'ClusterIP'],
])('a copy that is created by a request that took its time, after the migration, is removed: its Service %s', async (_, type) => {
  const world = await served();
  // What is sent first creates it 60 s later; the next one at once.
  world.k8s.faults.next('createClone', { kind: 'hang', effectAfterMs: 60 * SECOND });
  world.isServing = false;
  dropClone(world);
  await world.clock.runUntil(() => world.externals().includes(ADDRESS), 30 * SECOND);
  world.isServing = type === 'LoadBalancer';
  world.legacy.annotate('vip');
  await world.untilState('Migrated');
  if (type === 'ClusterIP') world.k8s.setService({ name: 'web', type });
  await world.clock.runUntil(() => world.externals().includes(ADDRESS), 60 * SECOND);
  await world.clock.runUntil(() => world.externals().length === 0, 5 * SECOND);
  await world.clock.advance(5 * SECOND);
  expect([world.vip?.status.state, world.vip?.status.message, world.place()]).toEqual(['Migrated', MIGRATED, 'Migrated']);
  expect([world.externals(), world.wrongs, world.rules.violations, world.faults()]).toEqual([[], [], [], []]);
});

test.each(['claimService', 'reassociateIP', 'handOverIP', 'convertService', 'assignIngress', 'removeClone'] as const)(
  '%s of a migration that is over changes nothing: the Service may want no address any more',
  async (step) => {
    const world = await served();
    world.legacy.annotate('vip');
    await world.untilState('Migrated');
    world.k8s.setService({ name: 'web', type: 'ClusterIP' });
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined && world.finalizers('web').length === 0, LONG);
    const before = [world.k8s.service('default', 'web'), world.vip];
    const input = { vip: world.vip?.ref, service: 'web', address: ADDRESS, clone: CLONE, pinned: false };
    const fence = { read: async () => undefined, assertFresh: () => undefined };
    const body = migrationJobBodies[step] as (context: object) => Promise<{ readonly kind: string }>;
    const done = body({ input, fence, writer: world.legacy.process().writer });
    await world.clock.advance(5 * SECOND);
    expect(await done).toMatchObject({ kind: 'done' });
    expect([world.k8s.service('default', 'web'), world.vip]).toEqual(before);
  },
);

test('a copy that a finalizer of somebody else keeps is not deleted again and again', async () => {
  const world = await served();
  world.legacy.annotate('vip');
  await world.untilState('Migrated');
  await world.clock.advance(60 * SECOND);
  world.isServing = false;
  const owners = [{ kind: 'VirtualIP', name: 'vip', uid: world.vip?.ref.uid ?? '' }];
  const ref = world.k8s.setService({
    name: CLONE,
    type: 'ClusterIP',
    more: { labels: {}, annotations: {}, owners, spec: { externalIPs: [ADDRESS] } },
  });
  world.k8s.setFinalizers(ref, ['example.com/other']);
  const before = world.k8s.writes.length;
  await world.clock.advance(60 * SECOND);
  expect(world.k8s.writes.length - before).toBeLessThan(10);
});
