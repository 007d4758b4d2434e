import { describe, expect, onTestFinished, test } from 'vitest';
import { connectionOf, type KubeClient, KubeClientError, kubeClient } from '../../simulator/kubernetes/client.ts';
import {
  addNode,
  addNodes,
  addPod,
  cordon,
  createNamespace,
  labelNode,
  removeNode,
  removePod,
  setNodeReady,
  setPod,
  setTaints,
} from '../../simulator/kubernetes/cluster.ts';
import { at, type Json } from '../../simulator/kubernetes/objects.ts';
import { type Cluster, startCluster } from './kubernetes-support.ts';

const withClient = async (): Promise<{ cluster: Cluster; client: KubeClient }> => {
  const cluster = await startCluster();
  const client = kubeClient(connectionOf(cluster.kubeconfig()));
  onTestFinished(() => client.close());
  return { cluster, client };
};

const ready = (object: Json | undefined): Json | undefined => {
  const conditions = at(object, 'status', 'conditions');
  return (Array.isArray(conditions) ? conditions : []).find((condition) => at(condition, 'type') === 'Ready');
};

describe('a cluster built for a scenario', () => {
  test('has ready nodes with provider ids', async () => {
    const { client } = await withClient();
    await addNodes(client, 3, { prefix: 'web', firstDroplet: 101, labels: { pool: 'ingress' }, region: 'nyc3' });
    const nodes = await client.list('v1', 'Node', { selector: 'pool=ingress' });
    expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['web-1', 'web-2', 'web-3']);
    expect(nodes.map((node) => at(node, 'spec', 'providerID'))).toEqual(['digitalocean://101', 'digitalocean://102', 'digitalocean://103']);
    expect(nodes.map((node) => at(ready(node), 'status'))).toEqual(['True', 'True', 'True']);
  });

  test('lets nodes fail, recover, be tainted, relabelled, cordoned and removed', async () => {
    const { client } = await withClient();
    await addNode(client, { name: 'a', dropletID: 1 });
    expect(at(ready(await setNodeReady(client, 'a', false)), 'status')).toBe('False');
    expect(at(ready(await setNodeReady(client, 'a', true)), 'status')).toBe('True');
    expect(at(await setTaints(client, 'a', [{ key: 'k', effect: 'NoSchedule' }]), 'spec', 'taints')).toHaveLength(1);
    expect(at(await cordon(client, 'a', true), 'spec', 'unschedulable')).toBe(true);
    expect((await labelNode(client, 'a', { 'kubernetes.io/os': null, more: 'yes' })).metadata.labels).toEqual({
      'kubernetes.io/hostname': 'a',
      more: 'yes',
    });
    await removeNode(client, 'a');
    await expect(client.get({ apiVersion: 'v1', kind: 'Node', name: 'a' })).rejects.toThrow(KubeClientError);
  });

  test('has running and ready pods of the size asked for', async () => {
    const { client } = await withClient();
    await createNamespace(client, 'ingress');
    const pod = await addPod(client, { name: 'p', namespace: 'ingress', node: 'a', labels: { app: 'x' }, bytes: 8192 });
    expect(pod).toMatchObject({ spec: { nodeName: 'a' }, status: { phase: 'Running' } });
    expect(at(ready(pod), 'status')).toBe('True');
    expect(JSON.stringify(pod).length).toBeGreaterThanOrEqual(8192);
    const failed = await setPod(client, { name: 'p', namespace: 'ingress' }, { ready: false });
    expect(at(ready(failed), 'status')).toBe('False');
    await removePod(client, { name: 'p', namespace: 'ingress' });
    expect(await client.list('v1', 'Pod', { namespace: 'ingress' })).toEqual([]);
  });

  test('tells what was refused and why', async () => {
    const { client } = await withClient();
    await addNode(client, { name: 'a' });
    const error = await addNode(client, { name: 'a' }).catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(KubeClientError);
    expect(error).toMatchObject({ code: 409, reason: 'AlreadyExists', message: expect.stringContaining('nodes "a" already exists') });
  });
});

describe('a big cluster', () => {
  test('of 1000 nodes is listed, selected from and watched without delay', async () => {
    const { cluster, client } = await withClient();
    for (let index = 0; index < 1000; index++) {
      const labels = { pool: index % 10 === 0 ? 'few' : 'many' };
      cluster.store.create({
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: `n-${index}`, labels },
        status: { note: 'x'.repeat(4000) },
      });
    }
    expect(await client.list('v1', 'Node')).toHaveLength(1000);
    expect(await client.list('v1', 'Node', { selector: 'pool=few' })).toHaveLength(100);
    const watch = await cluster.watch('/api/v1/nodes?watch=1&labelSelector=pool%3Dfew');
    await watch.until(100);
    const writes = 200;
    const tookMs = Array.from({ length: writes }, (_, index) => {
      const start = performance.now();
      cluster.store.patch({ apiVersion: 'v1', kind: 'Node', name: 'n-0' }, { metadata: { labels: { turn: `${index}` } } });
      return performance.now() - start;
    });
    await watch.until(100 + writes);
    // Typically 0.1 ms; the one in the middle, since a machine may stand still in some. The bound leaves room for a busy one, and none for work that grows
    // with what all nodes say: 4 MB.
    expect(tookMs.toSorted((one, other) => one - other)[writes / 2]).toBeLessThan(8);
  });
});
