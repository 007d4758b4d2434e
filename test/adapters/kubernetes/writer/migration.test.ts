import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../../../actors/ports/errors.ts';
import { STATES } from '../../../../machines/migration/phase.ts';
import { Actor, type LegacyCluster, legacyCluster, validVirtualIP } from './migration-support.ts';

const OWNER = 'virtualips.paas.il/owner';
const LOAD_BALANCER = 'service is already of type LoadBalancer, change service type to proceed with migration';
const MIGRATION = ['claimService', 'reassociateIP', 'handOverIP', 'convertService', 'assignIngress', 'removeClone'];
const OF_SERVICE = { '1.1.2.2': { ipgroup: 'ipgroup-2', [OWNER]: 'default/web' } };

/** All that a migration is to come to. */
const expectMigrated = ({ ips, service, find }: LegacyCluster): void => {
  const status = { state: 'Migrated', message: 'VirtualIP has been migrated', ip: '1.1.2.2', service: 'web' };
  expect(find('VirtualIP', 'vip')?.status).toEqual(status);
  expect(find('VirtualIP', 'vip')?.metadata.finalizers ?? []).toEqual([]);
  expect(ips()).toEqual(OF_SERVICE);
  expect(service('vip-keepalived-clone')).toBeNull();
  expect(service('web')).toMatchObject({ ingress: [{ ip: '1.1.2.2' }], annotations: {}, spec: { type: 'LoadBalancer' } });
  expect(service('web')?.spec).not.toHaveProperty('loadBalancerIP');
};

describe('a migration', () => {
  test('goes through its stages, and leaves the Service with the address and nothing else', async () => {
    const { actor, annotate, cluster } = await validVirtualIP();
    annotate('vip');
    await actor.settle();
    const stages = [
      'Migrating: preparing for migration',
      'Migrating: reassociating IP object',
      'Migrating: cleaning up',
      'Migrating: converting service',
      'Migrating: assigning original IP',
    ];
    expect(actor.states.slice(3)).toEqual([...stages, 'Migrated']);
    expect(actor.ran.slice(2)).toEqual(MIGRATION);
    expectMigrated(cluster);
    const told = [...stages.map((state) => `MigrationStage ${state}`), 'Migrated VirtualIP has been migrated'];
    expect(actor.events.map(({ reason, message }) => `${reason} ${message}`)).toEqual(told);
  });

  /** Looks at the cluster before each request of the jobs. */
  const watched = async (look: (cluster: LegacyCluster) => void) => {
    const { actor, annotate, cluster } = await validVirtualIP();
    let looks = 0;
    actor.writer = cluster.meddled((method) => {
      looks += method === 'GET' ? 0 : 1;
      look(cluster);
    });
    annotate('vip');
    await actor.settle();
    look(cluster);
    expect(looks).toBeGreaterThan(6);
    expectMigrated(cluster);
  };

  test('never leaves the address unserved: the copy goes after the Service has its ingress', () =>
    watched(({ service }) => {
      const isServed = service('vip-keepalived-clone') !== null || service('web')?.ingress.some(({ ip }) => ip === '1.1.2.2');
      expect(isServed).toBe(true);
    }));

  test('marks the Service as long as it owns an IP that it does not have: nobody may take that for forgotten', () =>
    watched(({ service, ips }) => {
      const web = service('web');
      const owns = ips()['1.1.2.2']?.[OWNER] === 'default/web';
      if (owns && web?.ingress.length === 0) expect(web.annotations).toEqual({ 'virtualips.paas.org/migrating': 'vip' });
    }));

  test('never lets another address be allocated: a Service of type LoadBalancer without ingress asks for its own, which is reserved', () =>
    watched(({ service, ips }) => {
      const web = service('web');
      if (web?.spec.type === 'LoadBalancer' && web.ingress.length === 0) expect(web.spec.loadBalancerIP).toBe('1.1.2.2');
      expect(Object.keys(ips())).toEqual(['1.1.2.2']);
    }));

  test.each([
    { when: 'before it is sent', late: false },
    { when: 'before it is answered', late: true },
  ])('that is cut off at any request, $when, goes on from there with nothing remembered', async ({ late }) => {
    let cuts = 0;
    for (let at = 0; at === cuts; at += 1) {
      const { actor, annotate, cluster } = await validVirtualIP();
      annotate('vip');
      let requests = 0;
      actor.writer = cluster.meddled((method) => {
        if (method === 'GET') return false;
        requests += 1;
        if (requests !== at + 1) return false;
        cuts += 1;
        if (!late) throw new Unreachable('cut off');
        return true;
      });
      await actor.settle();
      actor.writer = cluster.writer;
      await actor.forget().settle();
      expectMigrated(cluster);
    }
    expect(cuts).toBeGreaterThan(6);
  });

  test('of a VirtualIP in Error does not begin before that one serves', async () => {
    const cluster = await legacyCluster();
    cluster.addVirtualIP('vip');
    const actor = await new Actor(cluster).settle();
    expect(actor.status.state).toBe('Error');
    cluster.annotate('vip');
    await actor.settle();
    expect(actor.status.state).toBe('Error');
    expect(actor.ran.filter((job) => MIGRATION.includes(job.replace('!', '')))).toEqual([]);
    cluster.addService('web');
    await actor.settle();
    expectMigrated(cluster);
  });

  test('is not stopped by whoever takes the annotation off after it has begun, nor turned to another Service', async () => {
    const { actor, annotate, addGroup, addService, patch, cluster } = await validVirtualIP({ groups: false });
    annotate('vip');
    await actor.settle();
    expect(actor.status.state).toBe(STATES.reassociating);
    annotate('vip', false);
    addService('other');
    patch('VirtualIP', 'vip', { spec: { service: 'other' } });
    addGroup();
    await actor.settle();
    patch('VirtualIP', 'vip', { spec: { service: 'web' } });
    expectMigrated(cluster);
  });

  test('to a Service of type LoadBalancer waits in preparing and says why, and goes on once the type is another', async () => {
    const { actor, annotate, patch, cluster, service } = await validVirtualIP();
    patch('Service', 'web', { spec: { type: 'LoadBalancer' } });
    annotate('vip');
    await actor.settle();
    expect(actor.status).toMatchObject({ state: 'Migrating: preparing for migration', message: LOAD_BALANCER });
    await actor.wait();
    expect(actor.events.filter(({ reason }) => reason === 'MigrationBlocked')).toEqual([
      { type: 'Warning', reason: 'MigrationBlocked', action: 'Migrate', message: LOAD_BALANCER },
    ]);
    expect(service('vip-keepalived-clone')).not.toBeNull();
    patch('Service', 'web', { spec: { type: 'ClusterIP' } });
    await actor.settle();
    expectMigrated(cluster);
  });

  test('that waits in preparing is given up by taking the annotation off: the VirtualIP is Valid again', async () => {
    const { actor, annotate, patch, service } = await validVirtualIP();
    patch('Service', 'web', { spec: { type: 'LoadBalancer' } });
    annotate('vip');
    await actor.settle();
    annotate('vip', false);
    patch('Service', 'web', { spec: { type: 'ClusterIP' }, metadata: { labels: { l: 'l1' } } });
    await actor.settle();
    expect(actor.status).toMatchObject({ state: 'Valid', message: 'successfully allocated an IP address' });
    expect(service('vip-keepalived-clone')?.labels).toEqual({ l: 'l1' });
    expect(service('web')?.annotations).toEqual({});
  });

  test('does not begin when the annotation is taken off between the look and the claim', async () => {
    const { actor, annotate, cluster, service } = await validVirtualIP();
    annotate('vip');
    let taken = false;
    actor.writer = cluster.meddled((method, path) => {
      if (method !== 'PATCH' || !path.endsWith('/virtualips/vip/status') || taken) return;
      taken = true;
      annotate('vip', false);
    });
    await actor.settle();
    expect(taken).toBe(true);
    expect(actor.ran).not.toContain('reassociateIP');
    if (actor.state === 'CoolOff') await actor.wait();
    expect(actor.status.state).toBe('Valid');
    expect(service('web')?.annotations).toEqual({});
  });

  test('without an IPGroup for the address stays where it is, shows why, and goes on when there is one', async () => {
    const { actor, annotate, addGroup, cluster, service } = await validVirtualIP({ groups: false });
    annotate('vip');
    await actor.settle();
    const message = 'could not get IPGroup object of IP: IPGroup not found for 1.1.2.2';
    expect(actor.status).toMatchObject({ state: 'Migrating: reassociating IP object', message });
    await actor.wait();
    await actor.wait();
    expect(actor.status).toMatchObject({ state: 'Migrating: reassociating IP object', message });
    expect(service('vip-keepalived-clone')).not.toBeNull();
    expect(actor.events.filter(({ reason }) => reason === 'MigrationBlocked').map((event) => event.message)).toEqual([message]);
    addGroup();
    await actor.settle();
    expectMigrated(cluster);
  });

  test.each(MIGRATION)('whose copy somebody deleted before %s goes on', async (job) => {
    const { actor, annotate, remove, cluster } = await validVirtualIP();
    annotate('vip');
    actor.before = (next) => (next === job ? remove('Service', 'vip-keepalived-clone') : undefined);
    await actor.settle();
    expectMigrated(cluster);
  });

  test.each(MIGRATION)('whose Service was deleted before %s shows that, is where it was, and can be deleted', async (job) => {
    const { actor, annotate, remove, find, ips, service } = await validVirtualIP();
    annotate('vip');
    actor.before = (next) => (next === job && service('web') ? remove('Service', 'web') : undefined);
    await actor.settle();
    expect(actor.status.state).toMatch(/^Migrating: /);
    expect(actor.status.message).toContain('Service "web" not found');
    const { state } = actor.status;
    await actor.wait();
    expect(actor.status.state).toBe(state);
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect([find('VirtualIP', 'vip'), service('vip-keepalived-clone'), ips()]).toEqual([null, null, {}]);
  });

  test('whose ingress somebody takes off again keeps the copy until it stands', async () => {
    const { actor, annotate, patch, cluster, service } = await validVirtualIP();
    annotate('vip');
    const clones: boolean[] = [];
    actor.before = (next) => {
      if (next === 'assignIngress') clones.push(service('vip-keepalived-clone') !== null);
      if (next !== 'removeClone' || clones.length > 1) return;
      patch('Service', 'web', { status: { loadBalancer: { ingress: null } } }, 'status');
    };
    await actor.settle();
    expect(clones).toEqual([true, true]);
    expect(actor.ran.slice(-3)).toEqual(['!removeClone', 'assignIngress', 'removeClone']);
    expectMigrated(cluster);
  });

  test('does not take an IP from whoever has it by then', async () => {
    const { actor, annotate, patch, ips, service } = await validVirtualIP();
    annotate('vip');
    actor.before = (next) =>
      next === 'reassociateIP' ? patch('IP', '1.1.2.2', { metadata: { annotations: { [OWNER]: 'default/other' } } }) : undefined;
    await actor.settle();
    const message = 'could not update IP object: IP "1.1.2.2" is of default/other';
    expect(actor.status).toMatchObject({ state: STATES.reassociating, message });
    expect(ips()).toEqual({ '1.1.2.2': { gsm: 'keepalived-2', [OWNER]: 'default/other' } });
    expect(service('vip-keepalived-clone')).not.toBeNull();
  });

  test('of a second VirtualIP to the same Service waits, and its copy serves on', async () => {
    const { actor, annotate, addVirtualIP, cluster, service, patch } = await validVirtualIP();
    addVirtualIP('second');
    const second = await new Actor(cluster, 'second').settle();
    expect(second.status).toMatchObject({ state: 'Valid', ip: '1.1.2.3' });
    annotate('vip');
    await actor.settle();
    annotate('second');
    await second.settle();
    expect(second.status).toMatchObject({ state: 'Migrating: preparing for migration', message: LOAD_BALANCER });
    patch('Service', 'web', { metadata: { labels: { l: 'l1' } } });
    await second.settle();
    expect(service('second-keepalived-clone')).toMatchObject({ labels: { l: 'l1' }, spec: { externalIPs: ['1.1.2.3'] } });
    expect(service('web')?.ingress).toEqual([{ ip: '1.1.2.2' }]);
  });

  test('is that of one VirtualIP at a time: the other is told whose, and takes its turn when that one is gone', async () => {
    const { actor, annotate, addVirtualIP, cluster, remove, addGroup, service } = await validVirtualIP({ groups: false });
    addVirtualIP('second');
    const second = await new Actor(cluster, 'second').settle();
    annotate('vip');
    await actor.settle();
    expect(actor.status.state).toBe(STATES.reassociating);
    annotate('second');
    await second.settle();
    expect(second.status).toMatchObject({ state: STATES.preparing, message: 'VirtualIP vip is being migrated to the service' });
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect(actor.now.done).toBe(true);
    addGroup();
    await second.settle();
    expect(second.status).toMatchObject({ state: 'Migrated', ip: '1.1.2.3' });
    expect(service('web')?.ingress).toEqual([{ ip: '1.1.2.3' }]);
  });

  test('is not hindered by the claim of a VirtualIP that is not there any more', async () => {
    const { actor, annotate, patch, cluster } = await validVirtualIP();
    patch('Service', 'web', { metadata: { annotations: { 'virtualips.paas.org/migrating': 'vanished' } } });
    annotate('vip');
    await actor.settle();
    expectMigrated(cluster);
  });

  test('keeps spec.loadBalancerIP of the Service when the VirtualIP asked for the address', async () => {
    const { actor, annotate, service } = await validVirtualIP({ ip: '1.1.2.4' });
    annotate('vip');
    await actor.settle();
    expect(actor.status.state).toBe('Migrated');
    expect(service('web')).toMatchObject({ ingress: [{ ip: '1.1.2.4' }], spec: { loadBalancerIP: '1.1.2.4' } });
  });
});

describe('a VirtualIP that is deleted', () => {
  const deletedBefore = async (job: string) => {
    const valid = await validVirtualIP();
    const { actor, annotate, remove } = valid;
    annotate('vip');
    actor.before = async (next) => {
      if (next !== job) return;
      remove('VirtualIP', 'vip');
      await actor.look();
    };
    await actor.settle();
    expect(actor.now.done).toBe(true);
    expect(valid.find('VirtualIP', 'vip')).toBeNull();
    expect(valid.service('vip-keepalived-clone')).toBeNull();
    expect(valid.service('web')?.annotations).toEqual({});
    return valid;
  };

  test.each(['claimService', 'reassociateIP'])('during %s takes its IP along', async (job) => {
    const { ips, service } = await deletedBefore(job);
    expect(ips()).toEqual({});
    expect(service('web')).toMatchObject({ ingress: [], spec: { type: 'ClusterIP' } });
  });

  test.each(['handOverIP', 'convertService', 'assignIngress', 'removeClone'])('during %s leaves the IP to the Service', async (job) => {
    const { ips } = await deletedBefore(job);
    expect(ips()).toEqual(OF_SERVICE);
  });

  test('after it was migrated leaves IP and Service untouched', async () => {
    const { actor, annotate, remove, ips, service, find } = await validVirtualIP();
    annotate('vip');
    await actor.settle();
    const before = service('web');
    expect(before?.ingress).toEqual([{ ip: '1.1.2.2' }]);
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect([find('VirtualIP', 'vip'), actor.now.done]).toEqual([null, true]);
    expect([service('web'), ips()]).toEqual([before, OF_SERVICE]);
  });

  test('after it was migrated leaves an IP alone whose Service is gone: the allocator of Services frees it', async () => {
    const { actor, annotate, remove, ips } = await validVirtualIP();
    annotate('vip');
    await actor.settle();
    remove('Service', 'web');
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect([actor.now.done, ips()]).toEqual([true, OF_SERVICE]);
  });

  test('as somebody says wrongly is not touched', async () => {
    const { actor, ips, service } = await validVirtualIP();
    await actor.tell(null);
    expect(actor.ran.at(-1)).toBe('!releaseVirtualIP');
    expect([service('vip-keepalived-clone') === null, Object.keys(ips())]).toEqual([false, ['1.1.2.2']]);
    await actor.settle();
    expect(actor.status.state).toBe('Valid');
  });

  test('and gone before anybody looked takes its IP along', async () => {
    const { actor, patch, remove, ips } = await validVirtualIP();
    patch('VirtualIP', 'vip', { metadata: { finalizers: null } });
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect([actor.now.done, ips()]).toEqual([true, {}]);
  });
});

describe('a migration that the allocator of before left', () => {
  test.each([
    ['in Error before the IP was the Service’s', { state: 'Error', message: 'could not get IPGroup object of IP: x' }, false],
    ['in Error after the IP was the Service’s', { state: 'Error', message: 'could not update IP object: x' }, true],
    ['as Migrated, with nothing migrated', { state: 'Migrated', message: 'VirtualIP has been migrated', clonedService: null }, false],
    [
      'as Migrated, with only the IP reassociated',
      { state: 'Migrated', message: 'VirtualIP has been migrated', clonedService: null },
      true,
    ],
    ['in Error after the Service was converted', { state: 'Error', message: 'could not set service ingress IP in status: x' }, true],
    ['while cleaning up', { state: 'Migrating: cleaning up', message: 'VirtualIP is being migrated' }, true],
    ['while assigning', { state: 'Migrating: assigning original IP', message: 'VirtualIP is being migrated' }, true],
  ])('%s is brought to its end', async (_, status, reassociated) => {
    const { actor, annotate, patch, remove, cluster } = await validVirtualIP();
    annotate('vip');
    patch('VirtualIP', 'vip', { status }, 'status');
    if (reassociated)
      patch('IP', '1.1.2.2', { metadata: { labels: { gsm: null, ipgroup: 'ipgroup-2' }, annotations: { [OWNER]: 'default/web' } } });
    if (status.state === STATES.assigning || status.message?.includes('ingress')) {
      patch('VirtualIP', 'vip', { metadata: { finalizers: null } });
      remove('Service', 'vip-keepalived-clone');
      patch('Service', 'web', { spec: { type: 'LoadBalancer', loadBalancerIP: '1.1.2.2' } });
    }
    await actor.forget().settle();
    expectMigrated(cluster);
  });

  test('as Migrated, with nothing migrated, can be deleted', async () => {
    const { actor, patch, remove, find, ips, service } = await validVirtualIP();
    patch('VirtualIP', 'vip', { status: { state: 'Migrated', clonedService: null } }, 'status');
    remove('VirtualIP', 'vip');
    await actor.forget().settle();
    expect([find('VirtualIP', 'vip'), service('vip-keepalived-clone'), ips()]).toEqual([null, null, {}]);
  });
});
