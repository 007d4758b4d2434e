import {
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  EventsV1Api,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  V1MicroTime,
  Watch,
} from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Cluster, NODES, node, POOLS, pool, startCluster } from './kubernetes-support.ts';

const configOf = (cluster: Cluster): KubeConfig => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  return config;
};

describe('the official client', () => {
  test('creates, lists, patches and deletes nodes', async () => {
    const cluster = await startCluster();
    const core = configOf(cluster).makeApiClient(CoreV1Api);
    await core.createNode({ body: { metadata: { name: 'a', labels: { x: 'y' } } } });
    const { items } = await core.listNode({ labelSelector: 'x=y' });
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(['a']);
    expect(items[0]?.metadata?.creationTimestamp).toBeInstanceOf(Date);
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
    const patched = await core.patchNode({ name: 'a', body: { metadata: { annotations: { note: 'z' } } } }, merge);
    expect(patched.metadata?.annotations).toEqual({ note: 'z' });
    await core.deleteNode({ name: 'a' });
    const missing = await core.readNode({ name: 'a' }).catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(ApiException);
    expect((missing as ApiException<unknown>).code).toBe(404);
  });

  test('reads and writes the status of pools, and meets a conflict', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const objects = configOf(cluster).makeApiClient(CustomObjectsApi);
    const place = { group: 'flipop.digitalocean.com', version: 'v1alpha1', namespace: 'default', plural: 'floatingippools', name: 'x' };
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
    const written = await objects.patchNamespacedCustomObjectStatus({ ...place, body: { status: { activeIPs: 2 } } }, merge);
    expect(written).toMatchObject({ status: { activeIPs: 2 } });
    const body = { metadata: { resourceVersion: '1' }, status: { activeIPs: 3 } };
    const refused = await objects.patchNamespacedCustomObjectStatus({ ...place, body }, merge).catch((error: unknown) => error);
    expect((refused as ApiException<unknown>).code).toBe(409);
  });

  test('takes a lease over by replacing the version it read', async () => {
    const cluster = await startCluster();
    const leases = configOf(cluster).makeApiClient(CoordinationV1Api);
    const place = { namespace: 'default', name: 'leader' };
    const spec = { holderIdentity: 'one', leaseDurationSeconds: 15, renewTime: new V1MicroTime() };
    const made = await leases.createNamespacedLease({ namespace: 'default', body: { metadata: { name: 'leader' }, spec } });
    const taken = await leases.replaceNamespacedLease({ ...place, body: { ...made, spec: { ...spec, holderIdentity: 'two' } } });
    expect(taken.spec?.holderIdentity).toBe('two');
    const late = await leases.replaceNamespacedLease({ ...place, body: { ...made, spec } }).catch((error: unknown) => error);
    expect((late as ApiException<unknown>).code).toBe(409);
  });

  test('records events of events.k8s.io', async () => {
    const cluster = await startCluster();
    const events = configOf(cluster).makeApiClient(EventsV1Api);
    await events.createNamespacedEvent({
      namespace: 'default',
      body: {
        metadata: { name: 'e' },
        eventTime: new V1MicroTime(),
        reason: 'Assigned',
        action: 'Assign',
        type: 'Normal',
        note: 'address assigned',
        regarding: { kind: 'FloatingIPPool', name: 'x', namespace: 'default' },
        reportingController: 'flipop',
        reportingInstance: 'flipop-0',
      },
    });
    expect(cluster.store.list('v1', 'Event')[0]).toMatchObject({ message: 'address assigned', involvedObject: { name: 'x' } });
  });

  test('watches, and is told when the server ends the watch', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a'));
    const seen: string[] = [];
    const done = new Promise<unknown>((resolve) => {
      const record = (type: string, object: JsonObject): void => void seen.push(`${type} ${(object.metadata as JsonObject).name}`);
      void new Watch(configOf(cluster)).watch(NODES, {}, record, resolve);
    });
    await expect.poll(() => seen).toEqual(['ADDED a']);
    await cluster.make(NODES, node('b'));
    await expect.poll(() => seen).toEqual(['ADDED a', 'ADDED b']);
    cluster.faults.cutWatches();
    expect(await done).toBeNull();
  });
});
