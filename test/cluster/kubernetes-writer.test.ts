import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Connection, Request } from '../../adapters/kubernetes/client/connection.ts';
import { KubernetesWriter, WRITER_TIMINGS } from '../../adapters/kubernetes/writer/writer.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, installCrds, installRoles } from '../support/kube-apply.ts';
import { connectBy } from '../support/kube-connection.ts';
import { PENDING } from '../support/pending.ts';
import { waitFor } from '../support/wait-for.ts';

const OPERATOR = 'routedip-operator';
const NODE = '/api/v1/nodes/node-a';
const apiVersion = 'routedip.io/v1alpha1';
const WEB = `/apis/${apiVersion}/namespaces/default/routedips/web`;
const CLASS = `/apis/${apiVersion}/clusterroutedipclasses/standard`;
const FINALIZER = 'routedip.io/finalizer';
const OURS = { key: 'routedip.io/routed-ip', effect: 'NoSchedule' };
/** Ends as soon as all is written: this only has to be longer than that takes. */
const FLUSH_MS = 20_000;
const FOREIGN = { key: 'dedicated', value: 'ingress', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' };

let cluster: Cluster;
let connection: Connection;
const lines: string[] = [];
/** How far the writers' clock is ahead, ms. */
let aheadMs = 0;

/** A writer with the shipped roles, before whose requests `before` runs. It ends with the test: the next one has the same node. */
const writerWith = (before: (request: Request) => Promise<unknown> = async () => undefined): KubernetesWriter => {
  const send = async (request: Request): Promise<unknown> => {
    await before(request);
    return connection.send(request);
  };
  const note = (message: string, fields = {}): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const writer = new KubernetesWriter({
    connection: { ...connection, send },
    clock: { ...systemClock(), now: () => Date.now() + aheadMs },
    random: () => 0.5,
    log: { debug: note, info: note, warn: note, error: note },
    seen: { object: () => null, nodes: () => [], node: () => null, nodesBearing: () => [] },
    instance: 'test',
    timings: WRITER_TIMINGS,
  });
  onTestFinished(() => writer.close());
  return writer;
};

const get = async (path: string) => (await cluster.send(path)).body;

const setTaints = async (taints: readonly unknown[] | null): Promise<void> => {
  expect((await cluster.send(NODE, { method: 'PATCH', body: { spec: { taints } } })).status).toBe(200);
};

const isPatchOf =
  (path: string) =>
  (request: Request): boolean =>
    request.method === 'PATCH' && request.path === path;

/** Calls `meddle` before each of the first three requests that `concerns`. */
const meddling = (concerns: (request: Request) => boolean, meddle: (count: number) => Promise<unknown>) => {
  let count = 0;
  const writer = writerWith(async (request) => {
    if (!concerns(request) || count === 3) return;
    count += 1;
    await meddle(count);
  });
  return { writer, met: () => count };
};

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  await installRoles(cluster);
  expect((await apply(cluster, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } })).status).toBe(201);
  connection = connectBy(cluster.kubeconfigFor(await cluster.tokenFor(OPERATOR, OPERATOR)));
});

afterAll(async () => {
  await connection?.close();
  await cluster?.stop();
});

beforeEach(() => {
  lines.length = 0;
  aheadMs = 0;
});

describe('the taint of a holder, on a real API server', () => {
  test('is put on a node without taints, and with it goes the list', async () => {
    await setTaints(null);
    const writer = writerWith();
    await writer.markHolder('node-a', 'NoSchedule');
    expect((await get(NODE)).spec.taints).toEqual([OURS]);
    await writer.markHolder('node-a', 'PreferNoSchedule');
    expect((await get(NODE)).spec.taints).toEqual([{ ...OURS, effect: 'PreferNoSchedule' }]);
    writer.markHolders({}, true);
    await writer.flush(FLUSH_MS);
    expect((await get(NODE)).spec).not.toHaveProperty('taints');
    expect(lines).toEqual([]);
  });

  test.each([
    ['that has none', null],
    ['that has others', [FOREIGN]],
  ])('stands beside what somebody else writes at the same moment, on a node %s', async (_which, before) => {
    await setTaints(before);
    const others = (count: number) => [...(before ?? []), { key: `other-${count}`, effect: 'NoSchedule' }];
    const { writer, met } = meddling(isPatchOf(NODE), (count) => setTaints(others(count)));
    await writer.markHolder('node-a', 'NoSchedule');
    expect(met()).toBe(3);
    expect((await get(NODE)).spec.taints).toEqual([...others(3), OURS]);
    writer.markHolders({}, true);
    await writer.flush(FLUSH_MS);
    expect((await get(NODE)).spec.taints).toEqual(others(3));
  });

  test('is put on although the kubelet writes the status of the node at the same moment', async () => {
    await setTaints(null);
    const heartbeat = (count: number) =>
      cluster.send(`${NODE}/status`, { method: 'PATCH', body: { status: { nodeInfo: { kubeletVersion: `v1.${count}` } } } });
    const { writer, met } = meddling(isPatchOf(NODE), heartbeat);
    await writer.markHolder('node-a', 'NoSchedule');
    expect(met()).toBe(3);
    expect(await get(NODE)).toMatchObject({ spec: { taints: [OURS] }, status: { nodeInfo: { kubeletVersion: 'v1.3' } } });
  });
});

describe('a RoutedIP, on a real API server', () => {
  const created = async (finalizers: readonly string[]): Promise<ObjectRef> => {
    const spec = { className: 'example.com/a', serviceRef: { serviceName: 'web' } };
    const metadata = { name: 'web', namespace: 'default', finalizers };
    const { status, body } = await apply(cluster, { apiVersion, kind: 'RoutedIP', metadata, spec });
    expect(status).toBe(201);
    return { kind: 'RoutedIP', namespace: 'default', name: 'web', uid: body.metadata.uid };
  };
  const setFinalizers = (finalizers: readonly string[]) => cluster.send(WEB, { method: 'PATCH', body: { metadata: { finalizers } } });

  test('is guarded beside what somebody else writes at the same moment, bears its address, and goes with its release', async () => {
    const ref = await created(['example.com/audit']);
    const { writer, met } = meddling(isPatchOf(WEB), (count) => setFinalizers(['example.com/audit', `example.com/other-${count}`]));
    await writer.guard(ref);
    expect(met()).toBe(3);
    const foreign = ['example.com/audit', 'example.com/other-3'];
    expect((await get(WEB)).metadata.finalizers).toEqual([...foreign, FINALIZER]);
    await writer.bindAddress(ref, '203.0.113.7' as Address, 'Created');
    expect((await get(WEB)).status).toEqual({ ...PENDING, routedIP: '203.0.113.7', addressOrigin: 'Created' });
    await cluster.send(WEB, { method: 'DELETE' });
    await writer.retract(ref, []);
    expect((await get(WEB)).metadata.finalizers).toEqual(foreign);
    // The server takes no new finalizer any more.
    await writer.guard(ref);
    expect((await get(WEB)).metadata.finalizers).toEqual(foreign);
    await setFinalizers([]);
    await waitFor('it is gone', async () => (await cluster.send(WEB)).status === 404);
    await writer.unguard(ref);
    expect(lines).toEqual([]);
  });

  test('of the longest name there is has its Events, its status too, when texts are longer than a server takes', async () => {
    // Cut where an Event's name would be, it would end in a dash.
    const name = `${'n'.repeat(229)}--${'n'.repeat(22)}`;
    const long = '節'.repeat(20_000);
    const spec = { className: 'example.com/a', serviceRef: { serviceName: 'web' } };
    const { status, body } = await apply(cluster, { apiVersion, kind: 'RoutedIP', metadata: { name, namespace: 'default' }, spec });
    expect(status).toBe(201);
    const ref: ObjectRef = { kind: 'RoutedIP', namespace: 'default', name, uid: body.metadata.uid };
    const event = { type: 'Warning', reason: 'Reported', message: long, action: 'Resolve' } as const;
    const writer = writerWith();
    writer.project({
      ref,
      generation: 1,
      status: {},
      conditions: [{ type: 'Ready', status: 'False', reason: 'Long', message: long }],
      annotated: {},
      addresses: [],
      events: [event],
    });
    await writer.announce(ref, { ...event, reason: 'Announced' });
    await writer.flush(FLUSH_MS);
    expect(lines.filter((line) => !/^(announces|an object is degraded)/.test(line))).toEqual([]);
    const { items } = await get('/apis/events.k8s.io/v1/namespaces/default/events');
    const about = items.filter(({ regarding }: { regarding: { uid: string } }) => regarding.uid === ref.uid);
    const told = about.map(({ reason, note }: { reason: string; note: string }) => [reason, Buffer.byteLength(note)]);
    expect(told.sort()).toEqual([
      ['Announced', 1_023],
      ['Reported', 1_023],
    ]);
    const { conditions } = (await get(`/apis/${apiVersion}/namespaces/default/routedips/${name}`)).status;
    expect(conditions).toMatchObject([{ reason: 'Long', message: `${'節'.repeat(10_921)}…` }]);
    await cluster.send(`/apis/${apiVersion}/namespaces/default/routedips/${name}`, { method: 'DELETE' });
  });

  test('shows in its managedFields which fields are the operator’s', async () => {
    const ref = await created([]);
    const writer = writerWith();
    await writer.guard(ref);
    await writer.bindAddress(ref, '203.0.113.7' as Address, 'Created');
    const { managedFields } = (await get(WEB)).metadata;
    const managed = (manager: string) => managedFields.filter((entry: { manager: string }) => entry.manager === manager);
    expect(managed(OPERATOR)).toMatchObject([{ operation: 'Update', fieldsV1: { 'f:metadata': { 'f:finalizers': {} } } }]);
    expect(managed(`${OPERATOR}-status`)).toMatchObject([
      { operation: 'Update', subresource: 'status', fieldsV1: { 'f:status': { 'f:routedIP': {} } } },
    ]);
    await cluster.send(WEB, { method: 'DELETE' });
    await writer.retract(ref, []);
  });

  test('that nobody else guards is gone with its release', async () => {
    const ref = await created([]);
    const writer = writerWith();
    await writer.guard(ref);
    await cluster.send(WEB, { method: 'DELETE' });
    expect((await get(WEB)).metadata.finalizers).toEqual([FINALIZER]);
    await writer.retract(ref, []);
    expect((await cluster.send(WEB)).status).toBe(404);
  });
});

describe('a class, on a real API server', () => {
  test('shows its status, is guarded while it is used, and Events about it and about nodes stand in the namespace default', async () => {
    const { body } = await apply(cluster, {
      apiVersion,
      kind: 'ClusterRoutedIPClass',
      metadata: { name: 'standard' },
      spec: { className: 'example.com/a' },
    });
    const ref: ObjectRef = { kind: 'ClusterRoutedIPClass', namespace: '', name: 'standard', uid: body.metadata.uid };
    const event = { type: 'Warning', reason: 'Conflict', message: 'of one name', action: 'Resolve' } as const;
    const writer = writerWith();
    writer.project({
      ref,
      generation: 1,
      status: { routedIPs: [{ namespace: 'default', name: 'web' }] },
      conditions: [{ type: 'Ready', status: 'True', reason: 'InUse', message: '' }],
      annotated: {},
      addresses: [],
      events: [event],
    });
    await writer.flush(FLUSH_MS);
    expect(await get(CLASS)).toMatchObject({
      metadata: { generation: 1 },
      status: { routedIPs: [{ namespace: 'default', name: 'web' }], conditions: [{ type: 'Ready', reason: 'InUse' }] },
    });
    await writer.guard(ref);
    expect((await get(CLASS)).metadata.finalizers).toEqual([FINALIZER]);
    await cluster.send(CLASS, { method: 'DELETE' });
    await writer.unguard(ref);
    expect((await cluster.send(CLASS)).status).toBe(404);
    await writer.announce({ kind: 'Node', namespace: '', name: 'node-a', uid: 'node-a' }, { ...event, reason: 'Forbidden' });
    expect(lines.filter((line) => !/^(announces|an object is degraded)/.test(line))).toEqual([]);
    const { items } = await get('/api/v1/namespaces/default/events');
    const told = items.map(({ reason, involvedObject }: { reason: string; involvedObject: unknown }) => [reason, involvedObject]);
    expect(told).toContainEqual(['Conflict', { apiVersion, kind: 'ClusterRoutedIPClass', name: 'standard', uid: ref.uid }]);
    expect(told).toContainEqual(['Forbidden', { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: 'node-a' }]);
  });
});

describe('a NodeDNSRecordSet, on a real API server', () => {
  const SETS = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/nodednsrecordsets';

  test('that no watch has told of yet is read before its status is written', async () => {
    const { body } = await apply(cluster, {
      apiVersion: 'flipop.digitalocean.com/v1alpha1',
      kind: 'NodeDNSRecordSet',
      metadata: { name: 'nodes', namespace: 'default' },
      spec: { provider: 'digitalocean', dnsRecordSet: { zone: 'example.com', recordName: 'nodes' } },
    });
    const writer = writerWith();
    writer.project({
      ref: { kind: 'NodeDNSRecordSet', namespace: 'default', name: 'nodes', uid: body.metadata.uid },
      generation: 1,
      status: { state: 'active' },
      conditions: [{ type: 'Ready', status: 'True', reason: 'Published', message: '' }],
      annotated: {},
      addresses: [],
      events: [],
    });
    await writer.flush(FLUSH_MS);
    expect(await get(`${SETS}/nodes`)).toMatchObject({ status: { state: 'active', conditions: [{ reason: 'Published' }] } });
    expect(lines).toEqual([]);
  });
});

describe('what happens again within minutes, on a real API server', () => {
  test.each([
    ['an object of a namespace', { kind: 'RoutedIP', namespace: 'default', name: 'again', uid: 'again' }, 'series'],
    ['one of none', { kind: 'ClusterRoutedIPClass', namespace: '', name: 'again', uid: 'of-none' }, 'count'],
  ] as const)('to %s is counted in the Event that tells of it', async (_which, ref, counted) => {
    const writer = writerWith();
    const happens = () =>
      writer.project({
        ref,
        generation: 1,
        status: {},
        conditions: [],
        annotated: {},
        addresses: [],
        events: [{ type: 'Warning', reason: 'Again', message: 'and again', action: 'Try' }],
      });
    const told = async () =>
      (await get('/api/v1/namespaces/default/events')).items.filter(
        (each: { reason: string; involvedObject: { uid: string } }) => each.reason === 'Again' && each.involvedObject.uid === ref.uid,
      );
    happens();
    await writer.flush(FLUSH_MS);
    expect(await told()).toHaveLength(1);
    aheadMs = 90_000;
    happens();
    await waitFor('it is counted', async () => {
      const [event] = await told();
      return (counted === 'series' ? event?.series?.count : event?.count) === 2;
    });
    expect(await told()).toHaveLength(1);
  });
});
