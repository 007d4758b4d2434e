import { expect } from 'vitest';
import { SECOND } from '../vip/world.ts';
import { ADDRESS, CLONE, MigrationWorld } from './world.ts';

export const MIGRATED = 'VirtualIP has been migrated';

export const opened = async (options: ConstructorParameters<typeof MigrationWorld>[0] = {}) => {
  const world = new MigrationWorld(options);
  await world.start();
  return world;
};

/** `vip` is Valid, and whether it asks for its address. */
export const served = async ({ ip = '', ...options }: ConstructorParameters<typeof MigrationWorld>[0] & { readonly ip?: string } = {}) => {
  const world = await opened(options);
  await world.valid({ ip });
  expect(world.externals()).toEqual([ADDRESS]);
  expect(world.reserved()).toEqual({ [ADDRESS]: 'default/vip' });
  return world;
};

export const expectMigrated = (world: MigrationWorld): void => {
  expect(world.vip?.status).toEqual({
    state: 'Migrated',
    message: MIGRATED,
    ip: ADDRESS,
    service: 'web',
    keepalivedGroup: '',
    gsm: '',
    clonedService: '',
  });
  expect(world.vip?.finalizers).toEqual([]);
  expect(world.reserved()[ADDRESS]).toBe('default/web');
  expect([world.listed('web'), world.marks(), world.k8s.service('default', CLONE)]).toEqual([[ADDRESS], {}, null]);
  expect(world.wrongs).toEqual([]);
  expect(world.rules.violations).toEqual([]);
  expect(world.faults()).toEqual([]);
};

/** It cannot go on with this call, until `mend`. */
export const stuckAt = async (
  world: MigrationWorld,
  verb: 'mark' | 'reassociate' | 'letGo' | 'convert' | 'setIngress' | 'settle' | 'deleteClone',
  state: string,
) => {
  const refuse = { kind: 'refuse', error: 'Invalid', message: 'refused' } as const;
  world.k8s.faults.always(verb, refuse);
  world.legacy.annotate('vip');
  await world.untilState(state);
  await world.clock.runUntil(() => world.place() === 'CoolOff', 10 * SECOND);
  return () => world.k8s.faults.clear();
};
