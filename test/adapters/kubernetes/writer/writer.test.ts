import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../../../actors/ports/errors.ts';
import { readDefinitions } from '../../../../simulator/kubernetes/definitions.ts';
import { at, type Json, type JsonObject } from '../../../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { PENDING } from '../../../support/pending.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { poolObject, poolRef } from '../support.ts';
import { FIRST, patchesOf, SECOND, writing } from './writer-support.ts';

describe('the status of a pool', () => {
  test('is written at once, with conditions that bear the generation and the time of their last transition', async () => {
    const { writer, projection, status } = await writing();
    writer.project(projection({ generation: 3 }));
    await writer.flush(PATIENCE_MS);
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
    await writer.flush(PATIENCE_MS);
    expect(at(status(), 'conditions', 0)).toMatchObject({ reason: 'AsExpected', message: 'AsExpected' });
  });

  test('has a message cut that the server would refuse the whole status for', async () => {
    const { writer, projection, status } = await writing();
    writer.project(projection({ conditions: [{ type: 'Degraded', status: 'True', reason: 'NodeInUse', message: '€'.repeat(40_000) }] }));
    await writer.flush(PATIENCE_MS);
    expect(status().activeIPs).toBe(1);
    expect(String(at(status(), 'conditions', 0, 'message'))).toMatch(/^€+…$/);
  });

  test('keeps the time of the last transition while a condition stays as it is', async () => {
    const { writer, projection, status, simulator } = await writing();
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const ready = { type: 'Ready', status: 'True', reason: 'Other', message: '', lastTransitionTime };
    simulator.store.patch(poolRef('pool'), { status: { conditions: [ready] } }, { subresource: 'status' });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(at(status(), 'conditions', 0)).toMatchObject({ reason: 'AllActive', lastTransitionTime });
    writer.project(projection({ conditions: [{ type: 'Ready', status: 'False', reason: 'Waiting', message: '' }] }));
    await writer.flush(PATIENCE_MS);
    expect(at(status(), 'conditions', 0, 'lastTransitionTime')).not.toBe(lastTransitionTime);
  });

  test('is not written again when nothing changed', async () => {
    const { writer, projection, simulator } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(patchesOf(simulator, '/status')).toBe(1);
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(patchesOf(simulator, '/status')).toBe(1);
  });

  test('loses what no longer holds, and keeps conditions of others', async () => {
    const { writer, projection, status, simulator } = await writing();
    const foreign = { type: 'Audited', status: 'True', reason: 'Done', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' };
    simulator.store.patch(poolRef('pool'), { status: { conditions: [foreign] } }, { subresource: 'status' });
    writer.project(
      projection({ status: { ips: { [FIRST]: { state: 'error', error: 'x' }, [SECOND]: { state: 'active' } }, error: 'broken' } }),
    );
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ error: 'broken' });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(status().ips).toEqual({ [FIRST]: { state: 'active', nodeName: 'a' } });
    expect(status()).not.toHaveProperty('error');
    expect(at(status(), 'conditions', 1)).toEqual(foreign);
  });

  test('is based on what the server has after a conflict', async () => {
    const { writer, projection, status, simulator } = await writing();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
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
    await writer.flush(PATIENCE_MS);
    simulator.store.delete(poolRef('pool'));
    simulator.store.create(poolObject('pool', {}));
    writer.project(projection({ status: { activeIPs: 0 } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toEqual(PENDING);
  });

  test('of a newer leader is not undone by one that was overtaken', async () => {
    const { writer, projection, status, simulator } = await writing();
    simulator.faults.outage('503');
    writer.project(projection({ status: { activeIPs: 1, term: 4 } }));
    await waitFor('a try', () => patchesOf(simulator, '/status') > 0);
    simulator.store.patch(poolRef('pool'), { status: { activeIPs: 2, term: 5 } }, { subresource: 'status' });
    simulator.faults.endOutage();
    await writer.flush(PATIENCE_MS);
    expect(status()).toEqual({ ...PENDING, activeIPs: 2, term: 5 });
    writer.project(projection({ status: { activeIPs: 3, term: 6 } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ activeIPs: 3, term: 6 });
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
      await writer.flush(PATIENCE_MS);
    }
    expect(status()).toEqual({ ips: { [FIRST]: { state: 'active', nodeName: 'a' } } });
    expect(patchesOf(simulator, '/status')).toBe(1);
    await waitFor('the status is seen', () => source.object(ref)?.object.status !== null);
    const next = newWriter();
    for (let round = 0; round < 3; round += 1) {
      next.project(projection());
      await next.flush(PATIENCE_MS);
    }
    expect(patchesOf(simulator, '/status')).toBe(2);
  });
});

describe('a status that has to stand before something is done', () => {
  test('does so when the promise resolves, written once', async () => {
    const { writer, status, ref, simulator, projection } = await writing();
    await writer.written(ref);
    expect(patchesOf(simulator, '/status')).toBe(0);
    writer.project(projection());
    await writer.written(ref);
    expect(status().activeIPs).toBe(1);
    await writer.written(ref);
    await writer.flush(PATIENCE_MS);
    expect(patchesOf(simulator, '/status')).toBe(1);
  });

  test('is written although it is to be told meanwhile that the pool is not served', async () => {
    const { writer, status, ref, projection } = await writing();
    writer.project(projection());
    const written = writer.written(ref);
    const unknown = { type: 'Ready', status: 'Unknown', reason: 'TakingOver', message: 'not yet' } as const;
    writer.project(projection({ partial: true, status: {}, conditions: [unknown] }));
    await written;
    expect(status().activeIPs).toBe(1);
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ activeIPs: 1, conditions: [unknown] });
  });

  test('is refused to a leader that was overtaken', async () => {
    const { writer, status, ref, simulator, projection } = await writing();
    writer.project(projection({ status: { activeIPs: 1, term: 4 } }));
    await writer.written(ref);
    simulator.store.patch(poolRef('pool'), { status: { term: 5 } }, { subresource: 'status' });
    writer.project(projection({ status: { activeIPs: 2, term: 4 } }));
    await expect(writer.written(ref)).rejects.toMatchObject({ name: 'Fenced', why: 'superseded' });
    expect(status()).toMatchObject({ activeIPs: 1, term: 5 });
  });

  test('is not there yet while the server is away', async () => {
    const { writer, ref, simulator, projection } = await writing();
    simulator.faults.outage('reset');
    writer.project(projection());
    await expect(writer.written(ref)).rejects.toBeInstanceOf(Unreachable);
  });
});

describe('a creation intent', () => {
  const intent = { knownAddresses: [FIRST], listedAt: Date.parse('2026-11-01T00:00:00.123Z'), region: 'nyc3', term: 4 };
  const stored = { knownAddresses: [FIRST], startedAt: '2026-11-01T00:00:00.123Z', region: 'nyc3' };

  test('stands in the status when the promise resolves', async () => {
    const { writer, status, ref } = await writing();
    await writer.recordIntent(ref, { ...intent, provider: 'digitalocean' });
    expect(status().pendingCreate).toEqual({ ...stored, provider: 'digitalocean' });
    await writer.recordIntent(ref, { ...intent, region: '' });
    expect(status().pendingCreate).toEqual({ knownAddresses: [FIRST], startedAt: '2026-11-01T00:00:00.123Z' });
  });

  test('is not swept away by a projection that was made before it, and goes with one that accounts for it', async () => {
    const { writer, status, ref, projection } = await writing();
    const now = new Date().toISOString();
    await writer.recordIntent(ref, { ...intent, listedAt: Date.parse(now) });
    writer.project(projection({ status: { activeIPs: 1, term: 4 } }));
    await writer.flush(PATIENCE_MS);
    expect(status().pendingCreate).toMatchObject({ startedAt: now });
    expect(status().activeIPs).toBe(1);
    writer.project(projection({ status: { activeIPs: 1, term: 4, pendingCreate: { ...stored, startedAt: now } } }));
    writer.project(projection({ status: { activeIPs: 1, term: 4 } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).not.toHaveProperty('pendingCreate');
  });

  test.each([
    ['an earlier process left behind long ago', 3_600_000, 4],
    ['a leader of a former term wrote', 0, 5],
  ])('that %s is removed', async (_, agoMs, term) => {
    const { writer, status, ref, projection } = await writing();
    await writer.recordIntent(ref, { ...intent, listedAt: Date.now() - agoMs });
    expect(status()).toHaveProperty('pendingCreate');
    writer.project(projection({ status: { activeIPs: 1, term } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).not.toHaveProperty('pendingCreate');
  });

  test('of a leader that was overtaken is refused, also when the later one writes at the same moment', async () => {
    const { writer, status, ref, simulator } = await writing();
    const overtake = (term: number): void => {
      simulator.store.patch(poolRef('pool'), { status: { term } }, { subresource: 'status' });
    };
    overtake(4);
    await writer.recordIntent(ref, intent);
    expect(status().pendingCreate).toEqual(stored);
    simulator.faults.delay({ ms: 100, method: 'PATCH', count: 1 });
    const late = expect(writer.recordIntent(ref, { ...intent, knownAddresses: [SECOND] })).rejects.toMatchObject({
      name: 'Fenced',
      why: 'superseded',
    });
    await waitFor('the write is under way', () => patchesOf(simulator, '/status') === 2);
    overtake(5);
    await late;
    expect(status().pendingCreate).toEqual(stored);
    await expect(writer.recordIntent(ref, intent)).rejects.toMatchObject({ name: 'Fenced' });
    await writer.recordIntent(ref, { ...intent, region: 'ams3', term: 5 });
    expect(status()).toMatchObject({ term: 5, pendingCreate: { region: 'ams3' } });
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

  test('is appended to the spec once, and the whole list is answered, with the generation that has it', async () => {
    const { writer, ref, simulator } = await writing();
    const generation = Number(at(simulator.store.get(poolRef('pool')), 'metadata', 'generation'));
    expect(await writer.appendAddress(ref, SECOND)).toEqual({ ips: [FIRST, SECOND], generation: generation + 1 });
    expect(await writer.appendAddress(ref, SECOND)).toEqual({ ips: [FIRST, SECOND], generation: generation + 1 });
    expect(ips(simulator)).toEqual([FIRST, SECOND]);
  });

  test('does not undo an edit that somebody makes at the same time', async () => {
    const { writer, ref, simulator } = await writing();
    simulator.faults.delay({ ms: 100, method: 'PATCH', count: 1 });
    const appended = writer.appendAddress(ref, SECOND);
    await waitFor('the write is under way', () => patchesOf(simulator, '/floatingippools/') === 1);
    simulator.store.patch(poolRef('pool'), { spec: { ips: ['198.51.100.1'] } });
    expect((await appended).ips).toEqual(['198.51.100.1', SECOND]);
    expect(ips(simulator)).toEqual(['198.51.100.1', SECOND]);
  });

  test('waits for a status write under way, and neither undoes the other', async () => {
    const { writer, ref, simulator, projection, status } = await writing();
    writer.project(projection({ status: { activeIPs: 1, term: 4 } }));
    await Promise.all([
      writer.appendAddress(ref, SECOND),
      writer.recordIntent(ref, { knownAddresses: [], listedAt: Date.now(), region: '', term: 4 }),
    ]);
    await writer.flush(PATIENCE_MS);
    expect(ips(simulator)).toEqual([FIRST, SECOND]);
    expect(status()).toMatchObject({ activeIPs: 1, pendingCreate: { knownAddresses: [] } });
  });
});

describe('an Event', () => {
  const event = { type: 'Warning', reason: 'AssignFailed', message: 'assign failed', action: 'Assign' } as const;

  test('stands in the namespace of its pool and names it', async () => {
    const { writer, projection, simulator, ref } = await writing();
    writer.project(projection({ events: [event] }));
    await writer.flush(PATIENCE_MS);
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
    await writer.flush(PATIENCE_MS);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')).toHaveLength(2);
  });

  test('about a pool that is gone stands where the pool was, once, and in the log', async () => {
    const { writer, simulator, ref, log } = await writing();
    simulator.store.delete(poolRef('pool'));
    await writer.announce(ref, event);
    await writer.announce(ref, event);
    const stored = simulator.store.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
    expect(stored).toMatchObject([{ note: 'assign failed', regarding: { name: 'pool', uid: ref.uid } }]);
    expect(log.lines).toContainEqual(expect.stringMatching(/^warn announces .*assign failed/));
  });

  test('of a projection that a newer one took the place of is reported all the same', async () => {
    const { writer, projection, simulator } = await writing();
    simulator.faults.outage('503', 100);
    writer.project(projection({ events: [event] }));
    writer.project(projection({ status: { activeIPs: 0 } }));
    await writer.flush(PATIENCE_MS);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')).toHaveLength(1);
  });
});

describe('a writer that was closed', () => {
  test('sends nothing of what it is told afterwards, and takes back nothing', async () => {
    const { meddled, writer: other, projection, ref } = await writing();
    const another = { ...ref, name: 'another', uid: 'of another pool' };
    const sent: string[] = [];
    const { writer } = meddled(({ method, path }) => void sent.push(`${method} ${path}`));
    writer.close();
    const answered: string[] = [];
    for (const told of [writer, other]) {
      told.project(projection());
      told.showEvacuations({ a: { status: 'True', reason: 'NoAddressHeld', message: 'no address is held here' } });
      told.markHolders({ a: 'NoSchedule' }, true);
      void told.retract(another, [SECOND]).then(() => answered.push(told === other ? 'other' : 'closed'));
    }
    // Whatever the closed one had to do it would have begun before the other one.
    await waitFor('the other one is done', () => answered.includes('other'));
    await other.flush(2_000);
    expect([sent, answered]).toEqual([[], ['other']]);
  });
});
