import { describe, expect, test } from 'vitest';
import type { PoolProjection } from '../../../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../../../machines/model/types.ts';
import { at, type Json } from '../../../../simulator/kubernetes/objects.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { routing } from './routedips-support.ts';

const apiVersion = 'routedip.io/v1alpha1';

const EVENT = { type: 'Warning', reason: 'SecretNotFound', message: 'no such Secret', action: 'Resolve' } as const;

const OBJECTS = {
  ClusterRoutedIPClass: { name: 'standard', spec: { className: 'example.com/a' } },
  RoutedIPIssuer: { name: 'standard', namespace: 'default', spec: { issuerClass: 'digitalocean' } },
} as const;

/** A writer on a cluster with a class or an issuer named `standard`. */
const deciding = async (kind: keyof typeof OBJECTS) => {
  const world = await routing();
  const { spec, ...metadata } = OBJECTS[kind];
  const created = world.simulator.store.create({ apiVersion, kind, metadata, spec } as Json);
  const ref: ObjectRef = { kind, namespace: created.metadata.namespace ?? '', name: 'standard', uid: created.metadata.uid ?? '' };
  const projection = (change: Partial<PoolProjection> = {}): PoolProjection => ({
    ref,
    generation: 4,
    status: { routedIPs: [{ namespace: 'default', name: 'web' }] },
    conditions: [{ type: 'Ready', status: 'False', reason: 'SecretNotFound', message: 'no such Secret' }],
    annotated: {},
    addresses: [],
    events: [],
    ...change,
  });
  const stored = () => world.simulator.store.get({ apiVersion, kind, ...metadata });
  return { ...world, ref, projection, stored };
};

describe.each(['ClusterRoutedIPClass', 'RoutedIPIssuer'] as const)('a %s', (kind) => {
  test('shows its status, the newest alone, and nothing of it is written twice', async () => {
    const { writer, projection, stored, simulator } = await deciding(kind);
    const { generation } = stored().metadata;
    writer.project(projection({ status: { routedIPs: [] } }));
    for (let round = 0; round < 2; round += 1) {
      writer.project(projection());
      await writer.flush(PATIENCE_MS);
    }
    expect(stored().status).toMatchObject({
      routedIPs: [{ namespace: 'default', name: 'web' }],
      observedGeneration: 4,
      conditions: [{ type: 'Ready', reason: 'SecretNotFound', lastTransitionTime: expect.any(String) }],
    });
    expect(stored().metadata.generation).toBe(generation);
    const patches = simulator.requests.filter(({ method }) => method === 'PATCH').map(({ path }) => path);
    const place = kind === 'RoutedIPIssuer' ? 'namespaces/default/routedipissuers' : 'clusterroutedipclasses';
    expect(patches).toEqual([`/apis/routedip.io/v1alpha1/${place}/standard/status`]);
  });

  test('is based on what the server has after a conflict, and written when the server is back', async () => {
    const { writer, projection, stored, simulator } = await deciding(kind);
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    const { name, ...more } = stored().metadata;
    const place = more.namespace === undefined ? {} : { namespace: more.namespace };
    const foreign = { type: 'Audited', status: 'True', reason: 'Done', message: 'ok', lastTransitionTime: '2026-01-01T00:00:00Z' };
    simulator.faults.outage('reset');
    simulator.store.patch(
      { apiVersion, kind, name: name ?? '', ...place },
      { status: { conditions: [foreign] } },
      { subresource: 'status' },
    );
    writer.project(projection({ status: { routedIPs: [] } }));
    await waitFor('a try', () => simulator.requests.filter(({ method }) => method === 'PATCH').length > 1);
    simulator.faults.endOutage();
    await waitFor('the newest', () => at(stored(), 'status', 'routedIPs', 0) === undefined);
    expect(at(stored(), 'status', 'conditions')).toMatchObject([{ type: 'Ready' }, foreign]);
  });

  test('is kept while it is in use, whatever is shown of it meanwhile', async () => {
    const { writer, projection, stored, ref } = await deciding(kind);
    await writer.guard(ref);
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    expect(stored().metadata.finalizers).toEqual(['routedip.io/finalizer']);
    await writer.unguard(ref);
    writer.project(projection({ status: { routedIPs: [] } }));
    await writer.flush(PATIENCE_MS);
    expect(stored()).toMatchObject({ status: { routedIPs: [] } });
    expect(stored().metadata.finalizers ?? []).toEqual([]);
  });

  test('that is gone is shown no more', async () => {
    const { writer, projection, stored, ref, simulator, log } = await deciding(kind);
    writer.project(projection());
    await writer.flush(PATIENCE_MS);
    const { namespace } = stored().metadata;
    simulator.store.delete({ apiVersion, kind, name: 'standard', ...(namespace === undefined ? {} : { namespace }) });
    writer.project(projection({ status: { routedIPs: [] } }));
    await writer.retract(ref, []);
    await writer.flush(PATIENCE_MS);
    expect(log.lines.filter((line) => !line.startsWith('warn an object is degraded'))).toEqual([]);
  });
});

describe('an Event about an object without a namespace', () => {
  const regarding = { apiVersion, kind: 'ClusterRoutedIPClass', name: 'standard' };

  test('stands in the namespace default', async () => {
    const { writer, projection, ref, simulator } = await deciding('ClusterRoutedIPClass');
    writer.project(projection({ events: [EVENT] }));
    await writer.flush(PATIENCE_MS);
    const events = simulator.store.list('v1', 'Event');
    expect(events).toMatchObject([{ reason: 'SecretNotFound', metadata: { namespace: 'default' } }]);
    expect(events[0]?.involvedObject).toEqual({ ...regarding, uid: ref.uid });
  });

  test('says when the cluster does not let us write its status', async () => {
    const { refusing, projection, simulator } = await deciding('ClusterRoutedIPClass');
    const { writer, log } = refusing(({ path }) => path.endsWith('/status'));
    writer.project(projection());
    const events = () => simulator.store.list('v1', 'Event', { namespace: 'default' });
    await waitFor('the Event', () => events().length > 0);
    expect(events()).toMatchObject([
      {
        reason: 'Forbidden',
        message: expect.stringContaining('may not patch clusterroutedipclasses/status'),
        involvedObject: regarding,
      },
    ]);
    expect(log.lines[0]).toContain('"object":"ClusterRoutedIPClass standard"');
  });
});
