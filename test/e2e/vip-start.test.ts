import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../simulator/kubernetes/server.ts';
import { type GroupStatus, vipStage } from './vip-objects.ts';

const COUNT = 1_000;
/** The first COUNT addresses of 10.8.0.0/16. */
const addressOf = (index: number): string => `10.8.${Math.floor(index / 256)}.${index % 256}`;

/** A Service as an operator has left it: guarded, with an IP of its own that it lists. Written past HTTP: what counts are the requests of the operator. */
function leftWithAddress({ store }: KubernetesSimulator, index: number): void {
  const [name, address] = [`shop-${index}`, addressOf(index)];
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default', finalizers: ['ips.paas.org/finalizer'] },
    spec: { type: 'LoadBalancer', selector: { app: name }, ports: [{ port: 80, protocol: 'TCP' }] },
  };
  const { metadata } = store.create(service as unknown as JsonObject);
  store.patch(
    { apiVersion: 'v1', kind: 'Service', namespace: 'default', name },
    { status: { loadBalancer: { ingress: [{ ip: address }] } } },
    { subresource: 'status' },
  );
  store.create({
    apiVersion: 'paas.org/v1',
    kind: 'IP',
    metadata: {
      name: address,
      labels: { ipgroup: 'group' },
      annotations: { 'virtualips.paas.il/owner': `default/${name}`, 'ips.paas.org/owner-uid': String(metadata.uid) },
    },
  } as unknown as JsonObject);
}

/** What the operator may write when nothing is to be done: its Lease, and how the groups are. */
const isAllowed = (path: string): boolean => /\/leases(\/|$)|\/ipgroups\/group\/status$/.test(path);

// On the simulator alone, whose log of requests says who has sent what; which writes there are is not up to the API server.
describe('1000 Services that have their addresses when the operator starts', () => {
  const { vips: current, target } = vipStage();

  test('cause no write but that of the Lease and of the status of their group; what one lists is not given to an older one that lists none', async () => {
    const vips = current();
    const { simulator } = target();
    if (!simulator) throw new Error('this is for the simulator');
    await vips.group('group', '10.8.0.0/16');
    await vips.service('older', { type: 'ClusterIP' });
    for (let index = 0; index < COUNT; index += 1) leftWithAddress(simulator, index);
    const services = () => vips.client.list('v1', 'Service', { namespace: 'default' });
    const before = await services();
    // Besides them there is that of the API server itself.
    expect(before).toHaveLength(1 + COUNT + 1);
    const since = simulator.requests.length;
    const operator = await vips.start();
    const counted = async (): Promise<Partial<GroupStatus>> => (await vips.groupStatus('group')) ?? {};
    await vips.until('all are counted', async () => (await counted()).allocated === COUNT);
    expect((await counted()).available).toBe(2 ** 16 - COUNT);
    const bound = async () =>
      /^routedip_machines\{chart="vip-service",state="Bound.Settled"\} (\d+)$/m.exec((await operator.metrics()).text)?.[1];
    await vips.until('all are known to be bound', async () => (await bound()) === String(COUNT));
    const writes = () =>
      simulator.requests
        .slice(since)
        .filter(({ method, path }) => method !== 'GET' && !isAllowed(path))
        .map(({ method, path }) => `${method} ${path}`);
    expect(writes()).toEqual([]);

    expect(await services()).toEqual(before);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await operator.stop()).toBe(0);

    // One has lost its IP meanwhile; another one, which is older, wants the lowest address that is free.
    simulator.store.delete({ apiVersion: 'paas.org/v1', kind: 'IP', name: addressOf(5) });
    await vips.patch('older', { spec: { type: 'LoadBalancer' } });
    const next = await vips.start();
    await vips.listing('older', addressOf(COUNT));
    await vips.until('the IP is back', async () => (await vips.reserved())[addressOf(5)] === 'default/shop-5');
    const shops = (all: Awaited<ReturnType<typeof services>>) => all.filter(({ metadata }) => metadata.name !== 'older');
    expect(shops(await services())).toEqual(shops(before));
    expect(next.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
