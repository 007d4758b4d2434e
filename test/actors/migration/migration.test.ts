import { describe, expect, test } from 'vitest';
import { admitVirtualIP } from '../../../machines/migration/admission.ts';
import type { VirtualIP } from '../../../machines/vip/virtualip.ts';
import { SECOND } from '../vip/world.ts';
import { expectMigrated, MIGRATED, opened, served, stuckAt } from './acts.ts';
import { ADDRESS, CLONE, MigrationWorld, STAGES } from './world.ts';

const LOAD_BALANCER = 'service is already of type LoadBalancer, change service type to proceed with migration';
const MIGRATING = 'VirtualIP is being migrated';
const NO_GROUP = `could not get IPGroup object of IP: IPGroup not found for ${ADDRESS}`;
const [PREPARING = '', REASSOCIATING = '', CLEANING_UP = '', CONVERTING = '', ASSIGNING = ''] = STAGES;
/** Longer than any doubt lasts: what would be freed as forgotten is gone by then. */
const LONG = 300 * SECOND;

/** The VirtualIP as the API server shows it to admission. */
const objectOf = ({ service, ip, asked, status }: VirtualIP) => ({
  metadata: { annotations: asked ? { 'virtualips.paas.org/migrate': '' } : {} },
  spec: { service, ip },
  status,
});

const asked = (vip: VirtualIP, change: Partial<VirtualIP>) =>
  admitVirtualIP({ operation: 'UPDATE', user: 'somebody', object: objectOf({ ...vip, ...change }), oldObject: objectOf(vip) });
const present = (world: MigrationWorld): VirtualIP => {
  if (world.vip === null) throw new Error('there is no VirtualIP');
  return world.vip;
};

describe('a migration', () => {
  test('shows every state with its message, in order, and tells of each', async () => {
    const world = await served();
    world.shown.length = 0;
    world.legacy.annotate('vip');
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
    // What else is written with a state may come after it.
    expect([...new Set(world.shown)].slice(-6)).toEqual([...STAGES.map((state) => `${state}: ${MIGRATING}`), `Migrated: ${MIGRATED}`]);
    expect(world.told('vip')).toEqual([...STAGES.map((state) => `MigrationStage: ${state}`), `Migrated: ${MIGRATED}`]);
  });

  test('shows what somebody has written over its status again', async () => {
    const world = await served();
    world.legacy.set({ name: 'vip', service: 'web', status: { state: 'Nonsense', message: '', ip: '9.9.9.9' } });
    await world.untilState('Valid', 'vip', 'successfully allocated an IP address');
    expect(world.vip?.status.ip).toBe(ADDRESS);
  });

  test('of many VirtualIPs at once gives each Service its own address', async () => {
    const world = await opened();
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) {
      world.addService(`web-${name}`);
      world.legacy.set({ name, service: `web-${name}` });
    }
    for (const name of names) await world.untilState('Valid', name);
    const held = Object.fromEntries(names.map((name) => [name, world.legacy.find(name)?.status.ip]));
    expect(new Set(Object.values(held)).size).toBe(4);
    for (const name of names) world.legacy.annotate(name);
    for (const name of names) await world.untilState('Migrated', name);
    await world.clock.advance(5 * SECOND);
    for (const name of names) expect(world.listed(`web-${name}`)).toEqual([held[name]]);
    expect(world.rules.violations).toEqual([]);
  });

  test('waits until the definitions of VirtualIPs are installed, and begins then', async () => {
    const world = new MigrationWorld();
    world.legacy.serve(false);
    await world.start();
    world.legacy.set({ name: 'vip', service: 'web' });
    await world.clock.advance(100 * SECOND);
    expect([world.vip?.status.state, world.place()]).toEqual(['', null]);
    world.legacy.serve(true);
    await world.untilState('Valid');
  });

  test('of which one replica decides and another does the work comes to the same, and goes on when who decides ends', async () => {
    const world = await served({ group: false });
    const [first] = world.processes;
    const second = await world.start();
    expect([first?.supervisor.leading, second.supervisor.leading]).toEqual([true, false]);
    world.legacy.annotate('vip');
    await world.untilState(REASSOCIATING, 'vip', NO_GROUP);
    first?.kill();
    await world.clock.runUntil(() => second.supervisor.leading, 60 * SECOND);
    world.addGroup();
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test('goes on under a leader that has only just been told of anything', async () => {
    const world = await served({ group: false });
    world.legacy.annotate('vip');
    await world.untilState(REASSOCIATING, 'vip', NO_GROUP);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    world.addGroup();
    await world.start();
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });
});

describe('what the table of the allocator before says', () => {
  test('a VirtualIP in Error that is annotated is denied', async () => {
    const world = await opened();
    world.legacy.set({ name: 'vip', service: 'fake' });
    await world.untilState('Error', 'vip', 'could not get the service to be exposed: Service "fake" not found');
    const denial = { kind: 'denied', message: 'not valid VirtualIP can not be migrated' };
    expect(asked(present(world), { asked: true })).toEqual(denial);
    // Where nobody judges it is not begun all the same.
    world.legacy.annotate('vip');
    await world.clock.advance(LONG);
    expect([world.vip?.status.state, world.reserved()]).toEqual(['Error', { [ADDRESS]: 'default/vip' }]);
  });

  test('taking the annotation off in the middle is denied', async () => {
    const world = await served({ group: false });
    world.legacy.annotate('vip');
    await world.untilState(REASSOCIATING);
    expect(asked(present(world), { asked: false })).toEqual({ kind: 'denied', message: 'VirtualIP migration can not be stopped' });
    world.legacy.annotate('vip', false);
    world.addGroup();
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test('changing spec.service or spec.ip in the middle is denied', async () => {
    const world = await served({ group: false });
    world.legacy.annotate('vip');
    await world.untilState(REASSOCIATING);
    const vip = present(world);
    expect(asked(vip, { service: 'other' })).toEqual({ kind: 'denied', message: 'can not change service once migration has begun' });
    expect(asked(vip, { ip: '1.1.2.3' })).toEqual({ kind: 'denied', message: '.spec.ip is immutable' });
  });

  test('a Service that is of type LoadBalancer already is waited for in preparing, and it goes on at once when that has changed', async () => {
    const world = await served();
    world.isServing = false;
    // Another group gives this Service an address of its own.
    world.k8s.setGroup('other', { segment: '1.1.9.0/30', excludedIPs: [] });
    world.k8s.setService({ name: 'web', type: 'LoadBalancer', pinnedGroup: 'other' });
    await world.untilListed({ web: '1.1.9.0' });
    world.legacy.annotate('vip');
    await world.untilState(PREPARING, 'vip', LOAD_BALANCER);
    await world.clock.advance(200 * SECOND);
    expect([world.vip?.status.state, world.vip?.status.message, world.externals()]).toEqual([PREPARING, LOAD_BALANCER, [ADDRESS]]);
    expect(world.told('vip').filter((line) => line.startsWith('MigrationBlocked'))).toEqual([`MigrationBlocked: ${LOAD_BALANCER}`]);
    world.k8s.setService({ name: 'web', type: 'ClusterIP', pinnedGroup: null });
    expect(await world.untilState('Migrated')).toBeLessThan(5 * SECOND);
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test('a Service that becomes one of type LoadBalancer once the migration has begun gets the address, although nobody has heard that it has', async () => {
    const world = await served();
    world.legacy.annotate('vip');
    await world.clock.runUntil(() => Object.keys(world.marks()).length > 0, 10 * SECOND);
    world.queues.goDown();
    await world.untilState(REASSOCIATING);
    expect(world.place()).toBe('Preparing');
    for (const process of world.processes) process.kill();
    world.queues.comeBack();
    world.k8s.setService({ name: 'web', type: 'LoadBalancer' });
    await world.start();
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test('without an IPGroup for the address it stays reassociating and says so, is never Migrated, and goes on at once when there is one', async () => {
    const world = await served({ group: false });
    world.legacy.annotate('vip');
    await world.untilState(REASSOCIATING, 'vip', NO_GROUP);
    await world.clock.advance(1000 * SECOND);
    expect([world.vip?.status.state, world.vip?.status.message]).toEqual([REASSOCIATING, NO_GROUP]);
    expect(world.shown.join()).not.toContain('Migrated');
    world.addGroup();
    expect(await world.untilState('Migrated')).toBeLessThan(5 * SECOND);
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test.each([
    ['reassociate', REASSOCIATING],
    ['letGo', CLEANING_UP],
    ['convert', CONVERTING],
    ['settle', ASSIGNING],
  ] as const)(
    'a Service that is deleted before %s leaves the stage as it is; the VirtualIP can be deleted, and the IP is not lost',
    async (verb, state) => {
      const world = await served();
      const mend = await stuckAt(world, verb, state);
      const web = world.k8s.service('default', 'web');
      expect(web).not.toBeNull();
      if (web) world.k8s.deleteService(web.ref);
      await world.untilGone('web');
      mend();
      await world.clock.advance(1000 * SECOND);
      expect(world.vip?.status.state).toBe(verb === 'letGo' ? CONVERTING : state);
      expect(world.vip?.status.message).toContain('Service "web" not found');
      // The copy goes on: nobody else may have its address meanwhile.
      expect([world.externals(), Object.keys(world.reserved())]).toEqual([[ADDRESS], [ADDRESS]]);
      world.isServing = false;
      world.legacy.remove('vip');
      await world.untilVirtualIPGone();
      await world.clock.advance(LONG);
      expect([world.k8s.services(), world.reserved(), world.faults()]).toEqual([[], {}, []]);
    },
  );

  test('a second VirtualIP of a migrated Service waits in preparing, and its copy serves on', async () => {
    const world = await served();
    await world.valid({ name: 'second' });
    world.legacy.annotate('vip');
    await world.untilState('Migrated');
    world.legacy.annotate('second');
    await world.untilState(PREPARING, 'second', LOAD_BALANCER);
    await world.clock.advance(200 * SECOND);
    expectMigrated(world);
    expect(world.legacy.find('second')?.status.message).toBe(LOAD_BALANCER);
    expect(world.externals('second-keepalived-clone')).toEqual(['1.1.2.3']);
    expect(world.reserved()).toEqual({ [ADDRESS]: 'default/web', '1.1.2.3': 'default/second' });
  });

  test('a second VirtualIP waits for the first one also when the Service was deleted and made again meanwhile', async () => {
    const world = await served({ group: false });
    await world.valid({ name: 'second' });
    world.legacy.annotate('vip');
    await world.untilState(REASSOCIATING, 'vip', NO_GROUP);
    const web = world.k8s.service('default', 'web');
    expect(world.marks()).toEqual({ 'virtualips.paas.org/migrating': 'vip' });
    if (web) world.k8s.deleteService(web.ref);
    await world.untilGone('web');
    world.addService('web');
    expect(world.marks()).toEqual({});
    world.legacy.annotate('second');
    await world.untilState(PREPARING, 'second', 'VirtualIP vip is being migrated to the service');
    world.addGroup();
    await world.untilState('Migrated');
    await world.untilState(PREPARING, 'second', LOAD_BALANCER, 200 * SECOND);
    expectMigrated(world);
    expect(world.externals('second-keepalived-clone')).toEqual(['1.1.2.3']);
    expect(world.reserved()).toEqual({ [ADDRESS]: 'default/web', '1.1.2.3': 'default/second' });
  });

  test.each([
    ['letGo', CLEANING_UP],
    ['deleteClone', ASSIGNING],
  ] as const)(
    'while their kind is not served nothing counts as taken off a VirtualIP: it is not migrated before %s is done',
    async (verb, state) => {
      const world = await served();
      const mend = await stuckAt(world, verb, state);
      world.legacy.serve(false);
      mend();
      await world.clock.advance(LONG);
      expect([world.vip?.finalizers.length, world.place()]).toEqual([verb === 'letGo' ? 2 : 1, 'CoolOff']);
      world.legacy.serve(true);
      await world.untilState('Migrated', 'vip', undefined, 2 * LONG);
      await world.clock.advance(5 * SECOND);
      expectMigrated(world);
    },
  );

  test('a VirtualIP that is deleted while its kind is not served goes once it is', async () => {
    const world = await served();
    world.k8s.faults.always('deleteClone', { kind: 'refuse', error: 'Invalid', message: 'refused' });
    world.isServing = false;
    world.legacy.remove('vip');
    await world.clock.advance(10 * SECOND);
    world.legacy.serve(false);
    world.k8s.faults.clear();
    await world.clock.runUntil(() => world.place() === null, LONG);
    world.legacy.serve(true);
    await world.untilVirtualIPGone();
    expect(world.reserved()).toEqual({});
  });

  test('a claim that comes after the migration was asked for no more is taken off again', async () => {
    const world = await served();
    const web = world.k8s.service('default', 'web');
    world.k8s.setService({
      name: 'web',
      type: 'ClusterIP',
      more: { ...web?.more, annotations: { 'virtualips.paas.org/migrating': 'vip' } },
    });
    await world.clock.runUntil(() => Object.keys(world.marks()).length === 0, 5 * SECOND);
    await world.clock.advance(5 * SECOND);
    expect([world.vip?.status.state, world.place(), world.externals(), world.wrongs]).toEqual(['Valid', 'Valid', [ADDRESS], []]);
  });

  test('a Service for which another IP is reserved still is waited for in preparing, and in reassociating', async () => {
    const world = await served({ group: false });
    const leave = (): void => void world.k8s.setIP({ name: '1.1.2.6', owner: { namespace: 'default', name: 'web', uid: null } });
    world.k8s.faults.always('free', { kind: 'refuse', error: 'Invalid', message: 'refused' });
    leave();
    world.legacy.annotate('vip');
    await world.untilState(PREPARING, 'vip', LOAD_BALANCER);
    world.k8s.removeIP('1.1.2.6');
    await world.untilState(REASSOCIATING, 'vip', NO_GROUP, 100 * SECOND);
    leave();
    world.addGroup();
    await world.untilState(REASSOCIATING, 'vip', 'the service has another address');
    // The mark of the one VirtualIP is no reason to keep what is of another.
    world.k8s.faults.clear();
    await world.untilState('Migrated', 'vip', undefined, 2 * LONG);
    world.wrongs.length = 0;
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
  });

  test.each([
    ['stays set when the VirtualIP had spec.ip', ADDRESS],
    ['is taken off when it had none', ''],
  ])('spec.loadBalancerIP %s', async (_, ip) => {
    const world = await served({ ip });
    world.legacy.annotate('vip');
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    expectMigrated(world);
    expect(world.k8s.service('default', 'web')?.loadBalancerIP).toBe(ip);
  });

  test('a VirtualIP that is deleted before it has let go of the IP takes copy and IP along', async () => {
    const world = await served();
    const mend = await stuckAt(world, 'letGo', CLEANING_UP);
    expect(world.reserved()).toEqual({ [ADDRESS]: 'default/web' });
    world.isServing = false;
    mend();
    world.legacy.remove('vip');
    await world.untilVirtualIPGone();
    await world.clock.advance(5 * SECOND);
    expect([world.k8s.service('default', CLONE), world.reserved(), world.marks()]).toEqual([null, {}, {}]);
    expect([world.listed('web'), world.k8s.service('default', 'web')?.type]).toEqual([[], 'ClusterIP']);
  });

  test('a VirtualIP that is deleted, of whose IP nobody has heard, takes that along', async () => {
    const world = await opened();
    world.legacy.set({ name: 'vip', service: 'web', ip: '' });
    await world.clock.runUntil(() => world.reserved()[ADDRESS] !== undefined, 10 * SECOND);
    for (const process of world.processes) process.kill();
    expect(world.vip?.status.ip).toBe('');
    world.store.wipe();
    world.queues.wipe();
    world.legacy.remove('vip');
    await world.start();
    await world.untilVirtualIPGone();
    expect(world.reserved()).toEqual({});
  });

  test('a VirtualIP that is deleted after that leaves the IP to the Service', async () => {
    const world = await served();
    const mend = await stuckAt(world, 'settle', ASSIGNING);
    mend();
    world.legacy.remove('vip');
    await world.untilVirtualIPGone();
    await world.clock.advance(LONG);
    expect([world.k8s.service('default', CLONE), world.reserved()]).toEqual([null, { [ADDRESS]: 'default/web' }]);
    expect([world.listed('web'), world.wrongs, world.marks()]).toEqual([[ADDRESS], [], {}]);
  });

  test('a VirtualIP that is deleted after it was migrated leaves IP and Service untouched', async () => {
    const world = await served();
    world.legacy.annotate('vip');
    await world.untilState('Migrated');
    await world.clock.advance(5 * SECOND);
    const before = [world.k8s.service('default', 'web'), world.k8s.ips()];
    world.legacy.remove('vip');
    await world.untilVirtualIPGone();
    await world.clock.advance(LONG);
    expect([world.k8s.service('default', 'web'), world.k8s.ips()]).toEqual(before);
    expect(world.place()).toBeNull();
  });

  test('creating a VirtualIP is denied', () => {
    const denial = { kind: 'denied', message: 'VirtualIP resource is deprecated, use a service with type LoadBalancer instead' };
    expect(admitVirtualIP({ operation: 'CREATE', user: 'somebody', object: {}, oldObject: null })).toEqual(denial);
  });
});
