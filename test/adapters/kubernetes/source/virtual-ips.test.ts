import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../../../actors/ports/errors.ts';
import { Actor, legacyCluster, validVirtualIP } from '../writer/migration-support.ts';

const OWNER = 'virtualips.paas.il/owner';

describe('a VirtualIP that is there already', () => {
  test('takes the lowest address, holds it, and is served by a copy of its Service', async () => {
    const { actor, ips, service, find } = await validVirtualIP();
    expect(actor.status).toEqual({
      state: 'Valid',
      message: 'successfully allocated an IP address',
      ip: '1.1.2.2',
      service: 'web',
      keepalivedGroup: 'group2',
      gsm: 'keepalived-2',
      clonedService: 'vip-keepalived-clone',
    });
    expect(actor.states).toEqual(['Creating IP object', 'Exposing service', 'Valid']);
    expect(ips()).toEqual({ '1.1.2.2': { gsm: 'keepalived-2', [OWNER]: 'default/vip' } });
    expect(find('VirtualIP', 'vip')?.metadata.finalizers).toEqual([
      'ip.finalizers.virtualips.paas.org',
      'service.finalizers.virtualips.paas.org',
    ]);
    expect(service('vip-keepalived-clone')).toMatchObject({
      owners: [{ kind: 'VirtualIP', name: 'vip' }],
      spec: { type: 'ClusterIP', externalIPs: ['1.1.2.2'], selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    });
  });

  test.each([
    ['1.1.2.4', 'Valid', 'successfully allocated an IP address'],
    ['1.1.2.1', 'Error', 'could not allocate an IP: failed to allocate specific ip: the requested ip is not available'],
    ['1.1.2.40', 'Error', 'could not allocate an IP: failed to allocate specific ip: GroupSegmentMapping not found for the requested ip'],
    ['1.1.2', 'Error', 'could not allocate an IP: failed to allocate specific ip: the requested ip could not be parsed'],
  ])('that asks for %s is %s: %s', async (ip, state, message) => {
    const { actor } = await validVirtualIP({ ip });
    expect(actor.status).toMatchObject({ state, message });
  });

  test('of a full mapping says so, and is served once an address is free', async () => {
    const cluster = await legacyCluster();
    cluster.addService('web');
    for (const name of ['1.1.2.2', '1.1.2.3', '1.1.2.4', '1.1.2.6']) cluster.put('IP', name, {}, { annotations: { [OWNER]: 'default/x' } });
    cluster.addVirtualIP('vip');
    const actor = await new Actor(cluster).settle();
    expect(actor.status).toMatchObject({ state: 'Error', message: 'could not allocate an IP: no IP could be allocated' });
    cluster.remove('IP', '1.1.2.4');
    await actor.wait();
    expect(actor.status).toMatchObject({ state: 'Valid', ip: '1.1.2.4' });
  });

  test('of a Service that is missing keeps its address, and is served once it names one that is there', async () => {
    const cluster = await legacyCluster();
    cluster.addService('web');
    cluster.addVirtualIP('vip', { service: 'fake' });
    const actor = await new Actor(cluster).settle();
    const message = 'could not get the service to be exposed: Service "fake" not found';
    expect(actor.status).toMatchObject({ state: 'Error', message, ip: '1.1.2.2' });
    cluster.patch('VirtualIP', 'vip', { spec: { service: 'web' } });
    await actor.settle();
    expect(actor.status).toMatchObject({ state: 'Valid', service: 'web', ip: '1.1.2.2' });
  });

  test('has its copy follow the Service, and keep what is its own', async () => {
    const { actor, patch, service, put } = await validVirtualIP();
    patch('Service', 'web', {
      metadata: { labels: { l: 'l1' }, annotations: { a: 'a1' } },
      spec: { selector: { app: null, tier: 'front' }, ports: [{ name: 'http', port: 81, protocol: 'TCP', targetPort: 8080 }] },
    });
    patch('Service', 'vip-keepalived-clone', { metadata: { labels: { stale: 'x' } } });
    await actor.settle();
    expect(actor.states.at(-1)).toBe('Valid');
    expect(service('vip-keepalived-clone')).toMatchObject({
      annotations: { a: 'a1' },
      spec: { externalIPs: ['1.1.2.2'], ports: [{ port: 81 }] },
    });
    expect(service('vip-keepalived-clone')?.labels).toEqual({ l: 'l1' });
    expect(service('vip-keepalived-clone')?.spec.selector).toEqual({ tier: 'front' });
    put('Service', 'other', { ports: [{ port: 90, protocol: 'TCP', targetPort: 90 }], selector: { app: 'other' } });
    patch('VirtualIP', 'vip', { spec: { service: 'other' } });
    await actor.settle();
    expect(actor.status).toMatchObject({ state: 'Valid', service: 'other' });
    expect(service('vip-keepalived-clone')?.spec.selector).toEqual({ app: 'other' });
  });

  test('that is cut off at any request, before it is sent or after, has one address and one copy in the end', async () => {
    for (const late of [false, true]) {
      let cuts = 0;
      for (let at = 0; at === cuts; at += 1) {
        const cluster = await legacyCluster();
        cluster.addService('web');
        cluster.addVirtualIP('vip');
        const actor = new Actor(cluster);
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
        expect(actor.status).toMatchObject({ state: 'Valid', ip: '1.1.2.2' });
        expect(Object.keys(cluster.ips())).toEqual(['1.1.2.2']);
        expect(cluster.service('vip-keepalived-clone')?.spec.externalIPs).toEqual(['1.1.2.2']);
      }
      expect(cuts).toBe(4);
    }
  });

  test('leaves nothing when it is deleted', async () => {
    const { actor, remove, find, ips, service } = await validVirtualIP();
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect(actor.now.done).toBe(true);
    expect([find('VirtualIP', 'vip'), service('vip-keepalived-clone'), ips()]).toEqual([null, null, {}]);
    expect(service('web')).not.toBeNull();
  });

  test('does not delete an IP that became somebody else’s, nor a Service that is no copy of its own', async () => {
    const { actor, remove, patch, find, ips } = await validVirtualIP();
    patch('IP', '1.1.2.2', { metadata: { annotations: { [OWNER]: 'default/other' } } });
    patch('Service', 'vip-keepalived-clone', { metadata: { ownerReferences: null } });
    remove('VirtualIP', 'vip');
    await actor.settle();
    expect(Object.keys(ips())).toEqual(['1.1.2.2']);
    expect([find('VirtualIP', 'vip'), find('Service', 'vip-keepalived-clone') === null]).toEqual([null, false]);
  });
});
