import { describe, expect, test } from 'vitest';
import type { PoolProjection } from '../../../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../../../machines/model/types.ts';
import type { JsonObject } from '../../../../simulator/kubernetes/objects.ts';
import { PENDING } from '../../../support/pending.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { CRD, nodeRef, RECORD_SETS, recordSetObject, recordSetRef } from '../support.ts';
import { FIRST, patchesOf, writing } from '../writer/writer-support.ts';

const STATUS = '/nodednsrecordsets/set/status';

/** A writer on a cluster with a NodeDNSRecordSet beside the pool, which the source has seen. */
const writingSets = async () => {
  const { projection: ofPool, status: poolStatus, ...world } = await writing({ crds: [CRD, RECORD_SETS] });
  const { simulator, source } = world;
  const created = simulator.store.create(recordSetObject('set'));
  const ref: ObjectRef = { kind: 'NodeDNSRecordSet', namespace: 'default', name: 'set', uid: created.metadata.uid ?? '' };
  await waitFor('the set is seen', () => source.object(ref) !== null);
  const projection = (change: Partial<PoolProjection> = {}): PoolProjection => ({
    ref,
    generation: 1,
    status: { state: 'active' },
    conditions: [{ type: 'Ready', status: 'True', reason: 'Published', message: '2 addresses are published' }],
    annotated: {},
    addresses: [],
    events: [],
    ...change,
  });
  const status = (): JsonObject => (simulator.store.get(recordSetRef('set')).status ?? {}) as JsonObject;
  return { ...world, ref, ofPool, poolStatus, projection, status };
};

describe('the status of a NodeDNSRecordSet', () => {
  test('is written with conditions that bear the generation, and nothing else is touched', async () => {
    const { writer, projection, status, poolStatus, simulator } = await writingSets();
    writer.project(projection({ generation: 3 }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toEqual({
      state: 'active',
      observedGeneration: 3,
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Published',
          message: '2 addresses are published',
          observedGeneration: 3,
          lastTransitionTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
      ],
    });
    expect(poolStatus()).toEqual(PENDING);
    writer.project(projection({ generation: 3 }));
    await writer.flush(PATIENCE_MS);
    expect(patchesOf(simulator, STATUS)).toBe(1);
    expect(patchesOf(simulator, '')).toBe(1);
  });

  test('stands beside that of a pool, and annotations of the pool stay', async () => {
    const { writer, projection, ofPool, status, poolStatus, annotation } = await writingSets();
    writer.project(ofPool());
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(poolStatus()).toMatchObject({ activeIPs: 1 });
    expect(status()).toMatchObject({ state: 'active' });
    expect(annotation('a')).toBe(FIRST);
  });

  test('loses its error when it holds no longer', async () => {
    const { writer, projection, status } = await writingSets();
    writer.project(projection({ status: { state: 'error', error: 'Failed to update DNS: no such zone' } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ state: 'error', error: 'Failed to update DNS: no such zone' });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ state: 'active' });
    expect(status()).not.toHaveProperty('error');
  });

  test('is based on what the server has after a conflict', async () => {
    const { meddled, projection, status, simulator } = await writingSets();
    let patches = 0;
    const { writer } = meddled(({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith(STATUS)) return;
      patches += 1;
      // Nobody can have seen this change before the writer meets it.
      const byHand = { status: { state: 'error', error: 'by hand' } };
      if (patches === 2) simulator.store.patch(recordSetRef('set'), byHand, { subresource: 'status' });
    });
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    writer.project(projection({ status: { state: 'in-progress' } }));
    await waitFor('the new status', () => status().state === 'in-progress');
    expect(status()).not.toHaveProperty('error');
    const codes = simulator.requests.filter(({ method, path }) => method === 'PATCH' && path.endsWith(STATUS)).map(({ code }) => code);
    expect(codes).toContain(409);
  });

  test('of one that was deleted and made anew meanwhile is left alone', async () => {
    const { writer, projection, status, simulator } = await writingSets();
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(status()).toMatchObject({ state: 'active' });
    simulator.store.delete(recordSetRef('set'));
    simulator.store.create(recordSetObject('set'));
    writer.project(projection({ status: { state: 'error' } }));
    await writer.flush(PATIENCE_MS);
    expect(status()).toEqual(PENDING);
  });

  test('of a newer leader is not undone by one that was overtaken', async () => {
    const { writer, projection, status, simulator } = await writingSets();
    simulator.faults.outage('503');
    writer.project(projection({ status: { state: 'active', term: 4 } }));
    await waitFor('a try', () => patchesOf(simulator, STATUS) > 0);
    simulator.store.patch(recordSetRef('set'), { status: { state: 'error', term: 5 } }, { subresource: 'status' });
    simulator.faults.endOutage();
    await writer.flush(PATIENCE_MS);
    expect(status()).toEqual({ ...PENDING, state: 'error', term: 5 });
  });

  test('of one that was retracted is not written any more', async () => {
    const { writer, projection, ofPool, status, poolStatus, ref, simulator } = await writingSets();
    simulator.faults.outage('503');
    writer.project(projection());
    await waitFor('a try', () => patchesOf(simulator, STATUS) > 0);
    writer.retract(ref, []);
    writer.project(ofPool());
    // What was sent before is answered by then.
    await waitFor('a try for the pool', () => patchesOf(simulator, '/pool/status') > 1);
    simulator.faults.endOutage();
    await waitFor('the pool is written', () => poolStatus().activeIPs === 1);
    await writer.flush(PATIENCE_MS);
    expect(status()).toEqual(PENDING);
  });

  test('that may not be written is said in an Event about it', async () => {
    const { projection, simulator, refusing, ref } = await writingSets();
    const { writer } = refusing(({ method, path }) => method === 'PATCH' && path.endsWith(STATUS));
    writer.project(projection());
    await waitFor('the Event', () => simulator.store.list('events.k8s.io/v1', 'Event').length === 1);
    expect(simulator.store.list('events.k8s.io/v1', 'Event')[0]).toMatchObject({
      reason: 'Forbidden',
      action: 'UpdateStatus',
      note: expect.stringContaining('may not patch nodednsrecordsets/status'),
      regarding: { apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'NodeDNSRecordSet', name: 'set', uid: ref.uid },
    });
    writer.close();
  });
});

describe('an Event about a NodeDNSRecordSet', () => {
  test('stands in its namespace and names it', async () => {
    const { writer, projection, simulator, ref } = await writingSets();
    writer.project(projection({ events: [{ type: 'Warning', reason: 'NoAddress', message: 'no node has one', action: 'Publish' }] }));
    await writer.flush(PATIENCE_MS);
    const [stored, ...more] = simulator.store.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
    expect(more).toEqual([]);
    expect(stored).toMatchObject({
      reason: 'NoAddress',
      note: 'no node has one',
      regarding: {
        apiVersion: 'flipop.digitalocean.com/v1alpha1',
        kind: 'NodeDNSRecordSet',
        namespace: 'default',
        name: 'set',
        uid: ref.uid,
      },
    });
    expect(simulator.store.get(nodeRef('a')).metadata.annotations ?? {}).toEqual({});
  });
});
