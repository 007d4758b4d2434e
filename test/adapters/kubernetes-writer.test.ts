import { describe, expect, test } from 'vitest';
import type { PoolProjection } from '../../actors/ports.ts';
import { refusal } from '../../adapters/kubernetes/api-error.ts';
import type { Request } from '../../adapters/kubernetes/connection.ts';
import type { Seen } from '../../adapters/kubernetes/source.ts';
import { KubernetesWriter } from '../../adapters/kubernetes/writer.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { Address } from '../../machines/types.ts';
import { readDefinitions } from '../../simulator/kubernetes/definitions.ts';
import type { Json, JsonObject } from '../../simulator/kubernetes/objects.ts';
import { at } from '../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../simulator/kubernetes/server.ts';
import { waitFor } from '../support/wait-for.ts';
import { addNode, connected, nodeRef, poolObject, poolRef, Recorder, recordedLog, simulated, sourceOn } from './kubernetes-support.ts';

const FIRST = '203.0.113.7' as Address;
const SECOND = '203.0.113.8' as Address;
const IPV4 = 'flipop.digitalocean.com/ipv4-reserved-ip';

const NOTHING_SEEN: Seen = { pool: () => null, nodes: () => [] };

const TIMINGS = {
  pace: { intervalMs: 250, burst: 4, impatienceMs: 100 },
  backoff: { firstMs: 20, factor: 2, maxMs: 100 },
};

const writing = async (options: { readonly crds?: readonly (string | JsonObject)[]; readonly watch?: boolean } = {}) => {
  const simulator = await simulated(options.crds === undefined ? {} : { crds: [...options.crds] });
  addNode(simulator, 'a', { labels: { color: 'blue' } });
  addNode(simulator, 'b', { labels: { color: 'blue' } });
  const created = simulator.store.create(poolObject('pool', { match: { nodeLabel: 'color=blue' } }));
  const ref: ObjectRef = { kind: 'FloatingIPPool', namespace: 'default', name: 'pool', uid: created.metadata.uid ?? '' };
  const connection = connected(simulator.kubeconfig());
  const source = sourceOn(connection);
  if (options.watch !== false) await source.start(new Recorder());
  const log = recordedLog();
  const seen = options.watch === false ? NOTHING_SEEN : source;
  const newWriter = (): KubernetesWriter =>
    new KubernetesWriter({ connection, clock: systemClock(), random: () => 0.5, log, seen, instance: 'test', timings: TIMINGS });
  const writer = newWriter();
  /** A writer whose ServiceAccount is not allowed some requests. */
  const refusing = (refused: (request: Request) => boolean) => {
    const send = (request: Request): Promise<unknown> =>
      refused(request)
        ? Promise.reject(refusal({ verb: 'patch', path: request.path }, 403, 'no rule allows it'))
        : connection.send(request);
    const options = {
      connection: { ...connection, send },
      clock: systemClock(),
      random: () => 0.5,
      seen,
      instance: 'test',
      timings: TIMINGS,
    };
    const refusals = recordedLog();
    return { writer: new KubernetesWriter({ ...options, log: refusals }), log: refusals };
  };
  const projection = (change: Partial<PoolProjection> = {}): PoolProjection => ({
    ref,
    generation: 1,
    status: { ips: { [FIRST]: { state: 'active', nodeName: 'a' } }, activeIPs: 1 },
    conditions: [{ type: 'Ready', status: 'True', reason: 'AllActive', message: '1 of 1 addresses are active' }],
    annotated: { a: FIRST },
    addresses: [FIRST],
    events: [],
    ...change,
  });
  const status = (): JsonObject => (simulator.store.get(poolRef('pool')).status ?? {}) as JsonObject;
  const annotation = (node: string): string | undefined => simulator.store.get(nodeRef(node)).metadata.annotations?.[IPV4];
  return { simulator, refusing, writer, newWriter, source, ref, projection, status, annotation, log };
};

const patchesOf = (simulator: KubernetesSimulator, part: string): number =>
  simulator.requests.filter(({ method, path }) => method === 'PATCH' && path.includes(part)).length;

describe('the status of a pool', () => {
  test('is written at once, with conditions that bear the generation and the time of their last transition', async () => {
    const { writer, projection, status } = await writing();
    writer.project(projection({ generation: 3 }));
    await writer.flush(2_000);
    expect(status()).toEqual({
      ips: { [FIRST]: { state: 'active', nodeName: 'a' } },
      activeIPs: 1,
      observedGeneration: 3,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'AllActive',
          message: '1 of 1 addresses are active',
          observedGeneration: 3,
          lastTransitionTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
      ],
    });
  });

  test('bears no empty message, which some servers refuse', async () => {
    const { writer, projection, status } = await writing();
    writer.project(projection({ conditions: [{ type: 'Degraded', status: 'False', reason: 'AsExpected', message: '' }] }));
    await writer.flush(2_000);
    expect(at(status(), 'conditions', 0)).toMatchObject({ reason: 'AsExpected', message: 'AsExpected' });
  });

  test('keeps the time of the last transition while a condition stays as it is', async () => {
    const { writer, projection, status, simulator } = await writing();
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const ready = { type: 'Ready', status: 'True', reason: 'Other', message: '', lastTransitionTime };
    simulator.store.patch(poolRef('pool'), { status: { conditions: [ready] } }, { subresource: 'status' });
    writer.project(projection());
    await writer.flush(2_000);
    expect(at(status(), 'conditions', 0)).toMatchObject({ reason: 'AllActive', lastTransitionTime });
    writer.project(projection({ conditions: [{ type: 'Ready', status: 'False', reason: 'Waiting', message: '' }] }));
    await writer.flush(2_000);
    expect(at(status(), 'conditions', 0, 'lastTransitionTime')).not.toBe(lastTransitionTime);
  });

  test('is not written again when nothing changed', async () => {
    const { writer, projection, simulator } = await writing();
    writer.project(projection());
    await writer.flush(2_000);
    expect(patchesOf(simulator, '/status')).toBe(1);
    writer.project(projection());
    await writer.flush(2_000);
    expect(patchesOf(simulator, '/status')).toBe(1);
  });

  test('loses what no longer holds, and keeps conditions of others', async () => {
    const { writer, projection, status, simulator } = await writing();
    const foreign = { type: 'Audited', status: 'True', reason: 'Done', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    simulator.store.patch(poolRef('pool'), { status: { conditions: [foreign] } }, { subresource: 'status' });
    writer.project(
      projection({ status: { ips: { [FIRST]: { state: 'error', error: 'x' }, [SECOND]: { state: 'active' } }, error: 'broken' } }),
    );
    await writer.flush(2_000);
    expect(status()).toMatchObject({ error: 'broken' });
    writer.project(projection());
    await writer.flush(2_000);
    expect(status().ips).toEqual({ [FIRST]: { state: 'active', nodeName: 'a' } });
    expect(status()).not.toHaveProperty('error');
    expect(at(status(), 'conditions', 1)).toEqual(foreign);
  });

  test('is based on what the server has after a conflict', async () => {
    const { writer, projection, status, simulator } = await writing();
    writer.project(projection());
    await writer.flush(2_000);
    simulator.faults.outage('reset');
    // Nobody sees this change before the writer meets it.
    simulator.store.patch(poolRef('pool'), { status: { error: 'by hand', activeIPs: 7 } }, { subresource: 'status' });
    writer.project(projection({ status: { ips: {}, activeIPs: 0 } }));
    simulator.faults.endOutage();
    await waitFor('the new status', () => status().activeIPs === 0);
    expect(status()).not.toHaveProperty('error');
    expect(status().ips).toEqual({});
  });

  test('of a pool that was deleted and made anew meanwhile is left alone', async () => {
    const { writer, projection, status, simulator } = await writing({ watch: false });
    writer.project(projection());
    await writer.flush(2_000);
    simulator.store.delete(poolRef('pool'));
    simulator.store.create(poolObject('pool', {}));
    writer.project(projection({ status: { activeIPs: 0 } }));
    await writer.flush(2_000);
    expect(status()).toEqual({});
  });

  test('is written again and again until the server takes it', async () => {
    const { writer, projection, status, simulator } = await writing();
    simulator.faults.outage('503');
    writer.project(projection());
    await waitFor('three tries', () => patchesOf(simulator, '/status') >= 3);
    simulator.faults.endOutage();
    await waitFor('the status', () => status().activeIPs === 1);
  });

  test('in a storm is written a few times a second, the newest last', async () => {
    const { writer, projection, status, simulator } = await writing();
    const startedAt = performance.now();
    for (let count = 0; count <= 200; count += 1) {
      writer.project(projection({ status: { activeIPs: count } }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor('the newest', () => status().activeIPs === 200);
    const allowed = 4 + Math.ceil((performance.now() - startedAt) / 250);
    const written = patchesOf(simulator, '/status');
    expect(written).toBeGreaterThan(1);
    expect(written).toBeLessThanOrEqual(allowed);
  });

  test('whose fields an older definition drops is not sent for ever', async () => {
    const [definition] = readDefinitions(['crds/floatingippools.yaml']);
    const schema = at(
      definition as Json,
      'spec',
      'versions',
      0,
      'schema',
      'openAPIV3Schema',
      'properties',
      'status',
      'properties',
    ) as JsonObject;
    for (const added of ['conditions', 'observedGeneration', 'activeIPs']) delete schema[added];
    const { writer, newWriter, projection, status, simulator, source, ref } = await writing({ crds: [definition as JsonObject] });
    for (let round = 0; round < 3; round += 1) {
      writer.project(projection());
      await writer.flush(2_000);
    }
    expect(status()).toEqual({ ips: { [FIRST]: { state: 'active', nodeName: 'a' } } });
    expect(patchesOf(simulator, '/status')).toBe(1);
    await waitFor('the status is seen', () => source.pool(ref)?.pool.status !== null);
    const next = newWriter();
    for (let round = 0; round < 3; round += 1) {
      next.project(projection());
      await next.flush(2_000);
    }
    expect(patchesOf(simulator, '/status')).toBe(2);
  });
});

describe('the annotation of a node', () => {
  test('is set where an address is and taken from where it was', async () => {
    const { writer, projection, annotation } = await writing();
    writer.project(projection());
    await writer.flush(2_000);
    expect(annotation('a')).toBe(FIRST);
    writer.project(projection({ annotated: { b: FIRST } }));
    await writer.flush(2_000);
    expect(annotation('a')).toBeUndefined();
    expect(annotation('b')).toBe(FIRST);
  });

  test('is written once, and only to the nodes concerned', async () => {
    const { writer, projection, simulator } = await writing();
    for (let round = 0; round < 3; round += 1) {
      writer.project(projection());
      await writer.flush(2_000);
    }
    expect(patchesOf(simulator, '/nodes/a')).toBe(1);
    expect(patchesOf(simulator, '/nodes/b')).toBe(0);
  });

  test('is taken from a node that no longer matches the selector', async () => {
    const { writer, projection, annotation, simulator, source } = await writing();
    writer.project(projection());
    await writer.flush(2_000);
    simulator.store.patch(nodeRef('a'), { metadata: { labels: { color: 'red' } } });
    await waitFor('a left the cache', () => [...source.nodes()].every(({ node }) => node.name !== 'a'));
    writer.project(projection({ annotated: { b: FIRST } }));
    await writer.flush(2_000);
    expect(annotation('a')).toBeUndefined();
  });

  test('is found by the status after a restart, on a node that is not seen', async () => {
    const { writer, newWriter, projection, annotation, simulator, source, ref } = await writing();
    writer.project(projection());
    await writer.flush(2_000);
    simulator.store.patch(nodeRef('a'), { metadata: { labels: { color: 'red' } } });
    await waitFor('a left the cache', () => [...source.nodes()].every(({ node }) => node.name !== 'a'));
    await waitFor('the status is seen', () => at(source.pool(ref)?.pool.status as Json, 'activeIPs') === 1);
    expect(annotation('a')).toBe(FIRST);
    const next = newWriter();
    next.project(projection({ annotated: {} }));
    await next.flush(2_000);
    expect(annotation('a')).toBeUndefined();
  });

  test('that another pool has written meanwhile stays', async () => {
    const { writer, projection, annotation, simulator } = await writing({ watch: false });
    writer.project(projection());
    await writer.flush(2_000);
    simulator.store.patch(nodeRef('a'), { metadata: { annotations: { [IPV4]: '198.51.100.1' } } });
    writer.project(projection({ annotated: {} }));
    await writer.flush(2_000);
    expect(annotation('a')).toBe('198.51.100.1');
  });

  test('that may not be written is said in an Event, tried again, and holds up nothing else', async () => {
    let allowed = false;
    const { projection, annotation, status, simulator, refusing } = await writing();
    const { writer, log } = refusing(({ method, path }) => !allowed && method === 'PATCH' && path === '/api/v1/nodes/a');
    writer.project(projection({ annotated: { a: FIRST, b: SECOND } }));
    await waitFor('the rest', () => annotation('b') === SECOND && status().activeIPs === 1);
    await waitFor('the Event', () => simulator.store.list('events.k8s.io/v1', 'Event').length === 1);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')[0]).toMatchObject({
      reason: 'Forbidden',
      note: expect.stringContaining('the ServiceAccount may not patch nodes: '),
    });
    expect(log.lines.some((line) => line.includes('may not patch nodes'))).toBe(true);
    allowed = true;
    await waitFor('the annotation', () => annotation('a') === FIRST);
  });

  test('of a node that is gone is no concern', async () => {
    const { writer, projection, simulator, log } = await writing({ watch: false });
    writer.project(projection());
    await writer.flush(2_000);
    simulator.store.delete(nodeRef('a'));
    writer.project(projection({ annotated: { b: FIRST } }));
    await writer.flush(2_000);
    expect(log.lines).toEqual([]);
  });

  test('goes with the pool', async () => {
    const { writer, projection, annotation, ref } = await writing();
    writer.project(projection());
    await writer.flush(2_000);
    expect(annotation('a')).toBe(FIRST);
    writer.retract(ref, [FIRST]);
    await waitFor('no annotation', () => annotation('a') === undefined);
  });
});

describe('a creation intent', () => {
  const intent = { knownAddresses: [FIRST], listedAt: Date.parse('2026-11-01T00:00:00.123Z'), region: 'nyc3' };
  const stored = { knownAddresses: [FIRST], startedAt: '2026-11-01T00:00:00.123Z', region: 'nyc3' };

  test('stands in the status when the promise resolves', async () => {
    const { writer, status, ref } = await writing();
    await writer.recordIntent(ref, intent);
    expect(status().pendingCreate).toEqual(stored);
    await writer.recordIntent(ref, { ...intent, region: '' });
    expect(status().pendingCreate).toEqual({ knownAddresses: [FIRST], startedAt: '2026-11-01T00:00:00.123Z' });
  });

  test('is not swept away by a projection that was made before it, and goes with one that accounts for it', async () => {
    const { writer, status, ref, projection } = await writing();
    const now = new Date().toISOString();
    await writer.recordIntent(ref, { ...intent, listedAt: Date.parse(now) });
    writer.project(projection());
    await writer.flush(2_000);
    expect(status().pendingCreate).toMatchObject({ startedAt: now });
    expect(status().activeIPs).toBe(1);
    writer.project(projection({ status: { activeIPs: 1, pendingCreate: { ...stored, startedAt: now } } }));
    writer.project(projection());
    await writer.flush(2_000);
    expect(status()).not.toHaveProperty('pendingCreate');
  });

  test('that an earlier process left behind long ago is removed', async () => {
    const { writer, status, ref, projection } = await writing();
    await writer.recordIntent(ref, { ...intent, listedAt: Date.now() - 3_600_000 });
    expect(status()).toHaveProperty('pendingCreate');
    writer.project(projection());
    await writer.flush(2_000);
    expect(status()).not.toHaveProperty('pendingCreate');
  });

  test('fails when the server is away or the pool is gone', async () => {
    const { writer, ref, simulator } = await writing();
    simulator.faults.outage('reset');
    await expect(writer.recordIntent(ref, intent)).rejects.toMatchObject({ name: 'ServerUnreachable' });
    simulator.faults.endOutage();
    simulator.store.delete(poolRef('pool'));
    await expect(writer.recordIntent(ref, intent)).rejects.toMatchObject({ kind: 'NotFound' });
  });
});

describe('a new address', () => {
  const ips = (simulator: KubernetesSimulator): unknown => at(simulator.store.get(poolRef('pool')), 'spec', 'ips');

  test('is appended to the spec once, and the whole list is answered', async () => {
    const { writer, ref, simulator } = await writing();
    expect(await writer.appendAddress(ref, SECOND)).toEqual([FIRST, SECOND]);
    expect(await writer.appendAddress(ref, SECOND)).toEqual([FIRST, SECOND]);
    expect(ips(simulator)).toEqual([FIRST, SECOND]);
  });

  test('does not undo an edit that somebody makes at the same time', async () => {
    const { writer, ref, simulator } = await writing();
    simulator.faults.delay({ ms: 100, method: 'PATCH', count: 1 });
    const appended = writer.appendAddress(ref, SECOND);
    await waitFor('the write is under way', () => patchesOf(simulator, '/floatingippools/') === 1);
    simulator.store.patch(poolRef('pool'), { spec: { ips: ['198.51.100.1'] } });
    expect(await appended).toEqual(['198.51.100.1', SECOND]);
    expect(ips(simulator)).toEqual(['198.51.100.1', SECOND]);
  });

  test('waits for a status write under way, and neither undoes the other', async () => {
    const { writer, ref, simulator, projection, status } = await writing();
    writer.project(projection());
    await Promise.all([
      writer.appendAddress(ref, SECOND),
      writer.recordIntent(ref, { knownAddresses: [], listedAt: Date.now(), region: '' }),
    ]);
    await writer.flush(2_000);
    expect(ips(simulator)).toEqual([FIRST, SECOND]);
    expect(status()).toMatchObject({ activeIPs: 1, pendingCreate: { knownAddresses: [] } });
  });
});

describe('an Event', () => {
  const event = { type: 'Warning', reason: 'AssignFailed', message: 'assign failed', action: 'Assign' } as const;

  test('stands in the namespace of its pool and names it', async () => {
    const { writer, projection, simulator, ref } = await writing();
    writer.project(projection({ events: [event] }));
    await writer.flush(2_000);
    const [stored, ...more] = simulator.store.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
    expect(more).toEqual([]);
    expect(stored).toMatchObject({
      reportingController: 'routedip-operator',
      reportingInstance: 'test',
      reason: 'AssignFailed',
      action: 'Assign',
      note: 'assign failed',
      type: 'Warning',
      regarding: {
        kind: 'FloatingIPPool',
        name: 'pool',
        namespace: 'default',
        uid: ref.uid,
        apiVersion: 'flipop.digitalocean.com/v1alpha1',
      },
    });
  });

  test('said again is not reported again', async () => {
    const { writer, projection, simulator } = await writing();
    for (let round = 0; round < 20; round += 1) writer.project(projection({ events: [event] }));
    writer.project(projection({ events: [{ ...event, message: 'another' }] }));
    await writer.flush(2_000);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')).toHaveLength(2);
  });

  test('of a projection that a newer one took the place of is reported all the same', async () => {
    const { writer, projection, simulator } = await writing();
    simulator.faults.outage('503', 100);
    writer.project(projection({ events: [event] }));
    writer.project(projection({ status: { activeIPs: 0 } }));
    await writer.flush(5_000);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')).toHaveLength(1);
  });
});
