import { expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { VIP_FINALIZER } from '../../../machines/vip/objects.ts';
import { wrongVips } from '../../simulation/domains/vips-end.ts';
import type { WorldOptions } from '../../support/world.ts';
import { SECOND, VipWorld } from '../vip/world.ts';
import type { Scenario } from './scenarios.ts';

/** Something that happens to Services with addresses of IPGroups. */
interface VipScenario extends Pick<Scenario, 'name' | 'withinMs'> {
  readonly vips?: NonNullable<WorldOptions['vips']>;
  readonly before: (world: VipWorld) => ObjectRef;
  readonly ready: ((world: VipWorld, ref: ObjectRef) => boolean) | null;
  readonly begin: (world: VipWorld, ref: ObjectRef) => void;
  readonly isOver: (world: VipWorld, ref: ObjectRef) => boolean;
}

/** Somebody else's, there from the start and there in the end. */
const FOREIGN = '1.1.1.2';

const opened = (vips: WorldOptions['vips']) => (options: WorldOptions | undefined) => {
  const world = new VipWorld({ ...options, vips: { callMs: 10, watchMs: 20, ...vips } });
  world.k8s.setGroup('g', { segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] });
  world.k8s.setIP({ name: FOREIGN });
  return world;
};

const expectRight = (world: VipWorld): void => {
  expect(wrongVips({ services: world.k8s.services(), ips: world.k8s.ips(), groups: world.k8s.groups() })).toEqual([]);
  expect(world.reserved()[FOREIGN]).toBe('');
  expect(world.rules.violations).toEqual([]);
};

const scenario = (given: VipScenario): Scenario => {
  const { name, withinMs, vips, ready } = given;
  return {
    name,
    withinMs,
    sends: null,
    holders: {},
    open: opened(vips),
    before: (world) => given.before(world as VipWorld),
    ready: ready && ((world, ref) => ready(world as VipWorld, ref)),
    begin: (world, ref) => given.begin(world as VipWorld, ref),
    isOver: (world, ref) => given.isOver(world as VipWorld, ref),
    expectEnd: (world) => expectRight(world as VipWorld),
    afterwards: (world) => endAll(world as VipWorld),
  };
};

/** Whoever led last knows all that is reserved: when every Service is deleted, only what is somebody else's is left. */
async function endAll(world: VipWorld): Promise<void> {
  for (const { ref } of world.k8s.services()) world.k8s.deleteService(ref);
  await world.clock.runUntil(() => world.k8s.services().length === 0, 60 * SECOND);
  await world.clock.advance(SECOND);
  expectRight(world);
  expect(Object.keys(world.reserved())).toEqual([FOREIGN]);
}

/** `web` lists exactly this, which is reserved for it, and nothing else is. */
const has = (world: VipWorld, address: string, name = 'web'): boolean => {
  const held = Object.entries(world.reserved()).filter(([, owner]) => owner === `default/${name}`);
  return world.listed(name).join() === address && held.map(([each]) => each).join() === address;
};
const isLetGo = (world: VipWorld): boolean =>
  world.finalizers('web').length === 0 && world.listed('web').length === 0 && Object.keys(world.reserved()).length === 1;

const web = (world: VipWorld): ObjectRef => world.k8s.setService({ name: 'web' });
const hasFirst = (world: VipWorld): boolean => has(world, '1.1.1.1');

const theirs = (world: VipWorld): ObjectRef => {
  const ref = web(world);
  world.k8s.setIngress(ref, [{ ip: '203.0.113.80' }]);
  return ref;
};
const isContended = (world: VipWorld): boolean => world.k8s.service('default', 'web')?.contended !== undefined;

export const VIP_SCENARIOS: readonly Scenario[] = [
  {
    name: 'a Service gets an address',
    withinMs: 30 * SECOND,
    before: web,
    ready: null,
    begin: () => {},
    isOver: hasFirst,
  },
  {
    name: 'a Service asks for another address',
    withinMs: 30 * SECOND,
    before: web,
    ready: hasFirst,
    begin: (world: VipWorld) => void world.k8s.setService({ name: 'web', loadBalancerIP: '1.1.1.5' }),
    isOver: (world: VipWorld) => has(world, '1.1.1.5'),
  },
  {
    name: 'a Service is deleted',
    withinMs: 30 * SECOND,
    before: web,
    ready: hasFirst,
    begin: (world: VipWorld, ref: ObjectRef) => world.k8s.deleteService(ref),
    isOver: isLetGo,
  },
  ...[true, false].map((wipesIngress) => ({
    name: `a Service leaves type LoadBalancer, and the API server ${wipesIngress ? 'wipes' : 'keeps'} its status`,
    withinMs: 30 * SECOND,
    vips: { wipesIngress },
    before: web,
    ready: hasFirst,
    begin: (world: VipWorld) => void world.k8s.setService({ name: 'web', type: 'ClusterIP' }),
    isOver: isLetGo,
  })),
  {
    name: 'an IP has lost its Service',
    withinMs: 200 * SECOND,
    before: (world: VipWorld) => {
      world.k8s.setIP({ name: '1.1.1.4', owner: { namespace: 'default', name: 'web', uid: 'uid-of-before' } });
      return world.k8s.setService({ name: 'other' });
    },
    ready: null,
    begin: () => {},
    isOver: (world: VipWorld) => has(world, '1.1.1.1', 'other') && world.reserved()['1.1.1.4'] === undefined,
  },
  {
    name: 'a Service is deleted, and another one waits for its address',
    withinMs: 30 * SECOND,
    before: (world: VipWorld) => {
      world.k8s.setGroup('g', { segment: '1.1.1.1/32', excludedIPs: [] });
      const ref = web(world);
      world.k8s.setService({ name: 'web-next', loadBalancerIP: '1.1.1.1' });
      return ref;
    },
    ready: hasFirst,
    begin: (world: VipWorld, ref: ObjectRef) => world.k8s.deleteService(ref),
    isOver: (world: VipWorld) => world.k8s.service('default', 'web') === null && has(world, '1.1.1.1', 'web-next'),
  },
  {
    name: 'a Service is left to somebody else',
    withinMs: 30 * SECOND,
    before: (world: VipWorld) => {
      const ref = theirs(world);
      // As the allocator of before guarded such.
      world.k8s.setFinalizers(ref, [VIP_FINALIZER]);
      return ref;
    },
    ready: null,
    begin: () => {},
    isOver: (world: VipWorld) => isContended(world) && world.finalizers('web').length === 0,
  },
  {
    name: 'what somebody else wrote goes, and the Service is served',
    withinMs: 30 * SECOND,
    before: theirs,
    ready: isContended,
    begin: (world: VipWorld, ref: ObjectRef) => world.k8s.setIngress(ref, []),
    isOver: (world: VipWorld) => hasFirst(world) && !isContended(world),
  },
].map(scenario);
