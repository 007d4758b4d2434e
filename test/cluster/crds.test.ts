import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, applyFile, createNamespace, installCrds, type KubeObject, objectsIn, pathOf } from '../support/kube-apply.ts';
import type { ApiResponse } from '../support/kube-client.ts';
import { waitFor } from '../support/wait-for.ts';

const SAMPLES = join(import.meta.dirname, '../../crds/samples');
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/floatingippools.flipop.digitalocean.com';
const recordSets = (namespace: string): string => `/apis/flipop.digitalocean.com/v1alpha1/namespaces/${namespace}/nodednsrecordsets`;
const pools = (namespace: string): string => `/apis/flipop.digitalocean.com/v1alpha1/namespaces/${namespace}/floatingippools`;

const pool = (name: string, spec: Record<string, unknown>): KubeObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'FloatingIPPool',
  metadata: { name, namespace: 'default' },
  spec: { provider: 'digitalocean', region: 'nyc3', ...spec },
});

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
});

afterAll(() => cluster?.stop());

describe('a published manifest', () => {
  // Those of RoutedIPs get defaults, and have tests of their own.
  const samples = readdirSync(SAMPLES).filter((file) => file.endsWith('.yaml') && !file.startsWith('routedip'));

  test('of both kinds is among the samples', () =>
    expect(samples).toEqual(expect.arrayContaining(['floatingippool.yaml', 'nodednsrecordset.yaml'])));

  test.each(samples)('in %s is accepted and keeps every field', async (file) => {
    const namespace = await createNamespace(cluster, file.replace('.yaml', ''));
    await applyFile(cluster, join(SAMPLES, file), namespace);
    const [sample] = objectsIn(join(SAMPLES, file));
    if (!sample?.spec) throw new Error(`${file} holds no object with a spec`);
    const { body } = await cluster.send(await pathOf(cluster, sample, namespace));
    expect(body.spec).toEqual(sample.spec);
  });

  test('may ask for a fraction of a second between assignments', async () => {
    const { status, body } = await apply(cluster, pool('fraction', { desiredIPs: 1, assignmentCoolOffSeconds: 0.25 }));
    expect(status).toBe(201);
    expect(body.spec.assignmentCoolOffSeconds).toBe(0.25);
  });

  test('may list IPv6 addresses', async () => {
    expect((await apply(cluster, pool('ipv6', { ips: ['2604:a880:4:1d0::1', '::1', '1:2:3:4:5:6:7:8'] }))).status).toBe(201);
  });

  test('loses fields that nobody knows', async () => {
    const { status, body } = await apply(cluster, pool('unknown', { desiredIPs: 1, gracePeriod: 5 }));
    expect(status).toBe(201);
    expect(body.spec).not.toHaveProperty('gracePeriod');
  });
});

describe('a wrong manifest', () => {
  test.each([
    ['no provider', { provider: undefined, desiredIPs: 1 }, 'spec.provider: Required value'],
    ['a provider that is a number', { provider: 7, desiredIPs: 1 }, 'spec.provider: Invalid value'],
    ['an address out of range', { ips: ['999.1.1.1'] }, /spec\.ips(\[0\])?: Invalid value/],
    ['an address with leading zeros', { ips: ['1.2.3.4', '010.1.1.1'] }, /spec\.ips(\[1\])?: Invalid value/],
    ['a short address', { ips: ['1.2.3'] }, /spec\.ips(\[0\])?: Invalid value/],
    ['a host name for an address', { ips: ['example.com'] }, /spec\.ips(\[0\])?: Invalid value/],
    ['an IPv6 address with a zone', { ips: ['fe80::1%eth0'] }, /spec\.ips(\[0\])?: Invalid value/],
    ['an address twice', { ips: ['1.2.3.4', '1.2.3.4'] }, 'spec.ips[1]: Duplicate value: "1.2.3.4"'],
    ['a single address that is no list', { ips: '1.2.3.4' }, 'spec.ips: Invalid value'],
    ['fewer than no addresses', { desiredIPs: -1 }, 'should be greater than or equal to 0'],
    ['half an address', { desiredIPs: 1.5 }, 'spec.desiredIPs: Invalid value'],
    ['a number in quotes', { desiredIPs: '3' }, 'spec.desiredIPs: Invalid value'],
    ['a negative pause', { desiredIPs: 1, assignmentCoolOffSeconds: -0.5 }, 'should be greater than or equal to 0'],
    ['a match that is a list', { desiredIPs: 1, match: ['a=b'] }, 'spec.match: Invalid value'],
    ['a selector that is an object', { desiredIPs: 1, match: { nodeLabel: { a: 'b' } } }, 'spec.match.nodeLabel: Invalid value'],
    [
      'a negative time to live',
      { desiredIPs: 1, dnsRecordSet: { zone: 'example.com', recordName: 'a', ttl: -1 } },
      'should be greater than or equal to 0',
    ],
  ])('with %s is refused by the schema', async (_, spec, message) => {
    const { status, body } = await apply(cluster, pool('wrong', spec));
    expect(body.message).toMatch(message);
    expect(status).toBe(422);
  });

  test.each([
    ['neither addresses nor a number of them', {}, 'ips or desiredIPs must be provided'],
    ['an empty list and none wanted', { ips: [], desiredIPs: 0 }, 'ips or desiredIPs must be provided'],
    ['a record set without a name', { desiredIPs: 1, dnsRecordSet: { zone: 'example.com' } }, 'invalid dnsRecordSet specification'],
  ])('with %s is refused by a rule, in its words', async (_, spec, message) => {
    const { status, body } = await apply(cluster, pool('wrong-rule', spec));
    expect(body.message).toContain(message);
    expect(status).toBe(422);
  });
});

const recordSet = (name: string, spec: Record<string, unknown>, namespace = 'default'): KubeObject => ({
  apiVersion: 'flipop.digitalocean.com/v1alpha1',
  kind: 'NodeDNSRecordSet',
  metadata: { name, namespace },
  spec: { dnsRecordSet: { zone: 'example.com', recordName: 'nodes' }, ...spec },
});

describe('a wrong manifest of a record set', () => {
  test.each([
    ['an address type that nobody knows', { addressType: 'Hostname' }, 'spec.addressType: Unsupported value'],
    ['a time to live that is text', { dnsRecordSet: { zone: 'a.b', recordName: 'c', ttl: '60' } }, 'spec.dnsRecordSet.ttl: Invalid value'],
    ['a negative time to live', { dnsRecordSet: { zone: 'a.b', recordName: 'c', ttl: -1 } }, 'should be greater than or equal to 0'],
    ['a zone that is a list', { dnsRecordSet: { zone: ['a.b'], recordName: 'c' } }, 'spec.dnsRecordSet.zone: Invalid value'],
  ])('with %s is refused by the schema', async (_, spec, message) => {
    const { status, body } = await apply(cluster, recordSet('wrong', spec));
    expect(body.message).toContain(message);
    expect(status).toBe(422);
  });

  test.each([
    ['no record', { dnsRecordSet: undefined }],
    ['no zone', { dnsRecordSet: { recordName: 'nodes' } }],
    ['no name', { dnsRecordSet: { zone: 'example.com' } }],
  ])('with %s is refused by a rule, in its words', async (_, spec) => {
    const { status, body } = await apply(cluster, recordSet('wrong-rule', spec));
    expect(body.message).toContain('invalid dnsRecordSet specification');
    expect(status).toBe(422);
  });
});

describe('a record set', () => {
  test('keeps what the operator writes into its status, and shows it in a table', async () => {
    const namespace = await createNamespace(cluster, 'record-sets');
    expect((await apply(cluster, recordSet('nodes', {}, namespace))).status).toBe(201);
    const path = `${recordSets(namespace)}/nodes`;
    const conditions = ['Ready', 'Progressing', 'Degraded'].map((type) => ({
      type,
      status: 'True',
      reason: 'Published',
      message: 'as it should be',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-02T03:04:05Z',
    }));
    const addresses = ['203.0.113.1', '203.0.113.2'];
    const shownStatus = { state: 'error', error: 'Failed to update DNS: 503', records: 2, addresses };
    const status = { ...shownStatus, observedGeneration: 1, term: 3, conditions };
    expect((await cluster.send(`${path}/status`, { method: 'PATCH', body: { status } })).status).toBe(200);
    expect((await cluster.send(path)).body.status).toEqual(status);
    const wrong = await cluster.send(`${path}/status`, { method: 'PATCH', body: { status: { state: 'lost' } } });
    expect(wrong.body.message).toContain('status.state: Unsupported value');
    const { body } = await cluster.send(recordSets(namespace), { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    const columns = body.columnDefinitions.map(({ name }: { name: string }) => name);
    expect(columns).toEqual(['Name', 'Zone', 'Record', 'State', 'Records', 'Ready', 'Reason', 'Error', 'Age', 'Message', 'Addresses']);
    const [shown] = body.rows;
    expect(shown.cells.slice(0, 8)).toEqual([
      'nodes',
      'example.com',
      'nodes',
      'error',
      2,
      'True',
      'Published',
      'Failed to update DNS: 503',
    ]);
    expect(shown.cells.slice(-2)).toEqual(['as it should be', JSON.stringify(addresses)]);
  });
});

describe('the status of a pool', () => {
  const path = `${pools('default')}/status-test`;
  const patch = (status: unknown): Promise<ApiResponse> => cluster.send(`${path}/status`, { method: 'PATCH', body: { status } });
  const condition = (type: string, reason: string): unknown => ({
    type,
    status: 'True',
    reason,
    message: 'as it should be',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-02T03:04:05Z',
  });

  beforeAll(async () => {
    expect((await apply(cluster, pool('status-test', { desiredIPs: 2 }))).status).toBe(201);
  });

  test('keeps all that a rebuild needs', async () => {
    const status = {
      ips: {
        '1.2.3.4': {
          state: 'in-progress',
          nodeName: 'node-a',
          providerID: 'digitalocean://1',
          error: 'assign 1.2.3.4: 503',
          machineState: 'Assigning',
          origin: 'Created',
          electedNode: 'node-b',
          previousNodes: ['node-a'],
          epoch: 7,
          coolOffUntil: '2026-01-02T03:04:05.678Z',
          inDoubt: true,
        },
        '2604:a880:4:1d0::1': { state: 'unassigned' },
      },
      activeIPs: 1,
      assignableNodes: ['node-c', 'node-b'],
      nodeErrors: ['node-d'],
      observedGeneration: 1,
      lastAssignmentTime: '2026-01-02T03:04:05.678Z',
      term: 12,
      pendingCreate: { provider: 'digitalocean', region: 'nyc3', knownAddresses: ['1.2.3.4'], startedAt: '2026-01-02T03:04:05.678Z' },
      error: 'creating new ip with provider: quota',
      conditions: [condition('Ready', 'AllActive'), condition('Progressing', 'Assigning'), condition('Degraded', 'CreateFailed')],
    };
    expect((await patch(status)).status).toBe(200);
    expect((await cluster.send(path)).body.status).toEqual(status);
  });

  test('and the spec are written apart', async () => {
    const before = (await cluster.send(path)).body;
    await cluster.send(`${path}/status`, { method: 'PATCH', body: { spec: { desiredIPs: 9 }, status: { term: 13 } } });
    await cluster.send(path, { method: 'PATCH', body: { status: { term: 99 } } });
    const after = (await cluster.send(path)).body;
    expect(after.spec).toEqual(before.spec);
    expect(after.status.term).toBe(13);
    expect(after.metadata.generation).toBe(before.metadata.generation);
  });

  test('loses one address by a patch and keeps the others', async () => {
    await patch({ ips: { '1.2.3.4': { state: 'active' }, '5.6.7.8': { state: 'active' } } });
    expect((await patch({ ips: { '1.2.3.4': null } })).status).toBe(200);
    const { ips } = (await cluster.send(path)).body.status;
    expect(ips).toHaveProperty(['5.6.7.8']);
    expect(ips).not.toHaveProperty(['1.2.3.4']);
  });

  test.each([
    ['a state that does not exist', { ips: { '1.2.3.4': { state: 'lost' } } }, 'status.ips.1.2.3.4.state: Unsupported value'],
    ['an address without state', { ips: { '9.9.9.9': { nodeName: 'node-a' } } }, 'status.ips.9.9.9.9.state: Required value'],
    ['a time that is none', { lastAssignmentTime: 'yesterday' }, 'status.lastAssignmentTime'],
  ])('is refused with %s', async (_, status, message) => {
    const answer = await patch(status);
    expect(answer.body.message).toContain(message);
    expect(answer.status).toBe(422);
  });

  test('is written by a patch that carries the resourceVersion seen, and refused after a change', async () => {
    const seen: string = (await cluster.send(path)).body.metadata.resourceVersion;
    const write = (term: number): Promise<ApiResponse> =>
      cluster.send(`${path}/status`, { method: 'PATCH', body: { metadata: { resourceVersion: seen }, status: { term } } });
    expect((await write(20)).status).toBe(200);
    expect((await write(21)).status).toBe(409);
  });
});

describe('the description of a field', () => {
  test('is published for kubectl explain', async () => {
    const definition = 'com.digitalocean.flipop.v1alpha1.FloatingIPPool';
    const published = async (): Promise<string | undefined> => {
      const { body } = await cluster.send('/openapi/v2');
      // Old servers send it without a content type.
      const { definitions } = typeof body === 'string' ? JSON.parse(body) : body;
      return definitions[definition]?.properties.spec.properties.desiredIPs.description;
    };
    await waitFor('the schema is published', async () => (await published()) !== undefined, 25_000);
    expect(await published()).toContain('Number of addresses in the pool');
  });
});

describe('the table of pools', () => {
  test('has people see provider, desired, active, whether it is ready, why, error and age; more with -o wide', async () => {
    const namespace = await createNamespace(cluster, 'table');
    await apply(cluster, { ...pool('ingress-pool', { desiredIPs: 3 }), metadata: { name: 'ingress-pool', namespace } });
    const ready = {
      type: 'Ready',
      status: 'False',
      reason: 'InvalidSpec',
      message: 'unknown provider',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    };
    const status = { activeIPs: 2, error: 'unknown provider "x"', conditions: [ready] };
    await cluster.send(`${pools(namespace)}/ingress-pool/status`, { method: 'PATCH', body: { status } });
    const { body } = await cluster.send(pools(namespace), { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual([
      'Name',
      'Provider',
      'Desired',
      'Active',
      'Ready',
      'Reason',
      'Error',
      'Age',
      'Message',
      'Addresses',
      'Paused',
    ]);
    expect(body.rows[0].cells.slice(0, 7)).toEqual(['ingress-pool', 'digitalocean', 3, 2, 'False', 'InvalidSpec', 'unknown provider "x"']);
  });
});

describe('a pool stored under a schema without the additions', () => {
  test('stays readable and takes the added status once the schema is replaced', async () => {
    const { body: ours } = await cluster.send(CRD);
    const bare = structuredClone(ours.spec.versions);
    const { spec, status } = bare[0].schema.openAPIV3Schema.properties;
    spec.properties.ips = { type: 'array', items: { type: 'string' } };
    for (const added of ['activeIPs', 'conditions', 'lastAssignmentTime', 'observedGeneration', 'pendingCreate', 'term']) {
      expect(status.properties).toHaveProperty(added);
      delete status.properties[added];
    }
    delete status.default;
    const path = `${pools('default')}/older`;
    const write = (body: unknown): Promise<ApiResponse> => cluster.send(`${path}/status`, { method: 'PATCH', body: { status: body } });

    await cluster.send(CRD, { method: 'PATCH', body: { spec: { versions: bare } } });
    const older = pool('older', { ips: ['1.2.3.4', '1.2.3.4'] });
    // The server takes up a changed schema a moment after it accepted it.
    await waitFor('an address may be listed twice', async () => (await apply(cluster, older)).status < 300);
    expect((await write({ error: 'old', term: 3 })).body.status).toEqual({ error: 'old' });
    await cluster.send(CRD, { method: 'PATCH', body: { spec: { versions: ours.spec.versions } } });
    await waitFor('the term is kept', async () => (await write({ error: 'old', term: 3 })).body.status?.term === 3);

    // An address listed twice would be refused in a new pool; here it must not keep the operator from writing.
    expect((await cluster.send(path)).body).toMatchObject({ spec: { ips: ['1.2.3.4', '1.2.3.4'] }, status: { error: 'old', term: 3 } });
  });
});
