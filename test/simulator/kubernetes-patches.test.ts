import { describe, expect, test } from 'vitest';
import { at, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import {
  type Cluster,
  CONFIG_MAPS,
  configMap,
  JSON_PATCH,
  MERGE,
  NODES,
  node,
  POOLS,
  pool,
  type Reply,
  STRATEGIC,
  startCluster,
} from './kubernetes-support.ts';

describe('a merge patch', () => {
  test('sets, replaces and removes, and leaves the rest', async () => {
    const cluster = await startCluster();
    await cluster.make(CONFIG_MAPS, configMap('a', { kept: '1', changed: '1', removed: '1' }));
    const { body } = await cluster.send('PATCH', `${CONFIG_MAPS}/a`, { data: { changed: '2', removed: null, added: '3' } }, MERGE);
    expect(body.data).toEqual({ kept: '1', changed: '2', added: '3' });
  });

  test('that names an older resourceVersion is a conflict', async () => {
    const cluster = await startCluster();
    const { metadata } = await cluster.make(CONFIG_MAPS, configMap('a'));
    await cluster.send('PATCH', `${CONFIG_MAPS}/a`, { data: { key: '1' } }, MERGE);
    const stale = { metadata: { resourceVersion: metadata.resourceVersion ?? '' }, data: { key: '2' } };
    const { code, body } = await cluster.send('PATCH', `${CONFIG_MAPS}/a`, stale, MERGE);
    expect(code).toBe(409);
    expect(body.reason).toBe('Conflict');
  });

  test('of nothing is not found', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('PATCH', `${CONFIG_MAPS}/none`, {}, MERGE);
    expect(code).toBe(404);
    expect(body.message).toBe('configmaps "none" not found');
  });
});

describe('a JSON patch', () => {
  test('adds, replaces and removes by path', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x', { provider: 'digitalocean', ips: ['192.0.2.1'] }));
    const patch = [
      { op: 'test', path: '/spec/provider', value: 'digitalocean' },
      { op: 'add', path: '/spec/ips/-', value: '192.0.2.2' },
      { op: 'add', path: '/spec/region', value: 'nyc3' },
    ];
    const { body } = await cluster.send('PATCH', `${POOLS}/x`, patch, JSON_PATCH);
    expect(body.spec).toEqual({ provider: 'digitalocean', ips: ['192.0.2.1', '192.0.2.2'], region: 'nyc3' });
  });

  test('whose test fails changes nothing', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const patch = [
      { op: 'replace', path: '/spec/desiredIPs', value: 9 },
      { op: 'test', path: '/spec/provider', value: 'other' },
    ];
    expect((await cluster.send('PATCH', `${POOLS}/x`, patch, JSON_PATCH)).code).toBe(422);
    expect(at((await cluster.send('GET', `${POOLS}/x`)).body, 'spec', 'desiredIPs')).toBe(2);
  });
});

describe('a strategic merge patch', () => {
  test('merges conditions by type', async () => {
    const cluster = await startCluster();
    const conditions = [
      { type: 'Ready', status: 'True', reason: 'KubeletReady' },
      { type: 'DiskPressure', status: 'False' },
    ];
    await cluster.make(NODES, node('a', { status: { conditions } }));
    const patch = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
    const { body } = await cluster.send('PATCH', `${NODES}/a/status`, patch, STRATEGIC);
    expect(at(body, 'status', 'conditions')).toEqual([
      { type: 'Ready', status: 'False', reason: 'KubeletReady' },
      { type: 'DiskPressure', status: 'False' },
    ]);
  });

  test('replaces lists without a merge key, as taints', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a', { spec: { taints: [{ key: 'old', effect: 'NoSchedule' }] } }));
    const patch = { spec: { taints: [{ key: 'new', effect: 'NoExecute' }] } };
    const { body } = await cluster.send('PATCH', `${NODES}/a`, patch, STRATEGIC);
    expect(at(body, 'spec', 'taints')).toEqual([{ key: 'new', effect: 'NoExecute' }]);
  });

  test('deletes, orders and replaces by its directives', async () => {
    const cluster = await startCluster();
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
      { name: 'C', value: '3' },
    ];
    const path = '/api/v1/namespaces/default/podtemplates';
    await cluster.make(path, { metadata: { name: 't' }, template: { spec: { containers: [{ name: 'main', image: 'i:1', env }] } } });
    const container = { name: 'main', '$setElementOrder/env': [{ name: 'C' }, { name: 'A' }], env: [{ name: 'B', $patch: 'delete' }] };
    const { body } = await cluster.send('PATCH', `${path}/t`, { template: { spec: { containers: [container] } } }, STRATEGIC);
    expect(at(body, 'template', 'spec', 'containers', 0, 'env')).toEqual([
      { name: 'C', value: '3' },
      { name: 'A', value: '1' },
    ]);
    const labels = { metadata: { labels: { $patch: 'replace', only: 'this' } } };
    const replaced = await cluster.send('PATCH', `${path}/t`, labels, STRATEGIC);
    expect(at(replaced.body, 'metadata', 'labels')).toEqual({ only: 'this' });
  });

  test('adds and removes finalizers one by one', async () => {
    const cluster = await startCluster();
    await cluster.make(CONFIG_MAPS, configMap('a', {}, { finalizers: ['example.com/a', 'example.com/b'] }));
    const patch = { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'], finalizers: ['example.com/c'] } };
    const { body } = await cluster.send('PATCH', `${CONFIG_MAPS}/a`, patch, STRATEGIC);
    expect(at(body, 'metadata', 'finalizers')).toEqual(['example.com/b', 'example.com/c']);
  });

  test('is refused for custom resources, with the types that are taken', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const { code, body } = await cluster.send('PATCH', `${POOLS}/x`, {}, STRATEGIC);
    expect(code).toBe(415);
    expect(body.reason).toBe('UnsupportedMediaType');
    expect(body.message).toContain('application/merge-patch+json');
  });
});

describe('server-side apply', () => {
  const APPLY = { 'content-type': 'application/apply-patch+yaml' };
  const configuration = (data: JsonObject): JsonObject => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data });
  const apply = (cluster: Cluster, manager: string, data: JsonObject): Promise<Reply> =>
    cluster.send('PATCH', `${CONFIG_MAPS}/a?fieldManager=${manager}`, configuration(data), APPLY);

  test('creates what is missing and takes YAML', async () => {
    const cluster = await startCluster();
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: value}\n';
    const { code, body } = await cluster.send('PATCH', `${CONFIG_MAPS}/a?fieldManager=me`, text, APPLY);
    expect(code).toBe(201);
    expect(body).toMatchObject({ data: { key: 'value' }, metadata: { managedFields: [{ manager: 'me', operation: 'Apply' }] } });
  });

  test('removes what its manager no longer names and keeps what others own', async () => {
    const cluster = await startCluster();
    await apply(cluster, 'one', { a: '1', b: '2' });
    await apply(cluster, 'two', { c: '3' });
    const { body } = await apply(cluster, 'one', { a: '1' });
    expect(body.data).toEqual({ a: '1', c: '3' });
  });

  test('again with the same configuration changes nothing', async () => {
    const cluster = await startCluster();
    const first = await apply(cluster, 'one', { a: '1' });
    const second = await apply(cluster, 'one', { a: '1' });
    expect(second.body).toEqual(first.body);
  });

  test('is a conflict over a field of another manager, unless forced', async () => {
    const cluster = await startCluster();
    await apply(cluster, 'one', { a: '1' });
    const { code, body } = await apply(cluster, 'two', { a: '2' });
    expect(code).toBe(409);
    expect(body.message).toBe('Apply failed with 1 conflict: conflict with "one": .data.a');
    const forced = await cluster.send('PATCH', `${CONFIG_MAPS}/a?fieldManager=two&force=true`, configuration({ a: '2' }), APPLY);
    expect(forced.body.data).toEqual({ a: '2' });
    expect((await apply(cluster, 'one', { a: '1' })).code).toBe(409);
  });

  test('meets an owner in what was there before the first apply', async () => {
    const cluster = await startCluster();
    await cluster.make(CONFIG_MAPS, configMap('a', { a: '1', b: '2' }));
    expect((await apply(cluster, 'one', { a: '2' })).code).toBe(409);
    expect((await apply(cluster, 'one', { a: '1', c: '3' })).body.data).toEqual({ a: '1', b: '2', c: '3' });
  });

  test('merges lists of a custom resource by their keys', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const condition = (type: string): JsonObject => ({
      type,
      status: 'True',
      reason: 'R',
      message: 'm',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    const report = (manager: string, ...types: string[]): Promise<Reply> => {
      const { spec: _spec, ...head } = pool('x');
      const body = { ...head, status: { conditions: types.map(condition) } };
      return cluster.send('PATCH', `${POOLS}/x/status?fieldManager=${manager}`, body, APPLY);
    };
    const types = ({ body }: Reply): unknown => (at(body, 'status', 'conditions') as JsonObject[]).map(({ type }) => type);
    await report('one', 'Ready');
    expect(types(await report('two', 'Degraded'))).toEqual(['Ready', 'Degraded']);
    expect(types(await report('one'))).toEqual(['Degraded']);
    expect((await report('two')).body).toMatchObject({ status: { conditions: [] } });
  });

  test('needs a manager', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('PATCH', `${CONFIG_MAPS}/a`, configuration({}), APPLY);
    expect(code).toBe(422);
    expect(body.message).toContain('fieldManager: Required value');
  });
});
