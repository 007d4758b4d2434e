import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { FloatingIPPoolStatus } from '../../crds/generated/floatingippool.ts';
import type { NodeDNSRecordSetStatus } from '../../crds/generated/nodednsrecordset.ts';
import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import { addPod, createNamespace, labelNode, removePod } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { FLIPOP_SERIES, flipopSeriesOf } from '../adapters/telemetry/flipop.ts';
import { metricsOf } from '../adapters/telemetry/scrape.ts';
import { type Condition, type Names, named } from '../e2e/named.ts';
import { conditionOfPod, OBSERVER_NAMESPACE, OWN_CONDITION, observe, plans } from '../e2e/observing.ts';
import { installFlipopsDefinitions, installOurDefinitions } from '../support/flipop-definitions.ts';
import { objectsIn } from '../support/kube-apply.ts';
import type { Operator } from '../support/operator.ts';

/** As FLIPOP's repository has them in its folder of examples, byte for byte; those of its README are in crds/samples. */
const PUBLISHED = join(import.meta.dirname, 'published');
const GROUP = 'flipop.digitalocean.com/v1alpha1';
const ANNOTATION = 'flipop.digitalocean.com/ipv4-reserved-ip';
const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  namespace: 'routedip-operator',
  name: 'floating-ip-pool-controller-leader-election',
};
/** As FLIPOP names itself: its Pod, and what is random. */
const FLIPOP = 'flipop-6c8d5b7f9-x2x4z_6f1ed002-ab59-4a04-b8cf-1a5a5a0b9d1e';

const externalOf = (index: number) => `198.51.100.${index + 1}`;

/** Three nodes with pods as the published examples ask for. */
async function nodesOfTheExamples({ stage, external }: Names): Promise<void> {
  const { client } = stage.target;
  for (const namespace of ['flipop', 'ingress']) await createNamespace(client, namespace).catch(() => undefined);
  await stage.nodes('a', 'b', 'c');
  for (const [index, node] of ['a', 'b', 'c'].entries()) {
    const pod = { name: `nginx-${node}`, namespace: 'ingress', node, labels: { app: 'nginx-ingress', component: 'controller' } };
    await labelNode(client, node, { 'doks.digitalocean.com/node-pool': 'work' });
    await addPod(client, pod);
    onTestFinished(() => removePod(client, pod));
    await external(node, externalOf(index));
  }
}

/** Creates the objects of the published file where it says, and answers their references. */
async function apply({ stage }: Names, file: string) {
  const { client } = stage.target;
  const [object] = objectsIn(join(PUBLISHED, file));
  if (!object) throw new Error(`${file} holds no object`);
  const ref = { apiVersion: object.apiVersion, kind: object.kind, namespace: object.metadata.namespace ?? '', name: object.metadata.name };
  expect(ref.namespace).toBe('flipop');
  await client.create(object as unknown as JsonObject);
  onTestFinished(() => client.delete(ref));
  return ref;
}

/** FLIPOP takes the Lease, and for the length of a test nobody has to see it renewed; with an empty name it gives it up, as it does when it ends. */
async function heldBy({ stage }: Names, holderIdentity: string, namespace: string = LEASE.namespace): Promise<void> {
  const { client } = stage.target;
  const { name, namespace: _, ...lease } = LEASE;
  const now = new Date().toISOString().replace('Z', '000Z');
  const leaseDurationSeconds = holderIdentity === '' ? 1 : 3600;
  const spec = { holderIdentity, leaseDurationSeconds, acquireTime: now, renewTime: now, leaseTransitions: 41 };
  const exists = (await client.list(LEASE.apiVersion, LEASE.kind, { namespace })).some(({ metadata }) => metadata.name === name);
  if (exists) await client.patch({ ...LEASE, namespace }, { spec });
  else await client.create({ ...lease, metadata: { name, namespace }, spec });
}

const holderOf = async ({ stage }: Names, namespace: string = LEASE.namespace): Promise<unknown> =>
  ((await stage.target.client.get({ ...LEASE, namespace })).spec as { holderIdentity?: unknown }).holderIdentity;

/** What FLIPOP leaves behind: addresses on their nodes, annotations, a status in its words, right records. */
async function leftByFlipop(names: Names) {
  const { stage } = names;
  const { client } = stage.target;
  const zone = await names.zoneAt('digitalocean');
  await stage.nodes('a', 'b', 'c');
  const dropletOf = (name: string): number => [...stage.cloud.state.droplets.values()].find((droplet) => droplet.name === name)?.id ?? 0;
  const held = ['a', 'b'].map((node) => {
    const { ip } = stage.cloud.addReservedIP({ region: 'nyc3', dropletId: dropletOf(node) });
    return { node, ip, status: { state: 'active', nodeName: node, providerID: `digitalocean://${dropletOf(node)}` } };
  });
  for (const { node, ip } of held) {
    await client.patch({ apiVersion: 'v1', kind: 'Node', name: node }, { metadata: { annotations: { [ANNOTATION]: ip } } });
    zone.add({ type: 'A', name: 'web', data: ip, ttl: 30 });
    zone.add({ type: 'A', name: 'nodes', data: ip, ttl: 120 });
  }
  const dnsRecordSet = { zone: 'example.com', recordName: 'web', ttl: 30 };
  await stage.pool('ingress', { ips: held.map(({ ip }) => ip), dnsRecordSet });
  await names.recordSet('nodes', {
    addressType: ANNOTATION,
    dnsRecordSet: { provider: 'digitalocean', zone: 'example.com', recordName: 'nodes', ttl: 120 },
  });
  const ips = Object.fromEntries(held.map(({ ip, status }) => [ip, status]));
  const poolRef: ClientRef = { apiVersion: GROUP, kind: 'FloatingIPPool', namespace: 'default', name: 'ingress' };
  await client.patch(poolRef, { status: { ips, assignableNodes: ['c'] } }, { subresource: 'status' });
  const setRef = { ...poolRef, kind: 'NodeDNSRecordSet', name: 'nodes' };
  await client.patch(setRef, { status: { state: 'active' } }, { subresource: 'status' });
  return { zone, held, ips, poolRef, dropletOf };
}

/** A verification of all addresses that began after now, seen by its lists. */
async function verified({ stage }: Names): Promise<void> {
  const since = stage.cloud.calls.all().at(-1)?.n ?? 0;
  const lists = () => stage.cloud.calls.select({ since }).filter(({ method, path }) => method === 'GET' && /reserved_ips\?/.test(path));
  await stage.until('two verifications', () => lists().length >= 2);
}

const figure = async (operator: Operator, name: string, labels: Readonly<Record<string, string>>): Promise<number | undefined> =>
  metricsOf((await operator.metrics()).text)
    .get(name)
    ?.samples.find((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))?.value;

describe('an installation of FLIPOP', () => {
  const { names: current } = named({ audit: true });

  test('has its published examples served as they are, in their namespace, and its series', async () => {
    const names = current();
    const { stage } = names;
    const { client } = stage.target;
    const zone = await names.zoneAt('digitalocean');
    await nodesOfTheExamples(names);
    const operator = await names.start();
    const pool = await apply(names, 'floatingippool.yaml');
    const set = await apply(names, 'nodednsrecordset.yaml');
    const poolStatus = async () => ((await client.get(pool)).status ?? {}) as FloatingIPPoolStatus;

    const progress = ({ conditions = [] }: FloatingIPPoolStatus) =>
      (conditions as readonly Condition[]).find(({ type }) => type === 'Progressing');
    await stage.until('three addresses exist, one is active, and the others wait for their turn', async () => {
      const status = await poolStatus();
      return Object.keys(status.ips ?? {}).length === 3 && status.activeIPs === 1 && progress(status)?.reason === 'Spacing';
    });
    const { lastAssignmentTime = '', ...status } = await poolStatus();
    const spacing = progress(status);
    // The manifest asks for 20 seconds between two assignments.
    const next = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(spacing?.message ?? '')?.[0] ?? '';
    expect(Math.abs(Date.parse(next) - Date.parse(lastAssignmentTime) - 20_000)).toBeLessThan(1_000);
    expect(stage.assigns()).toHaveLength(1);

    await client.patch(pool, { spec: { assignmentCoolOffSeconds: 0 } });
    await stage.until('all are active', async () => (await poolStatus()).activeIPs === 3);
    const { ips = [] } = (await client.get(pool)).spec as { readonly ips?: readonly string[] };
    expect([...stage.cloud.state.reservedIPs.keys()].sort()).toEqual([...ips].sort());
    const published = (name: string) => JSON.stringify(zone.records(name));
    await stage.until('the pool is published', () => published('hello-world') === JSON.stringify(ips.map((ip) => `A ${ip} 120`).sort()));
    await stage.until('the nodes are', () => published('nodes') === JSON.stringify([0, 1, 2].map((one) => `A ${externalOf(one)} 120`)));
    await stage.until('it says so', async () => ((await client.get(set)).status as NodeDNSRecordSetStatus).state === 'active');

    const scrape = metricsOf((await operator.metrics()).text);
    expect(flipopSeriesOf(scrape)).toEqual(FLIPOP_SERIES);
    const of = { namespace: 'flipop', name: 'ingress-pool', provider: 'digitalocean', dns: 'hello-world.example.com' };
    const states = scrape.get('flipop_floatingippoolcontroller_ip_state')?.samples ?? [];
    expect(states.map(({ labels }) => labels)).toEqual(expect.arrayContaining(ips.map((ip) => ({ ...of, ip, state: 'active' }))));
    expect(states).toHaveLength(3);
  });

  test('is left alone while it holds its Lease, taken over where it stands, under its own definitions, with nothing written anywhere, and given back', async () => {
    const names = current();
    const { stage } = names;
    const { client } = stage.target;
    await installFlipopsDefinitions(client);
    onTestFinished(() => installOurDefinitions(client));
    const { zone, held, ips, poolRef, dropletOf } = await leftByFlipop(names);
    const writes = () => stage.cloud.calls.select({ writes: true }).filter(({ path }) => path !== '/v2/domains');
    const [first, second] = held;
    if (!first || !second) throw new Error('FLIPOP left nothing');
    const annotations = () => Promise.all(['a', 'b', 'c'].map((node) => stage.annotation(node)));
    const statusOf = async () => (await stage.getPool('ingress')).status;
    expect(await statusOf()).toEqual({ ips, assignableNodes: ['c'] });

    await heldBy(names, FLIPOP);
    const operator = await names.start();
    await stage.until('it waits', async () => (await figure(operator, 'routedip_leader', {})) === 0);
    expect([await statusOf(), await annotations(), await holderOf(names)]).toEqual([
      { ips, assignableNodes: ['c'] },
      [first.ip, second.ip, null],
      FLIPOP,
    ]);
    expect(operator.log.filter(({ msg }) => msg === 'leads')).toEqual([]);
    await heldBy(names, '');
    await stage.until('both are known to sit right', async () => {
      const states = await Promise.all(
        held.map(({ ip }) => figure(operator, 'flipop_floatingippoolcontroller_ip_state', { ip, state: 'active' })),
      );
      return states.every((value) => value === 1);
    });
    await stage.until('the record of the nodes is', async () => (await figure(operator, 'flipop_nodednsrecordset_records', {})) === 2);
    await verified(names);
    expect(writes()).toEqual([]);
    expect([zone.records('web'), zone.records('nodes')]).toEqual([30, 120].map((ttl) => held.map(({ ip }) => `A ${ip} ${ttl}`).sort()));
    expect(await annotations()).toEqual([first.ip, second.ip, null]);
    await stage.until('the status is ours', async () => (await statusOf())?.nodeErrors !== undefined);
    expect(await statusOf()).toEqual({ ips, assignableNodes: ['c'], nodeErrors: [] });
    expect((await names.status('nodes')).state).toBe('active');

    await stage.notReady('a');
    await stage.until('the address moves', async () => (await stage.activeOn('ingress', first.ip)) === 'c');
    await stage.until('its annotation does', async () => (await annotations()).join() === [null, second.ip, first.ip].join());
    expect(stage.assigns()).toEqual([{ address: first.ip, node: 'c' }]);
    const { conditions, term } = (await statusOf()) ?? {};
    expect([conditions, term]).toEqual([undefined, undefined]);

    // An address that is on its way for long is out of both for that time.
    const lists = (name: string, ttl: number) =>
      JSON.stringify(zone.records(name)) === JSON.stringify(held.map(({ ip }) => `A ${ip} ${ttl}`).sort());
    await stage.until('both records list it again', () => lists('nodes', 120) && lists('web', 30));
    await verified(names);
    expect(await operator.stop()).toBe(0);
    const before = writes().length;
    // What FLIPOP would find: the Lease is free, the pool is as its user wrote it and bound to nobody, each address is where it is told to be.
    const left = await client.get(poolRef);
    expect([await holderOf(names), left.metadata.finalizers]).toEqual(['', undefined]);
    expect((left.spec as { ips?: unknown }).ips).toEqual(held.map(({ ip }) => ip));
    expect(((left.status ?? {}) as FloatingIPPoolStatus).ips).toEqual({
      [first.ip]: { state: 'active', nodeName: 'c', providerID: `digitalocean://${dropletOf('c')}` },
      [second.ip]: ips[second.ip],
    });

    await installOurDefinitions(client);
    const next = await names.start();
    await stage.until('conditions are told under ours', async () => ((await statusOf())?.conditions ?? []).length === 3);
    await stage.until('of the record set too', async () => (await names.degraded('nodes')) !== undefined);
    await verified(names);
    expect([writes().length, stage.assigns().length]).toEqual([before, 1]);
    expect([...operator.log, ...next.log].filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('is looked on at while it holds its Lease: under its own definitions what it does is planned no more, and nothing is written', async () => {
    const names = current();
    const { stage } = names;
    const { client } = stage.target;
    await installFlipopsDefinitions(client);
    onTestFinished(() => installOurDefinitions(client));
    const { zone, held, ips, poolRef, dropletOf } = await leftByFlipop(names);
    const [first, second] = held;
    if (!first || !second) throw new Error('FLIPOP left nothing');
    // Where the observer would look for one.
    await stage.target.observerKubeconfig();
    await heldBy(names, FLIPOP, OBSERVER_NAMESPACE);
    const writes = stage.target.operatorWrites().length;
    const operator = await observe(stage);
    await stage.until('it decides', () => operator.log.some(({ msg }) => msg === 'leads'));
    await stage.until(
      'the record of the nodes is known',
      async () => (await figure(operator, 'flipop_nodednsrecordset_records', {})) === 2,
    );
    await plans(stage, operator, []);

    await stage.notReady('a');
    await plans(stage, operator, [`move ${first.ip}: a > c`, `withdraw A nodes.example.com: ${first.ip} > -`]);
    // FLIPOP does it.
    stage.cloud.moveReservedIP(first.ip, dropletOf('c'));
    for (const [name, ip] of Object.entries({ a: null, c: first.ip }))
      await client.patch({ apiVersion: 'v1', kind: 'Node', name }, { metadata: { annotations: { [ANNOTATION]: ip } } });
    const moved = { ...ips, [first.ip]: { state: 'active', nodeName: 'c', providerID: `digitalocean://${dropletOf('c')}` } };
    await client.patch(poolRef, { status: { ips: moved, assignableNodes: [] } }, { subresource: 'status' });
    await plans(stage, operator, []);

    expect((await stage.getPool('ingress')).status).toEqual({ ips: moved, assignableNodes: [] });
    expect([zone.records('web'), zone.records('nodes')]).toEqual([30, 120].map((ttl) => held.map(({ ip }) => `A ${ip} ${ttl}`).sort()));
    expect([await holderOf(names, OBSERVER_NAMESPACE), zone.writes(), stage.assigns()]).toEqual([FLIPOP, [], []]);
    await stage.until('its Pod says so', async () => (await conditionOfPod(stage.target)) === 'True');
    expect(await operator.stop()).toBe(0);
    expect(stage.target.operatorWrites().slice(writes)).toEqual([OWN_CONDITION]);
    expect(stage.target.observerRefusals()).toEqual([]);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
