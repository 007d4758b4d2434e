import { describe, expect, test } from 'vitest';
import { readDefinitions } from '../../../simulator/kubernetes/definitions.ts';
import { waitFor } from '../../support/wait-for.ts';
import { addNode, connected, poolObject, RECORD_SETS, Recorder, simulated, sourceOn, watchesOf } from '../kubernetes/support.ts';

const stateOf = (source: ReturnType<typeof sourceOn>, kind: string) => source.caches().find((cache) => cache.kind === kind);

/** A running source with one pool that selects nodes. */
const running = async () => {
  const simulator = await simulated();
  addNode(simulator, 'a', { labels: { color: 'blue' } });
  simulator.store.create(poolObject('pool', { match: { nodeLabel: 'color=blue' } }));
  const source = sourceOn(connected(simulator.kubeconfig()));
  const before = Date.now();
  const recorder = new Recorder();
  await source.start(recorder);
  await waitFor('a watch of nodes', () => watchesOf(simulator, 'nodes') === 1);
  const nodes = (): number => recorder.facts.get('pool')?.nodes.length ?? 0;
  return { simulator, source, before, nodes };
};

describe('the state of the caches', () => {
  test('is told of the kinds that are watched: no pods that nobody asks for, no kind that is not served', async () => {
    const { source, before } = await running();
    expect(source.caches().map(({ kind, synced }) => ({ kind, synced }))).toEqual([
      { kind: 'FloatingIPPool', synced: true },
      { kind: 'Node', synced: true },
    ]);
    for (const { syncedAt } of source.caches()) expect(syncedAt).toBeGreaterThanOrEqual(before);
  });

  test('has a kind from when its definition is installed', async () => {
    const { simulator, source } = await running();
    expect(stateOf(source, 'NodeDNSRecordSet')).toBeUndefined();
    for (const definition of readDefinitions([RECORD_SETS])) simulator.store.create(definition);
    await waitFor('the cache of record sets', () => stateOf(source, 'NodeDNSRecordSet')?.synced === true);
  });

  test('is later with each event of the watch', async () => {
    const { simulator, source } = await running();
    const before = stateOf(source, 'Node')?.syncedAt ?? Number.NaN;
    expect(before).toBeGreaterThan(0);
    await waitFor('the clock', () => Date.now() > before);
    addNode(simulator, 'b', { labels: { color: 'blue' } });
    await waitFor('the event', () => (stateOf(source, 'Node')?.syncedAt ?? 0) > before);
  });

  test('is not synced while the server does not answer, and keeps the time at which it was', async () => {
    const { simulator, source, nodes } = await running();
    // Once an event has come through it the watch is known to be open here, too, which counts as a sign of life.
    addNode(simulator, 'b', { labels: { color: 'blue' } });
    await waitFor('the event', () => nodes() === 2);
    const before = stateOf(source, 'Node')?.syncedAt;
    simulator.faults.outage('503');
    await waitFor('the trouble', () => stateOf(source, 'Node')?.synced === false);
    expect(stateOf(source, 'Node')?.syncedAt).toBe(before);
    simulator.faults.endOutage();
    await waitFor('the end of the trouble', () => stateOf(source, 'Node')?.synced === true);
  });
});
