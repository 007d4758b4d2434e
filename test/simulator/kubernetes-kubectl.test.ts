import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { at, type Json, type JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Cluster, MERGE, NODES, node, PODS, POOLS, pod, pool, startCluster } from './kubernetes-support.ts';

/** What kubectl 1.28 and newer send: recorded from kubectl 1.35 at work on this simulator. */
const TABLE = {
  accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json',
};
const DISCOVERY = {
  accept:
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json',
};
const PROTOBUF = { 'content-type': 'application/vnd.kubernetes.protobuf', accept: 'application/vnd.kubernetes.protobuf,application/json' };

const list = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : []);

const columns = (table: JsonObject): string[] => list(table.columnDefinitions).map((column) => String(column.name));

const row = (table: JsonObject, index = 0): Record<string, Json> => {
  const cells = at(table, 'rows', index, 'cells');
  return Object.fromEntries(columns(table).map((name, place) => [name, Array.isArray(cells) ? (cells[place] ?? null) : null]));
};

const tableOf = async (cluster: Cluster, path: string): Promise<JsonObject> => {
  const { code, body } = await cluster.send('GET', path, undefined, TABLE);
  expect(code).toBe(200);
  expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
  return body;
};

describe('kubectl get', () => {
  test('of nodes prints status, roles, version and, wide, addresses', async () => {
    const cluster = await startCluster();
    const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
    const status = { conditions: [{ type: 'Ready', status: 'False' }], addresses, nodeInfo: { kubeletVersion: 'v1.36.3' } };
    const metadata = { name: 'a', labels: { 'node-role.kubernetes.io/worker': '' } };
    await cluster.make(NODES, node('a', { metadata, spec: { unschedulable: true }, status }));
    const table = await tableOf(cluster, NODES);
    expect(row(table)).toMatchObject({
      Name: 'a',
      Status: 'NotReady,SchedulingDisabled',
      Roles: 'worker',
      Version: 'v1.36.3',
      'Internal-IP': '10.0.0.1',
      'External-IP': '<none>',
    });
    expect(row(table).Age).toMatch(/^\d+s$/);
    expect(at(table, 'rows', 0, 'object', 'kind')).toBe('PartialObjectMetadata');
  });

  test('of pods prints readiness, phase and node', async () => {
    const cluster = await startCluster();
    await cluster.make(PODS, pod('p', 'a'));
    const status = { phase: 'Running', containerStatuses: [{ name: 'main', ready: true, restartCount: 2, state: { running: {} } }] };
    await cluster.send('PATCH', `${PODS}/p/status`, { status }, MERGE);
    expect(row(await tableOf(cluster, PODS))).toMatchObject({ Name: 'p', Ready: '1/1', Status: 'Running', Restarts: '2', Node: 'a' });
    await cluster.send('DELETE', `${PODS}/p`);
    expect(row(await tableOf(cluster, PODS)).Status).toBe('Terminating');
  });

  test('of pools prints the columns of their definition, empty where there is no value', async () => {
    const cluster = await startCluster();
    await cluster.make(POOLS, pool('x'));
    await cluster.send('PATCH', `${POOLS}/x/status`, { status: { activeIPs: 1 } }, MERGE);
    const table = await tableOf(cluster, POOLS);
    const wide = ['Message', 'Addresses', 'Paused'];
    expect(columns(table)).toEqual(['Name', 'Provider', 'Desired', 'Active', 'Ready', 'Reason', 'Error', 'Age', ...wide]);
    expect(row(table)).toMatchObject({ Name: 'x', Provider: 'digitalocean', Desired: 2, Active: 1, Error: null });
  });

  test('of one object and of a watch is a table too, with headings once', async () => {
    const cluster = await startCluster();
    await cluster.make(NODES, node('a'));
    expect(row(await tableOf(cluster, `${NODES}/a`)).Name).toBe('a');
    const controller = new AbortController();
    const response = await fetch(`${cluster.url}${NODES}?watch=true`, { headers: TABLE, signal: controller.signal });
    await cluster.make(NODES, node('b'));
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk as Uint8Array);
      if (text.split('\n').length > 2) break;
    }
    const [first, second] = text.split('\n').map((line) => (line === '' ? {} : (JSON.parse(line) as JsonObject)));
    expect(columns(at(first, 'object') as JsonObject)).toContain('Status');
    expect(at(second, 'object', 'columnDefinitions')).toBeNull();
    expect(at(second, 'object', 'rows', 0, 'cells', 0)).toBe('b');
  });

  test.each([
    ['/api/v1/namespaces', { Name: 'default', Status: 'Active' }],
    ['/api/v1/namespaces/default/services', { Name: 'kubernetes', Type: 'ClusterIP', 'Cluster-IP': '10.96.0.1', 'Port(s)': '443/TCP' }],
  ])('of %s prints what a real server prints', async (path, cells) => {
    const cluster = await startCluster();
    expect(row(await tableOf(cluster, path))).toMatchObject(cells);
  });

  test('of events and leases prints object, message and holder', async () => {
    const cluster = await startCluster();
    await cluster.make('/api/v1/namespaces/default/events', {
      metadata: { name: 'e' },
      involvedObject: { kind: 'FloatingIPPool', name: 'x' },
      type: 'Warning',
      reason: 'Quota',
      message: 'quota reached',
      lastTimestamp: new Date(Date.now() - 20.5 * 86_400_000).toISOString(),
    });
    const events = row(await tableOf(cluster, '/api/v1/namespaces/default/events'));
    expect(events).toMatchObject({
      'Last Seen': '20d',
      Type: 'Warning',
      Reason: 'Quota',
      Object: 'floatingippool/x',
      Message: 'quota reached',
    });
    await cluster.make('/apis/coordination.k8s.io/v1/namespaces/default/leases', {
      metadata: { name: 'l' },
      spec: { holderIdentity: 'me' },
    });
    expect(row(await tableOf(cluster, '/apis/coordination.k8s.io/v1/namespaces/default/leases')).Holder).toBe('me');
  });
});

describe('discovery', () => {
  test('in one document names resources with short names, scope and subresources', async () => {
    const cluster = await startCluster();
    const { headers, body } = await cluster.send('GET', '/apis', undefined, DISCOVERY);
    expect(headers.get('content-type')).toBe('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    const group = list(body.items).find((item) => at(item, 'metadata', 'name') === 'flipop.digitalocean.com');
    expect(at(group, 'versions', 0, 'resources', 0)).toMatchObject({
      resource: 'floatingippools',
      scope: 'Namespaced',
      responseKind: { kind: 'FloatingIPPool' },
      shortNames: ['fip'],
      categories: ['routedip-all'],
      subresources: [{ subresource: 'status' }],
    });
    const { body: core } = await cluster.send('GET', '/api', undefined, DISCOVERY);
    const nodes = list(at(core, 'items', 0, 'versions', 0, 'resources')).find(({ resource }) => resource === 'nodes');
    expect(nodes).toMatchObject({ scope: 'Cluster', shortNames: ['no'] });
  });

  test('in the older form is served as well', async () => {
    const cluster = await startCluster();
    expect((await cluster.send('GET', '/api')).body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    expect((await cluster.send('GET', '/apis/batch')).body).toMatchObject({
      kind: 'APIGroup',
      preferredVersion: { groupVersion: 'batch/v1' },
    });
    const { body } = await cluster.send('GET', '/api/v1');
    expect(list(body.resources).map(({ name }) => name)).toEqual(expect.arrayContaining(['pods', 'pods/status', 'pods/eviction', 'nodes']));
  });

  test('tells the version it was given, and that it is well', async () => {
    const cluster = await startCluster({ version: 'v1.31.7' });
    expect((await cluster.send('GET', '/version')).body).toMatchObject({ major: '1', minor: '31', gitVersion: 'v1.31.7' });
    for (const path of ['/healthz', '/readyz', '/livez']) expect((await cluster.send('GET', path)).body).toEqual({ text: 'ok' });
  });
});

describe('OpenAPI', () => {
  const documentOf = async (cluster: Cluster, key: string): Promise<JsonObject> => {
    // The index goes by another type than the JSON that it is.
    const body = (await (await fetch(`${cluster.url}/openapi/v3`)).json()) as JsonObject;
    const url = at(body, 'paths', key, 'serverRelativeURL');
    expect(url).toMatch(new RegExp(`^/openapi/v3/${key}\\?hash=[0-9A-F]+$`));
    return (await cluster.send('GET', String(url))).body;
  };

  const schemaOf = (document: JsonObject, kind: string): JsonObject => {
    const schemas = Object.values(at(document, 'components', 'schemas') as JsonObject) as JsonObject[];
    const found = schemas.find((schema) => list(schema['x-kubernetes-group-version-kind']).some((one) => one.kind === kind));
    expect(found, kind).toBeDefined();
    return found ?? {};
  };

  test('explains pools with the descriptions of their definition', async () => {
    const cluster = await startCluster();
    const document = await documentOf(cluster, 'apis/flipop.digitalocean.com/v1alpha1');
    const nodeLabel = at(schemaOf(document, 'FloatingIPPool'), 'properties', 'spec', 'properties', 'match', 'properties', 'nodeLabel');
    expect(nodeLabel).toMatchObject({ type: 'string', description: expect.stringContaining('Label selector for nodes') });
  });

  test('describes nodes and pods with all their types, by references that resolve', async () => {
    const cluster = await startCluster();
    const document = await documentOf(cluster, 'api/v1');
    expect(at(schemaOf(document, 'Node'), 'properties', 'spec', 'allOf', 0, '$ref')).toMatch(/NodeSpec$/);
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? '');
    expect(references.length).toBeGreaterThan(100);
    const schemas = at(document, 'components', 'schemas') as JsonObject;
    expect(references.filter((name) => schemas[name] === undefined)).toEqual([]);
    const conditions = Object.entries(schemas).find(([name]) => name.endsWith('.NodeStatus'))?.[1];
    expect(at(conditions, 'properties', 'conditions')).toMatchObject({ type: 'array', 'x-kubernetes-patch-merge-key': 'type' });
  });

  test('of the older form has the same types, also as the protobuf that kubectl before 1.29 asks for', async () => {
    const cluster = await startCluster();
    const { body } = await cluster.send('GET', '/openapi/v2');
    expect(Object.keys(at(body, 'definitions') as JsonObject)).toEqual(
      expect.arrayContaining(['com.digitalocean.flipop.v1alpha1.FloatingIPPool']),
    );
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const response = await fetch(`${cluster.url}/openapi/v2`, { headers: { accept } });
    // Go refuses a media type with an @ in it.
    expect(response.headers.get('content-type')).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(bytes.subarray(0, 5)).toEqual(Buffer.from([0x0a, 0x03, ...Buffer.from('2.0')]));
    expect(bytes.includes('#/definitions/io.k8s.api.core.v1.NodeSpec')).toBe(true);
  });

  test('offers a strategic merge patch for built-in kinds alone, so that kubectl diff chooses well', async () => {
    const cluster = await startCluster();
    const types = async (key: string, path: string): Promise<string[]> =>
      Object.keys(at(await documentOf(cluster, key), 'paths', path, 'patch', 'requestBody', 'content') as JsonObject);
    const strategic = 'application/strategic-merge-patch+json';
    expect(await types('api/v1', '/api/v1/nodes/{name}')).toContain(strategic);
    const pools = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/{namespace}/floatingippools/{name}';
    expect(await types('apis/flipop.digitalocean.com/v1alpha1', pools)).not.toContain(strategic);
  });

  test('says that the server checks fields, so that kubectl apply leaves that to it', async () => {
    const cluster = await startCluster();
    const document = await documentOf(cluster, 'apis/flipop.digitalocean.com/v1alpha1');
    const path = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/{namespace}/floatingippools/{name}';
    const patch = at(document, 'paths', path, 'patch');
    expect(at(patch, 'x-kubernetes-group-version-kind', 'kind')).toBe('FloatingIPPool');
    expect(list(at(patch, 'parameters')).map(({ name }) => name)).toContain('fieldValidation');
  });
});

describe('kubectl create with flags of its own', () => {
  const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]);
  const bytes = (number: number, content: string | Buffer): Buffer => {
    const data = Buffer.from(content);
    return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(data.length)]), data]);
  };
  const message = (kind: string, apiVersion: string, content: Buffer): Uint8Array<ArrayBuffer> => {
    const type = Buffer.concat([bytes(1, apiVersion), bytes(2, kind)]);
    return new Uint8Array(Buffer.concat([Buffer.from('k8s\0'), bytes(1, type), bytes(2, content)]));
  };

  test('sends protobuf and is understood', async () => {
    const cluster = await startCluster();
    const data = bytes(2, Buffer.concat([bytes(1, 'key'), bytes(2, 'value')]));
    const body = message('ConfigMap', 'v1', Buffer.concat([bytes(1, bytes(1, 'made')), data]));
    const response = await fetch(`${cluster.url}/api/v1/namespaces/default/configmaps`, { method: 'POST', headers: PROTOBUF, body });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ kind: 'ConfigMap', metadata: { name: 'made' }, data: { key: 'value' } });
  });

  test('is told when its message is of a kind that only JSON is read for', async () => {
    const cluster = await startCluster();
    const body = message('Deployment', 'apps/v1', bytes(1, bytes(1, 'made')));
    const path = `${cluster.url}/apis/apps/v1/namespaces/default/deployments`;
    expect((await fetch(path, { method: 'POST', headers: PROTOBUF, body })).status).toBe(415);
  });
});

test('kubectl auth can-i is always told yes', async () => {
  const cluster = await startCluster();
  const { code, body } = await cluster.send('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    spec: { resourceAttributes: { verb: 'delete', resource: 'nodes' } },
  });
  expect(code).toBe(201);
  expect(body).toMatchObject({ kind: 'SelfSubjectAccessReview', status: { allowed: true } });
});

test('kubectl drain evicts pods through their subresource', async () => {
  const cluster = await startCluster({ podTerminationMs: 10 });
  await cluster.make(PODS, pod('p', 'a'));
  const watch = await cluster.watch(`${PODS}?watch=1`);
  const { code } = await cluster.send('POST', `${PODS}/p/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } });
  expect(code).toBe(201);
  expect((await watch.until(3)).at(-1)?.type).toBe('DELETED');
});

test('the kubeconfig names the server on plain HTTP and skips verification', async () => {
  const cluster = await startCluster();
  const config = parse(cluster.kubeconfig()) as JsonObject;
  expect(at(config, 'clusters', 0, 'cluster')).toEqual({ server: cluster.url, 'insecure-skip-tls-verify': true });
});
