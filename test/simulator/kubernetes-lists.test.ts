import { describe, expect, test } from 'vitest';
import { at, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import {
  type Cluster,
  CONFIG_MAPS,
  configMap,
  MERGE,
  NODES,
  namesOf,
  node,
  PODS,
  POOLS,
  pod,
  pool,
  startCluster,
} from './kubernetes-support.ts';

const select = async (cluster: Cluster, path: string, selector: string): Promise<string[]> => {
  const { code, body } = await cluster.send('GET', `${path}?labelSelector=${encodeURIComponent(selector)}`);
  expect(code).toBe(200);
  return namesOf(body);
};

describe('a label selector', () => {
  test.each([
    ['tier=web', ['a', 'b']],
    ['tier==web,zone!=2', ['a']],
    ['tier in (web, db)', ['a', 'b', 'c']],
    ['tier notin (web)', ['c', 'd']],
    ['zone', ['a', 'b']],
    ['!tier', ['d']],
    ['tier in (web),zone in (2,3)', ['b']],
  ])('%s chooses %j', async (selector, names) => {
    const cluster = await startCluster();
    const labels: JsonObject = { a: { tier: 'web', zone: '1' }, b: { tier: 'web', zone: '2' }, c: { tier: 'db' }, d: {} };
    for (const [name, set] of Object.entries(labels)) await cluster.make(NODES, node(name, { metadata: { name, labels: set } }));
    expect(await select(cluster, NODES, selector)).toEqual(names);
  });

  test('that cannot be parsed is refused', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('GET', `${NODES}?labelSelector=${encodeURIComponent('a in (')}`);
    expect(code).toBe(400);
    expect(body).toMatchObject({ reason: 'BadRequest' });
    expect(body.message).toContain('unable to parse requirement');
  });
});

describe('a field selector', () => {
  test('chooses pods by node and phase', async () => {
    const cluster = await startCluster();
    await cluster.make(PODS, pod('p1', 'a'));
    await cluster.make(PODS, pod('p2', 'b'));
    await cluster.make(PODS, pod('p3', 'a'));
    await cluster.send('PATCH', `${PODS}/p3/status`, { status: { phase: 'Running' } }, MERGE);
    const names = async (selector: string): Promise<string[]> =>
      namesOf((await cluster.send('GET', `/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}`)).body);
    expect(await names('spec.nodeName=a')).toEqual(['p1', 'p3']);
    expect(await names('spec.nodeName=a,status.phase!=Running')).toEqual(['p1']);
    expect(await names('metadata.name=p2')).toEqual(['p2']);
    expect(await names('metadata.namespace=elsewhere')).toEqual([]);
  });

  test('on an unknown field is refused', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('GET', `${NODES}?fieldSelector=${encodeURIComponent('spec.colour=red')}`);
    expect(code).toBe(400);
    expect(body.message).toContain('field label not supported: spec.colour');
  });
});

describe('a list', () => {
  test('is sorted by namespace and name and bears the revision of the moment', async () => {
    const cluster = await startCluster();
    await cluster.make('/api/v1/namespaces/kube-system/configmaps', configMap('a'));
    await cluster.make(CONFIG_MAPS, configMap('z'));
    const last = await cluster.make(CONFIG_MAPS, configMap('b'));
    const { body } = await cluster.send('GET', '/api/v1/configmaps');
    expect(namesOf(body)).toEqual(['b', 'z', 'a']);
    expect(at(body, 'metadata', 'resourceVersion')).toBe(last.metadata.resourceVersion);
    expect(body).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
  });

  test('names kind and apiVersion of items for custom resources only', async () => {
    const cluster = await startCluster();
    await cluster.make(CONFIG_MAPS, configMap('a'));
    await cluster.make(POOLS, pool('x'));
    const { body: builtin } = await cluster.send('GET', CONFIG_MAPS);
    const { body: custom } = await cluster.send('GET', POOLS);
    expect(at(builtin, 'items', 0, 'kind')).toBeUndefined();
    expect(at(builtin, 'items', 0, 'metadata', 'name')).toBe('a');
    expect(at(custom, 'items', 0)).toMatchObject({ kind: 'FloatingIPPool', apiVersion: 'flipop.digitalocean.com/v1alpha1' });
  });

  test('in pages shows one moment, whatever happens between them', async () => {
    const cluster = await startCluster();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await cluster.make(CONFIG_MAPS, configMap(name));
    const first = await cluster.send('GET', `${CONFIG_MAPS}?limit=2`);
    expect(namesOf(first.body)).toEqual(['a', 'b']);
    expect(at(first.body, 'metadata', 'remainingItemCount')).toBe(3);
    await cluster.send('DELETE', `${CONFIG_MAPS}/c`);
    await cluster.make(CONFIG_MAPS, configMap('cc'));
    const second = await cluster.send('GET', `${CONFIG_MAPS}?limit=2&continue=${at(first.body, 'metadata', 'continue')}`);
    expect(namesOf(second.body)).toEqual(['c', 'd']);
    expect(at(second.body, 'metadata', 'resourceVersion')).toBe(at(first.body, 'metadata', 'resourceVersion'));
    const third = await cluster.send('GET', `${CONFIG_MAPS}?limit=2&continue=${at(second.body, 'metadata', 'continue')}`);
    expect(namesOf(third.body)).toEqual(['e']);
    expect(at(third.body, 'metadata', 'continue')).toBeUndefined();
  });

  test('page from before a compaction is expired, with a token for an inconsistent rest', async () => {
    const cluster = await startCluster();
    for (const name of ['a', 'b', 'c']) await cluster.make(CONFIG_MAPS, configMap(name));
    const first = await cluster.send('GET', `${CONFIG_MAPS}?limit=1`);
    cluster.faults.compact();
    const { code, body } = await cluster.send('GET', `${CONFIG_MAPS}?limit=1&continue=${at(first.body, 'metadata', 'continue')}`);
    expect(code).toBe(410);
    expect(body).toMatchObject({ reason: 'Expired', code: 410 });
    const rest = await cluster.send('GET', `${CONFIG_MAPS}?continue=${at(body, 'metadata', 'continue')}`);
    expect(namesOf(rest.body)).toEqual(['b', 'c']);
  });

  test('at a revision of the future is refused for now', async () => {
    const cluster = await startCluster();
    const { code, body } = await cluster.send('GET', `${NODES}?resourceVersion=999999`);
    expect(code).toBe(504);
    expect(body).toMatchObject({ reason: 'Timeout' });
    expect(body.message).toMatch(/^Too large resource version: 999999, current: \d+$/);
  });

  test('of metadata alone has no spec in it', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    const accept = { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' };
    const { body } = await cluster.send('GET', POOLS, undefined, accept);
    expect(body.kind).toBe('PartialObjectMetadataList');
    expect(Object.keys(at(body, 'items', 0) as JsonObject)).toEqual(['kind', 'apiVersion', 'metadata']);
  });
});
