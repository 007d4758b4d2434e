import { describe, expect, test } from 'vitest';
import { vipJobBodies } from '../../../actors/jobs/vip.ts';
import { ObservedVips } from '../../../actors/vip/object-cache.ts';
import { VipDesk } from '../../../actors/vip/service-allocation.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import { vipActor, virtualIPActor } from '../../../machines/model/actor-id.ts';
import type { ServiceObserved } from '../../../machines/vip/decisions.ts';
import { CLONE_FINALIZER, IP_FINALIZER, MIGRATING_ANNOTATION } from '../../../machines/vip/virtualip.ts';
import { SECOND } from '../vip/world.ts';
import { ADDRESS, MigrationWorld, SEGMENT, STAGES } from './world.ts';

/** Longer than any doubt lasts: what would be freed as forgotten is gone by then. */
const LONG = 600 * SECOND;
const [, , CLEANING_UP = '', CONVERTING = '', ASSIGNING = ''] = STAGES;

const fence = { read: async () => {}, assertFresh: () => {} };
const REFUSE = { kind: 'refuse', error: 'Invalid', message: 'refused' } as const;

const opened = async () => {
  const world = new MigrationWorld();
  await world.start();
  return world;
};

const OF_WEB = { namespace: 'default', name: 'web', uid: null };

/** The IP as it is in the middle of a migration: of a Service that wants none yet. */
const half = (world: MigrationWorld): void => {
  world.k8s.setIP({ name: ADDRESS, owner: OF_WEB, group: 'ipgroup-2' });
};

const marked = (world: MigrationWorld, name: string): void => {
  world.k8s.setService({ name: 'web', type: 'ClusterIP', more: { annotations: { [MIGRATING_ANNOTATION]: name } } });
};

/** Nobody can do the next step, as in a long outage. */
const stuck = (world: MigrationWorld): void => {
  for (const verb of ['reserve', 'letGo', 'convert', 'createClone'] as const) world.k8s.faults.always(verb, REFUSE);
};

describe('the sweep of forgotten IPs', () => {
  test('frees one whose Service wants none, and that no VirtualIP is migrated to', async () => {
    const world = await opened();
    half(world);
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });

  test('frees one whose Service names a VirtualIP that is not there any more', async () => {
    const world = await opened();
    marked(world, 'vanished');
    half(world);
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });

  test('frees one of a VirtualIP that is gone, whoever reserved it so late, and none while nobody knows which there are', async () => {
    const world = await opened();
    world.legacy.serve(false);
    world.k8s.setIP({ name: ADDRESS, owner: { ...OF_WEB, name: 'vanished' }, legacy: true });
    await world.clock.advance(LONG);
    expect(world.reserved()[ADDRESS]).toBe('default/vanished');
    world.legacy.serve(true);
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });

  test('frees one of a VirtualIP that has another address by now', async () => {
    const world = await opened();
    await world.valid();
    world.k8s.setIP({ name: '1.1.2.4', owner: { ...OF_WEB, name: 'vip' }, legacy: true });
    await world.clock.runUntil(() => world.reserved()['1.1.2.4'] === undefined, LONG);
    expect([world.vip?.status.state, world.reserved()]).toEqual(['Valid', { [ADDRESS]: 'default/vip' }]);
  });

  test('spares one of a VirtualIP that comes while it is in doubt', async () => {
    const world = await opened();
    world.k8s.setIP({ name: ADDRESS, owner: { ...OF_WEB, name: 'vip' }, legacy: true });
    await world.clock.advance(30 * SECOND);
    world.legacy.set({ name: 'vip', service: 'web' });
    await world.untilState('Valid');
    await world.clock.advance(LONG);
    expect([world.vip?.status.ip, world.reserved()]).toEqual([ADDRESS, { [ADDRESS]: 'default/vip' }]);
  });

  test('spares one whose Service names a VirtualIP that is there, and has no other address', async () => {
    const world = await opened();
    stuck(world);
    world.legacy.set({ name: 'vip', service: 'web', finalizers: [IP_FINALIZER, CLONE_FINALIZER] });
    marked(world, 'vip');
    half(world);
    await world.clock.advance(LONG);
    expect(world.reserved()[ADDRESS]).toBe('default/web');
    // It was in doubt all the time.
    expect(world.state('web')).toMatch(/^Releasing/);
    world.k8s.faults.clear();
    await world.untilState('Valid', 'vip', undefined, LONG);
    expect(world.vip?.status.ip).toBe('1.1.2.3');
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });

  test('spares one that a VirtualIP names, when the allocator before has marked no Service', async () => {
    const world = await opened();
    stuck(world);
    half(world);
    const status = { state: CLEANING_UP, ip: ADDRESS, service: 'web' };
    world.legacy.set({ name: 'vip', service: 'web', finalizers: [IP_FINALIZER, CLONE_FINALIZER], status });
    await world.clock.advance(LONG);
    expect([world.reserved()[ADDRESS], world.marks()]).toEqual(['default/web', {}]);
    // Nobody looks for the Service, and nothing is asked for that could free it.
    expect(world.state('web')).toBeNull();
    world.k8s.faults.clear();
    await world.untilState('Migrated', 'vip', undefined, LONG);
    expect(world.listed('web')).toEqual([ADDRESS]);
  });

  test('frees one that only a VirtualIP names which has been migrated long ago', async () => {
    const world = await opened();
    half(world);
    world.legacy.set({ name: 'vip', service: 'web', status: { state: 'Migrated', ip: ADDRESS, service: 'web' } });
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });

  test('frees nothing while it cannot be known which VirtualIPs there are', async () => {
    const world = await opened();
    half(world);
    world.k8s.faults.always('virtualIPs', { kind: 'noConnection' });
    await world.clock.advance(LONG);
    expect(world.reserved()[ADDRESS]).toBe('default/web');
    world.k8s.faults.clear();
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });

  test('goes by the marks of Services where VirtualIPs may not be looked at', async () => {
    const world = await opened();
    world.k8s.faults.always('virtualIPs', { kind: 'refuse', error: 'Unauthorized' });
    marked(world, 'vip');
    half(world);
    await world.clock.advance(LONG);
    expect(world.reserved()[ADDRESS]).toBe('default/web');
    world.k8s.setService({ name: 'web', more: {} });
    await world.clock.runUntil(() => world.reserved()[ADDRESS] === undefined, LONG);
  });
});

describe('in the middle of a migration the address', () => {
  const converted = async () => {
    const world = await opened();
    await world.valid();
    world.k8s.faults.always('settle', REFUSE);
    world.legacy.annotate('vip');
    await world.untilState(ASSIGNING);
    // The migration has published the address, and cannot go on.
    await world.untilListed({ web: ADDRESS });
    return world;
  };

  test('stays reserved when its Service leaves type LoadBalancer again, and it goes on when that is taken back', async () => {
    const world = await converted();
    world.k8s.setService({ name: 'web', type: 'ClusterIP' });
    await world.clock.runUntil(() => world.finalizers('web').length === 0, 30 * SECOND);
    world.k8s.faults.clear();
    await world.clock.advance(LONG);
    expect(world.reserved()).toEqual({ [ADDRESS]: 'default/web' });
    expect(world.vip?.status).toMatchObject({
      state: ASSIGNING,
      message: 'could not set service ingress IP in status: the service is of type LoadBalancer no more',
    });
    expect(world.externals()).toEqual([ADDRESS]);
    world.k8s.setService({ name: 'web', type: 'LoadBalancer' });
    await world.untilState('Migrated', 'vip', undefined, LONG);
    await world.clock.advance(5 * SECOND);
    expect([world.listed('web'), world.wrongs]).toEqual([[ADDRESS], []]);
  });

  test.each(['1.1.2.3', ''])('stays the only one of its Service when that asks for another, or for any: %j', async (loadBalancerIP) => {
    const world = await converted();
    world.k8s.setService({ name: 'web', loadBalancerIP });
    await world.clock.advance(LONG);
    expect([world.reserved(), world.listed('web')]).toEqual([{ [ADDRESS]: 'default/web' }, [ADDRESS]]);
    expect([world.externals(), world.wrongs]).toEqual([[ADDRESS], []]);
  });

  test.each(STAGES)('is given to no other Service while it is %s, whether any is asked for or this one', async (state) => {
    const world = await opened();
    await world.valid();
    // All others are taken.
    for (const name of ['1.1.2.3', '1.1.2.4', '1.1.2.6']) world.k8s.setIP({ name, owner: null });
    const verb = ({ [CLEANING_UP]: 'letGo', [CONVERTING]: 'convert', [ASSIGNING]: 'settle' } as const)[state] ?? 'reassociate';
    world.k8s.faults.always(state === STAGES[0] ? 'mark' : verb, REFUSE);
    world.legacy.annotate('vip');
    await world.untilState(state);
    world.k8s.setService({ name: 'any' });
    world.k8s.setService({ name: 'this', loadBalancerIP: ADDRESS });
    await world.clock.advance(LONG);
    expect([world.listed('any'), world.listed('this'), world.vip?.status.state]).toEqual([[], [], state]);
    expect(world.told('any')).toEqual(['PoolExhausted: no IP could be allocated']);
    expect(world.told('this')).toEqual(['RequestedIPUnavailable: failed to allocate specific ip: the requested ip is not available']);
    world.k8s.faults.clear();
    await world.untilState('Migrated', 'vip', undefined, LONG);
    await world.clock.advance(LONG);
    expect([world.listed('any'), world.listed('this'), world.listed('web'), world.wrongs]).toEqual([[], [], [ADDRESS], []]);
  });
});

describe('a Service that a VirtualIP is migrated to', () => {
  /** As one process sees it: the Service and the VirtualIP as they are, the IP as it was. */
  const behind = ({
    lists,
    migrating,
    names = 'web',
    synced = true,
  }: {
    readonly lists: boolean;
    readonly migrating?: string;
    readonly names?: string;
    /** VirtualIPs are seen. */
    readonly synced?: boolean;
  }) => {
    const seen = new ObservedVips();
    const told: ServiceObserved[] = [];
    const begun = new Map<string, never>();
    const cells = {
      all: begun,
      begin: (_chart: string, id: string) => void begun.set(id, undefined as never),
      tell: (_to: string, fact: object) => void told.push(fact as ServiceObserved),
      recordsOf: () => null,
      isOpen: true,
    };
    const ref = { kind: 'Service', namespace: 'default', name: 'web', uid: 'uid-web' };
    const key = vipActor(ref);
    const asked = { requestedIP: null, pinnedGroup: null, family: 4 as const, loadBalancerIP: '' };
    const flags = { createdAt: 0, wanting: true, deleting: false, guarded: false };
    const ingress = lists ? [{ ip: ADDRESS }] : [];
    const cluster = memoryVipCluster({ clock: virtualClock() });
    seen.putIp(cluster.setIP({ name: ADDRESS, owner: { namespace: 'default', name: 'vip', uid: null }, legacy: true }));
    seen.putService(key, { ref, ...flags, ...asked, ingress, ...(migrating !== undefined && { migrating }) });
    seen.groups.set('g', {
      ref: { kind: 'IPGroup', namespace: '', name: 'g', uid: 'g' },
      generation: 1,
      deleting: false,
      spec: SEGMENT,
      status: null,
    });
    cluster.virtualIPs.set({ name: 'vip', service: names, status: { state: ASSIGNING, ip: ADDRESS, service: names } });
    if (synced) for (const vip of cluster.virtualIPs.all()) seen.virtualIPs.set(virtualIPActor(vip.ref), vip);
    seen.virtualIPsSynced = synced;
    seen.synced = true;
    const desk = new VipDesk({ seen, cells, virtualIPs: null, routedIP: () => undefined, announcer: { stands: () => undefined } });
    desk.open();
    return { seen, desk, told, key };
  };
  const LEFT_ALONE = { target: null, refusal: null, usurps: false };

  test('is told nothing of another address while the IP that it lists is seen as the VirtualIP’s still', () => {
    const { told, seen, desk } = behind({ lists: true });
    expect(told).toMatchObject([LEFT_ALONE]);
    const before = seen.ips.get(ADDRESS) ?? null;
    const after = {
      name: ADDRESS,
      uid: before?.uid ?? '',
      address: before?.address ?? ('' as never),
      owner: OF_WEB,
      group: 'g',
      legacy: false,
    };
    seen.putIp(after);
    desk.ipChanged(before, after);
    expect(told.at(-1)).toMatchObject({ target: { address: ADDRESS, group: 'g' }, refusal: null, usurps: false });
  });

  test('is offered none while it names the VirtualIP', () => {
    expect(behind({ lists: false, migrating: 'vip' }).told).toMatchObject([LEFT_ALONE]);
  });

  test('is served as any other when it names one that is not there, or lists the address of a VirtualIP of another Service', () => {
    const other = { target: { address: '1.1.2.3', group: 'g' } };
    expect(behind({ lists: false, migrating: 'vanished' }).told.at(-1)).toMatchObject(other);
    expect(behind({ lists: true, names: 'other' }).told.at(-1)).toMatchObject({ ...other, usurps: true });
  });

  test('is believed while VirtualIPs are not seen, and told so', () => {
    const { told, seen, desk } = behind({ lists: false, migrating: 'vanished', synced: false });
    const message = expect.stringContaining(`take the annotation ${MIGRATING_ANNOTATION} off`);
    expect(told).toMatchObject([{ ...LEFT_ALONE, refusal: { reason: 'AllocationFailed', message } }]);
    seen.virtualIPsSynced = true;
    desk.virtualIPsSeen();
    expect(told).toContainEqual(expect.objectContaining({ target: { address: '1.1.2.3', group: 'g' }, refusal: null }));
  });

  test('is served where none are seen, once its mark is taken off', () => {
    const { told, seen, desk, key } = behind({ lists: false, migrating: 'vanished', synced: false });
    const { migrating: _, ...service } = seen.services.get(key) ?? ({} as never);
    seen.putService(key, service);
    desk.serviceChanged(key);
    expect(told.at(-1)).toMatchObject({ target: { address: '1.1.2.3', group: 'g' }, refusal: null });
  });

  test('keeps the address that it lists when that is its own by now, whatever was seen when it was to be taken off', async () => {
    const cluster = memoryVipCluster({ clock: virtualClock() });
    const ref = cluster.setService({ name: 'web' });
    cluster.setIngress(ref, [{ ip: ADDRESS }]);
    const vips = cluster.process();
    const input = { provider: 'vip', service: ref, address: null, seen: ADDRESS };
    const publish = () => vipJobBodies.publishVip({ input, vips, fence, virtualIPs: cluster.virtualIPs.process() });
    cluster.setIP({ name: ADDRESS, owner: OF_WEB, group: 'g' });
    await expect(publish()).rejects.toMatchObject({ kind: 'Conflict' });
    expect(cluster.service('default', 'web')?.ingress).toEqual([{ ip: ADDRESS }]);
    cluster.setIP({ name: ADDRESS, owner: { ...OF_WEB, name: 'other' }, group: 'g' });
    expect(await publish()).toMatchObject({ output: { changed: true } });
  });
});
