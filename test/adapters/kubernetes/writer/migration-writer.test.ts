import { describe, expect, test } from 'vitest';
import { Fenced, ProviderError } from '../../../../actors/ports/errors.ts';
import type { Address } from '../../../../machines/model/types.ts';
import { CLONE_FINALIZER, IP_FINALIZER } from '../../../../machines/vip/virtualip.ts';
import { TestFence } from '../../../contracts/vip-harness.ts';
import { legacyCluster, validVirtualIP } from './migration-support.ts';

const ADDRESS = '1.1.2.2' as Address;
const WEB = { namespace: 'default', name: 'web' };
const CLONE = { namespace: 'default', name: 'vip-keepalived-clone' };

const kindOf = async (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof ProviderError ? error.kind : String(error)),
  );

const present = <T>(object: T | null): T => {
  if (object === null) throw new Error('it is not there');
  return object;
};

describe('what VirtualIPs have written', () => {
  const valid = async () => {
    const made = await validVirtualIP();
    const { writer, actor, patch } = made;
    // An ingress is taken by the server for this type alone.
    patch('Service', 'web', { spec: { type: 'LoadBalancer' } });
    const vip = present(await writer.virtualIP(present(actor.context.ref)));
    const [web, clone, ip] = [await writer.service(WEB), await writer.service(CLONE), await writer.ip(ADDRESS)];
    return { ...made, fence: new TestFence(), vip, web: present(web), clone: present(clone), ip: present(ip) };
  };
  type Valid = Awaited<ReturnType<typeof valid>>;

  const WRITES: Readonly<Record<string, (from: Valid) => Promise<unknown>>> = {
    hold: ({ writer, vip, fence }) => writer.hold({ ...vip, finalizers: [] }, 'ip', fence),
    report: ({ writer, vip, fence }) => writer.report(vip, { state: 'Migrated' }, fence),
    reassociate: ({ writer, ip, fence }) => writer.reassociate(ip, 'ipgroup-2', WEB, fence),
    free: ({ writer, ip, fence }) => writer.free(ip, fence),
    syncClone: ({ writer, clone, fence }) => writer.syncClone(clone, { labels: { x: 'y' }, annotations: {}, spec: {} }, fence),
    deleteClone: ({ writer, clone, fence }) => writer.deleteClone(clone, fence),
    mark: ({ writer, web, fence }) => writer.mark(web, 'vip', fence),
    convert: ({ writer, web, fence }) => writer.convert(web, ADDRESS, fence),
    setIngress: ({ writer, web, fence }) => writer.setIngress(web, ADDRESS, fence),
    settle: ({ writer, web, fence }) => writer.settle({ ...web, spec: { ...web.spec, loadBalancerIP: ADDRESS } }, false, fence),
  };

  test.each(Object.entries(WRITES))('by %s is refused once somebody else has written, and changes nothing', async (_, write) => {
    const from = await valid();
    const { patch, store } = from;
    const touched = { metadata: { annotations: { touched: 'yes' } } };
    patch('VirtualIP', 'vip', touched);
    for (const name of ['web', CLONE.name]) patch('Service', name, touched);
    patch('IP', ADDRESS, touched);
    const all = () => [...store.list('v1', 'Service'), ...store.list('paas.org/v1', 'IP'), ...store.list('paas.org/v1', 'VirtualIP')];
    const before = all();
    expect(before.length).toBeGreaterThanOrEqual(4);
    expect(await kindOf(write(from))).toBe('Unavailable');
    expect(all()).toEqual(before);
  });

  test.each(Object.entries(WRITES))('by %s is sent only by who may still act', async (_, write) => {
    const from = await valid();
    from.fence.closed = new Fenced('another leads');
    const before = from.simulator.requests.filter(({ method }) => method !== 'GET').length;
    await expect(write(from)).rejects.toBe(from.fence.closed);
    expect(from.fence.reads).toBe(1);
    expect(from.simulator.requests.filter(({ method }) => method !== 'GET').length).toBe(before);
  });

  test.each(Object.entries(WRITES).filter(([name]) => name !== 'hold'))('by %s is done', async (_, write) => {
    const from = await valid();
    expect(await kindOf(write(from))).toBe('done');
    expect(from.fence.asserted).toBe(1);
  });

  test('is not sent when it stands already', async () => {
    const { writer, vip, web, fence, actor } = await valid();
    await writer.hold(vip, 'ip', fence);
    await writer.report(vip, actor.status, fence);
    await writer.mark(web, null, fence);
    await writer.settle(web, false, fence);
    expect(fence.asserted).toBe(0);
  });

  test('of an IP leaves it no other label or annotation', async () => {
    const { writer, ip, fence, patch, ips } = await valid();
    patch('IP', ADDRESS, { metadata: { labels: { other: 'x' }, annotations: { 'ips.paas.org/owner-uid': 'u', more: 'y' } } });
    await writer.reassociate(present(await writer.ip(ip.address)), 'ipgroup-2', WEB, fence);
    expect(ips()).toEqual({ [ADDRESS]: { ipgroup: 'ipgroup-2', 'virtualips.paas.il/owner': 'default/web' } });
  });

  test('of what is gone counts as done where it was to go, but for a VirtualIP', async () => {
    const { writer, clone, ip, fence, remove, vip } = await valid();
    remove('Service', CLONE.name);
    remove('IP', ADDRESS);
    expect([await kindOf(writer.deleteClone(clone, fence)), await kindOf(writer.free(ip, fence))]).toEqual(['done', 'done']);
    expect(await kindOf(writer.letGo({ ...vip.ref, uid: 'another' }, 'clone', fence))).toBe('NotFound');
    expect(await writer.virtualIP({ ...vip.ref, uid: 'another' })).toBeNull();
  });

  test('does not touch an object that took the place of another', async () => {
    const { writer, clone, ip, fence, remove, put, find } = await valid();
    remove('Service', CLONE.name);
    remove('IP', ADDRESS);
    put('Service', CLONE.name, { ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }] });
    put('IP', ADDRESS, {});
    expect(await kindOf(writer.deleteClone(clone, fence))).toBe('Unavailable');
    expect(await kindOf(writer.free(ip, fence))).toBe('Unavailable');
    expect([find('Service', CLONE.name) === null, find('IP', ADDRESS) === null]).toEqual([false, false]);
  });

  test('has its finalizers taken off one by one, beside those of others, whoever else writes', async () => {
    const { cluster, vip, fence, patch, find } = await valid();
    patch('VirtualIP', 'vip', { metadata: { finalizers: [IP_FINALIZER, CLONE_FINALIZER, 'other.example.com/x'] } });
    let meddles = 2;
    const writer = cluster.meddled((method) => {
      if (method !== 'PATCH' || meddles === 0) return;
      meddles -= 1;
      patch('VirtualIP', 'vip', { metadata: { labels: { meddled: String(meddles) } } });
    });
    await writer.letGo(vip.ref, 'ip', fence);
    expect(meddles).toBe(0);
    expect(find('VirtualIP', 'vip')?.metadata.finalizers).toEqual([CLONE_FINALIZER, 'other.example.com/x']);
  });

  test('is refused as Conflict for an address, or a name, that is taken', async () => {
    const { writer, vip, fence } = await valid();
    expect(await kindOf(writer.reserve(ADDRESS, 'keepalived-2', vip.ref, fence))).toBe('Conflict');
    const spec = { ports: [{ port: 80 }], type: 'ClusterIP' };
    expect(await kindOf(writer.createClone({ ...CLONE, labels: {}, annotations: {}, owner: vip.ref, spec }, fence))).toBe('Conflict');
  });
});

test('where GroupSegmentMappings are not served there are none, and of VirtualIPs nothing is known', async () => {
  const { writer } = await legacyCluster();
  expect((await writer.mappings()).map(({ name }) => name)).toEqual(['keepalived-2']);
  const bare = await legacyCluster({ crds: ['crds/ips.yaml'] });
  expect([await bare.writer.mappings(), await bare.writer.groups(), await bare.writer.virtualIPs()]).toEqual([[], [], null]);
});
