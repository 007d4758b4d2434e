import { expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import type { WorldOptions } from '../../support/world.ts';
import { ADDRESS, CLONE, MigrationWorld, STAGES } from '../migration/world.ts';
import { SECOND } from '../vip/world.ts';
import type { Scenario } from './scenarios.ts';

const opened = (options: WorldOptions | undefined) => new MigrationWorld({ ...options });
const worldOf = (world: unknown): MigrationWorld => world as MigrationWorld;

/** Each state that was shown, in order: no stage twice, none after a later one. */
const statesShown = (world: MigrationWorld): readonly string[] =>
  world.shown
    .map((line) => line.slice(0, line.lastIndexOf(': ')))
    .filter((state, index, all) => STAGES.includes(state) && state !== all[index - 1]);

const isMigrated = (world: MigrationWorld): boolean =>
  world.vip?.status.state === 'Migrated' &&
  world.vip.finalizers.length === 0 &&
  world.externals().length === 0 &&
  world.listed('web').join() === ADDRESS &&
  world.finalizers('web').length === 1;

const migrated: Scenario = {
  name: 'a VirtualIP is migrated, and deleted afterwards',
  withinMs: 60 * SECOND,
  sends: null,
  holders: {},
  open: opened,
  before: (world): ObjectRef => worldOf(world).legacy.set({ name: 'vip', service: 'web' }),
  ready: (world) => worldOf(world).vip?.status.state === 'Valid',
  begin: (world) => {
    worldOf(world).legacy.annotate('vip');
  },
  isOver: (world) => isMigrated(worldOf(world)),
  expectEnd: (given) => {
    const world = worldOf(given);
    expect(world.wrongs).toEqual([]);
    expect(world.rules.violations).toEqual([]);
    expect(statesShown(world)).toEqual(STAGES);
    expect(world.shown.at(-1)).toBe('Migrated: VirtualIP has been migrated');
    expect(world.reserved()).toEqual({ [ADDRESS]: 'default/web' });
    expect(world.marks()).toEqual({});
    expect(world.k8s.service('default', 'web')).toMatchObject({ type: 'LoadBalancer', loadBalancerIP: '' });
  },
  afterwards: async (given) => {
    const world = worldOf(given);
    world.legacy.remove('vip');
    await world.untilVirtualIPGone();
    await world.clock.advance(200 * SECOND);
    expect(world.reserved()).toEqual({ [ADDRESS]: 'default/web' });
    expect(world.listed('web')).toEqual([ADDRESS]);
    expect(world.wrongs).toEqual([]);
  },
};

export const MIGRATION_SCENARIOS: readonly Scenario[] = [migrated];

export const DELETION_SCENARIOS: readonly Scenario[] = [
  {
    name: 'a VirtualIP that serves is deleted',
    withinMs: 60 * SECOND,
    sends: null,
    holders: {},
    open: opened,
    before: (world): ObjectRef => worldOf(world).legacy.set({ name: 'vip', service: 'web' }),
    ready: (world) => worldOf(world).vip?.status.state === 'Valid',
    begin: (given) => {
      const world = worldOf(given);
      world.isServing = false;
      world.legacy.remove('vip');
    },
    isOver: (world) => worldOf(world).vip === null,
    expectEnd: (given) => {
      const world = worldOf(given);
      expect([world.reserved(), world.k8s.service('default', CLONE), world.marks()]).toEqual([{}, null, {}]);
      expect([world.rules.violations, world.listed('web')]).toEqual([[], []]);
    },
  },
];
