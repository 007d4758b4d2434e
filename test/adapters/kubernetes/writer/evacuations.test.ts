import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../adapters/system/clock.ts';
import type { EvacuatedNode, Evacuation } from '../../../../machines/model/types.ts';
import { at, type Json } from '../../../../simulator/kubernetes/objects.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { addNode, nodeRef, Recorder } from '../support.ts';
import { patchesOf, writing } from './writer-support.ts';

const ANNOTATION = 'routedip.io/evacuate';
const TYPE = 'routedip.io/Evacuated';
const HELD: Evacuation = { status: 'False', reason: 'AddressesHeld', message: '1 address is held here: 203.0.113.7' };
const EMPTY: Evacuation = { status: 'True', reason: 'NoAddressHeld', message: 'no address is held here' };

/** A writer on a cluster with the nodes a and b, and a look at what their conditions say. */
const evacuating = async () => {
  const world = await writing();
  const { simulator, source } = world;
  const conditions = (node: string): readonly Json[] => (at(simulator.store.get(nodeRef(node)), 'status', 'conditions') ?? []) as Json[];
  const said = (node: string) => conditions(node).find((each) => at(each, 'type') === TYPE) as Readonly<Record<string, Json>> | undefined;
  const patches = (node: string): number => patchesOf(simulator, `/nodes/${node}/status`);
  /** Resolves once the watch shows what is said of the node; null for nothing. */
  const shown = (node: string, reason: string | null): Promise<void> =>
    waitFor(`the watch shows ${node} with ${reason}`, () =>
      [...source.nodes()].some((seen) => seen.node.name === node && (seen.evacuated?.reason ?? null) === reason),
    );
  return { ...world, conditions, said, patches, shown };
};

describe('the condition of a node that is to be evacuated', () => {
  test('stands beside those of others, which stay as they are, and says when it became so', async () => {
    const { writer, conditions, said } = await evacuating();
    const before = conditions('a');
    expect(before.map((each) => at(each, 'type'))).toContain('Ready');
    writer.showEvacuations({ a: HELD });
    await waitFor('it is said', () => said('a') !== undefined);
    expect(said('a')).toEqual({
      type: TYPE,
      ...HELD,
      lastHeartbeatTime: expect.stringMatching(/Z$/),
      lastTransitionTime: expect.stringMatching(/Z$/),
    });
    expect(conditions('a').filter((each) => at(each, 'type') !== TYPE)).toEqual(before);
    expect(said('b')).toBeUndefined();
  });

  test('says what is said last, each thing once, and its time of transition changes with its status alone', async () => {
    const { newWriter, said, patches, shown } = await evacuating();
    let now = Date.UTC(2026, 0, 1);
    const writer = newWriter({ ...systemClock(), now: () => now });
    writer.showEvacuations({ a: HELD });
    await shown('a', 'AddressesHeld');
    now += 60_000;
    const more: Evacuation = { ...HELD, message: '2 addresses are held here' };
    writer.showEvacuations({ a: more });
    await waitFor('it says the newer', () => said('a')?.message === more.message);
    expect(said('a')).toMatchObject({ lastHeartbeatTime: '2026-01-01T00:01:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' });
    await writer.flush(PATIENCE_MS);
    expect(patches('a')).toBe(2);
    for (let round = 0; round < 3; round += 1) writer.showEvacuations({ a: more });
    await writer.flush(PATIENCE_MS);
    expect(patches('a')).toBe(2);
    writer.showEvacuations({ a: EMPTY });
    await waitFor('it says the newest', () => said('a')?.status === 'True');
    expect(said('a')?.lastTransitionTime).toBe('2026-01-01T00:01:00Z');
    await writer.flush(PATIENCE_MS);
    expect(patches('a')).toBe(3);
  });

  test('is taken off when nothing is to be said any more, also what an earlier process said', async () => {
    const { writer, newWriter, said, conditions, shown } = await evacuating();
    writer.showEvacuations({ a: HELD, b: HELD });
    await Promise.all(['a', 'b'].map((node) => shown(node, 'AddressesHeld')));
    writer.forget();
    newWriter().showEvacuations({ b: HELD });
    await waitFor('it is off', () => said('a') === undefined);
    expect(said('b')).toMatchObject(HELD);
    expect(conditions('a').map((each) => at(each, 'type'))).toContain('Ready');
  });

  test('is not written any more by one that leads no longer', async () => {
    const { writer, newWriter, said, patches } = await evacuating();
    writer.showEvacuations({ a: HELD });
    writer.forget();
    newWriter().showEvacuations({ b: HELD });
    await waitFor('the next one has written', () => said('b') !== undefined);
    expect([said('a'), patches('a')]).toEqual([undefined, 0]);
  });

  test('is no concern of a node that goes meanwhile, and does not keep others from theirs', async () => {
    const { simulator, meddled, said } = await evacuating();
    let tried = 0;
    const { writer, log } = meddled(({ method, path }) => {
      if (method !== 'PATCH' || path !== '/api/v1/nodes/a/status') return;
      tried += 1;
      if (tried === 1) simulator.store.delete(nodeRef('a'));
    });
    writer.showEvacuations({ a: HELD, b: HELD });
    await waitFor('it is said of the other', () => said('b') !== undefined);
    await writer.flush(PATIENCE_MS);
    expect([tried, log.lines.filter((line) => line.startsWith('warn'))]).toEqual([1, []]);
  });

  test('is written when the server is back', async () => {
    const { simulator, writer, said, log } = await evacuating();
    simulator.faults.outage('reset');
    writer.showEvacuations({ a: HELD, b: EMPTY });
    await waitFor('it has failed', () => log.lines.some((line) => line.includes('conditions of nodes')));
    simulator.faults.endOutage();
    await waitFor('all is said', () => said('a') !== undefined && said('b') !== undefined);
    expect([said('a')?.status, said('b')?.status]).toEqual(['False', 'True']);
  });

  test('that may not be written is told once, whatever the number of nodes, and written once it may', async () => {
    const world = await evacuating();
    const { simulator, said } = world;
    let allowed = false;
    const { writer, log } = world.refusing(({ method, path }) => !allowed && method === 'PATCH' && path.endsWith('/status'));
    const events = () => simulator.store.list('events.k8s.io/v1', 'Event').filter((event) => at(event, 'reason') === 'Forbidden');
    writer.showEvacuations({ a: HELD, b: HELD });
    await waitFor('some tries', () => log.lines.filter((line) => line.includes('conditions of nodes')).length > 2);
    expect([said('a'), said('b')]).toEqual([undefined, undefined]);
    allowed = true;
    await waitFor('all is said', () => said('a') !== undefined && said('b') !== undefined);
    await writer.flush(PATIENCE_MS);
    expect(events()).toHaveLength(1);
  });
});

describe('the annotation that asks for an evacuation', () => {
  const annotate = (world: Awaited<ReturnType<typeof evacuating>>, node: string, value: string | null): void => {
    world.simulator.store.patch(nodeRef(node), { metadata: { annotations: { [ANNOTATION]: value } } });
  };

  test('is told when it is "true", and when it is anything that nobody knows; "false" is as none', async () => {
    const world = await evacuating();
    const { simulator, recorder, source } = world;
    expect(recorder).toBeInstanceOf(Recorder);
    const told: (readonly EvacuatedNode[])[] = [];
    recorder.evacuationsObserved = (nodes) => void told.push(nodes);
    addNode(simulator, 'c', { labels: { color: 'blue' } });
    annotate(world, 'a', 'true');
    annotate(world, 'b', 'yes');
    annotate(world, 'c', 'false');
    await waitFor('all three are seen', () => [...source.nodes()].length === 3 && told.at(-1)?.length === 2);
    expect(told.at(-1)).toEqual([
      { name: 'a', providerID: 'digitalocean://1' },
      { name: 'b', providerID: 'digitalocean://1', unclear: 'yes' },
    ]);
    annotate(world, 'b', '');
    await waitFor('the other value is told', () => told.at(-1)?.some(({ unclear }) => unclear === '') ?? false);
    annotate(world, 'b', 'false');
    await waitFor('it is as none', () => told.at(-1)?.length === 1);
  });
});
