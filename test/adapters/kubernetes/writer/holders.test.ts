import { describe, expect, test, vi } from 'vitest';
import { refusal } from '../../../../adapters/kubernetes/client/api-error.ts';
import { virtualClock } from '../../../../adapters/memory/clock.ts';
import { PATIENCE_MS, waitFor } from '../../../support/wait-for.ts';
import { addNode } from '../support.ts';
import { FOREIGN, HOLDER, isPatchOf, marking, ours, setTaints } from './holders-support.ts';

const EFFECT = 'PreferNoSchedule';

describe('the taints of all holders', () => {
  test('stand where they are wanted, and go from where they are not', async () => {
    const { writer, taints, simulator } = await marking();
    setTaints(simulator, 'a', [FOREIGN]);
    writer.markHolders({ a: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[FOREIGN, ours(EFFECT)], []]);
    writer.markHolders({ b: 'NoSchedule' }, true);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[FOREIGN], [ours('NoSchedule')]]);
    writer.markHolders({ b: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect(taints('b')).toEqual([ours(EFFECT)]);
    writer.markHolders({}, true);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[FOREIGN], []]);
  });

  test('go from no node while it is not known who else is a holder', async () => {
    const { writer, taints, shown } = await marking();
    await writer.markHolder('a', EFFECT);
    await shown('a', EFFECT);
    writer.markHolders({ b: EFFECT }, false);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[ours(EFFECT)], [ours(EFFECT)]]);
    writer.markHolders({ b: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[], [ours(EFFECT)]]);
  });

  test('stay as they are where nobody knows which one it is to be', async () => {
    const { writer, taints, shown } = await marking();
    await writer.markHolder('a', 'NoSchedule');
    await shown('a', 'NoSchedule');
    writer.markHolders({ a: 'AsItIs', b: 'AsItIs' }, true);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[ours('NoSchedule')], []]);
  });

  test('are written once, and only to the nodes concerned', async () => {
    const { writer, simulator, patches, shown } = await marking();
    for (let round = 0; round < 3; round += 1) {
      writer.markHolders({ a: EFFECT }, true);
      await writer.flush(PATIENCE_MS);
    }
    await shown('a', EFFECT);
    writer.markHolders({ a: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect([patches('a'), patches('b')]).toEqual([1, 0]);
    const asked = simulator.requests.filter(({ method, path }) => method === 'GET' && path.startsWith('/api/v1/nodes/'));
    expect(asked.map(({ path }) => path)).toEqual(['/api/v1/nodes/a']);
  });

  test('are put back after somebody took one off', async () => {
    const { writer, simulator, taints, shown } = await marking();
    writer.markHolders({ a: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    await shown('a', EFFECT);
    setTaints(simulator, 'a', [FOREIGN]);
    expect(taints('a')).toEqual([FOREIGN]);
    await waitFor('it is back', () => taints('a').length === 2);
    expect(taints('a')).toEqual([FOREIGN, ours(EFFECT)]);
  });

  test('that an earlier process left are found on the nodes and taken off, those of others are not', async () => {
    const { writer, newWriter, simulator, taints, shown } = await marking();
    await writer.markHolder('a', EFFECT);
    const byHand = { key: HOLDER, value: 'by-hand', effect: 'NoSchedule' };
    setTaints(simulator, 'b', [byHand]);
    await shown('a', EFFECT);
    const next = newWriter();
    next.markHolders({}, true);
    await next.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[], [byHand]]);
  });

  test('go from a node that the watches do not show any more', async () => {
    const { writer, source, taints } = await marking();
    writer.markHolders({ a: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    vi.spyOn(source, 'nodes').mockReturnValue([]);
    expect(taints('a')).toEqual([ours(EFFECT)]);
    writer.markHolders({}, true);
    await writer.flush(PATIENCE_MS);
    expect(taints('a')).toEqual([]);
  });

  test('go although the watches do not show yet that they were set, also at the first word on all holders', async () => {
    const { writer, source, taints } = await marking();
    const before = [...source.nodes()];
    vi.spyOn(source, 'nodes').mockImplementation(() => before);
    await writer.markHolder('a', 'PreferNoSchedule');
    expect(taints('a')).toEqual([ours('PreferNoSchedule')]);
    writer.markHolders({}, true);
    await waitFor('the mark is off', () => taints('a').length === 0);
  });

  test('stand on a node that comes later by the name of a holder', async () => {
    const { writer, simulator, taints, log } = await marking();
    writer.markHolders({ c: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect(log.lines).toEqual([]);
    addNode(simulator, 'c', { labels: { color: 'blue' } });
    await waitFor('c is marked', () => taints('c').length > 0);
    expect(taints('c')).toEqual([ours(EFFECT)]);
  });

  test('stand beside what somebody else writes at the same moment', async () => {
    const { meddled, simulator, taints } = await marking();
    let meddling = 4;
    const { writer, log } = meddled((request) => {
      if (isPatchOf('a')(request) && meddling > 0) setTaints(simulator, 'a', [{ ...FOREIGN, value: `v${--meddling}` }]);
    });
    writer.markHolders({ a: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect(meddling).toBe(0);
    expect(taints('a')).toEqual([{ ...FOREIGN, value: 'v0' }, ours(EFFECT)]);
    expect(log.lines).toEqual([]);
  });

  test('are written when the server is back, the newest alone', async () => {
    const { writer, simulator, taints, patches, log } = await marking();
    simulator.faults.outage('reset');
    writer.markHolders({ a: EFFECT }, true);
    await waitFor('two tries', () => log.lines.length >= 2);
    expect(log.lines[0]).toMatch(/^warn taints not written .*\/api\/v1\/nodes\/a/);
    writer.markHolders({ b: 'NoSchedule' }, true);
    simulator.faults.endOutage();
    await waitFor('b is marked', () => taints('b').length > 0);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[], [ours('NoSchedule')]]);
    expect(patches('a')).toBe(0);
  });

  test('that may not be written are said in one Event about a node, where kubectl looks for it, and hold up no other node', async () => {
    let allowed = false;
    const { refusing, simulator, taints } = await marking();
    addNode(simulator, 'c', { labels: { color: 'blue' } });
    const { writer, log } = refusing((request) => !allowed && (isPatchOf('a')(request) || isPatchOf('b')(request)));
    writer.markHolders({ a: EFFECT, b: EFFECT, c: EFFECT }, true);
    const events = () => simulator.store.list('v1', 'Event', { namespace: 'default' });
    await waitFor('c is marked, and the Event is there', () => taints('c').length > 0 && events().length > 0);
    await waitFor('some tries', () => log.lines.filter((line) => line.includes('taints not written')).length > 2);
    expect(events()).toHaveLength(1);
    const [event] = events();
    expect(event).toMatchObject({
      type: 'Warning',
      reason: 'Forbidden',
      message: expect.stringContaining('may not patch nodes'),
    });
    expect(event?.involvedObject).toEqual({ apiVersion: 'v1', kind: 'Node', name: 'a', uid: 'a' });
    allowed = true;
    await waitFor('all are marked', () => ['a', 'b', 'c'].every((node) => taints(node).length === 1));
    await writer.flush(PATIENCE_MS);
    expect(events()).toHaveLength(1);
  });

  test('that the server answers with an error are said in one Event about a node when that lasts', async () => {
    let isMended = false;
    const { meddled, simulator, taints } = await marking();
    const { writer, log } = meddled((request) => {
      if (isMended || !isPatchOf('a')(request)) return;
      throw refusal({ verb: 'patch', path: request.path }, 500, 'failed calling webhook "x.example.com": connection refused');
    });
    writer.markHolders({ a: EFFECT, b: EFFECT }, true);
    const events = () => simulator.store.list('v1', 'Event', { namespace: 'default' });
    await waitFor('the Event', () => events().length > 0);
    const tries = log.lines.length;
    await waitFor('further tries', () => log.lines.length > tries + 2);
    const message = expect.stringMatching(
      /^its taints cannot be written; all else goes on: the API server answers with an error: .* webhook "x\./,
    );
    expect(events()).toMatchObject([{ type: 'Warning', reason: 'APIServerError', involvedObject: { kind: 'Node', name: 'a' }, message }]);
    isMended = true;
    await waitFor('it is marked', () => taints('a').length === 1 && taints('b').length === 1);
  });

  test('do not lose a mark that was set after they were said', async () => {
    const { writer, taints, shown, simulator } = await marking();
    writer.markHolders({ b: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    await writer.markHolder('a', EFFECT);
    await Promise.all([shown('a', EFFECT), shown('b', EFFECT)]);
    // Once the mark of b is back, all nodes were looked at since.
    setTaints(simulator, 'b', [FOREIGN]);
    await waitFor('the mark of b is back', () => taints('b').length === 2);
    await writer.flush(PATIENCE_MS);
    expect(taints('a')).toEqual([ours(EFFECT)]);
    writer.markHolders({ b: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    expect(taints('a')).toEqual([]);
  });
});

describe('a process that leads no more', () => {
  test('writes no mark that it was about to write', async () => {
    const { meddled, patches, taints, simulator } = await marking();
    let read = 0;
    const { writer } = meddled(({ method, path }) => {
      if (method !== 'GET' || path !== '/api/v1/nodes/a') return;
      read += 1;
      // Deposed while the node is being read.
      queueMicrotask(() => writer.forget());
    });
    writer.markHolders({ a: EFFECT }, true);
    await waitFor(
      'the node was read',
      () => read === 1 && simulator.requests.some(({ path, code }) => path === '/api/v1/nodes/a' && code === 200),
    );
    await writer.flush(PATIENCE_MS);
    await writer.markHolder('b', EFFECT);
    expect([patches('a'), taints('a')]).toEqual([0, []]);
  });

  test('puts back no mark and takes none off, until it leads again', async () => {
    const { newWriter, simulator, taints, shown } = await marking();
    const clock = virtualClock();
    const writer = newWriter(clock);
    const looked = async (): Promise<void> => {
      await clock.advance(60_000);
      // Whatever a look has to write was sent before these, and takes two requests.
      for (let request = 0; request < 4; request += 1) await writer.markHolder('nowhere', EFFECT);
    };
    writer.markHolders({ a: EFFECT }, true);
    await writer.flush(PATIENCE_MS);
    const disturb = async (): Promise<void> => {
      setTaints(simulator, 'a', []);
      setTaints(simulator, 'b', [ours(EFFECT)]);
      await Promise.all([shown('a', null), shown('b', EFFECT)]);
    };
    await shown('a', EFFECT);
    await disturb();
    await looked();
    expect([taints('a'), taints('b')]).toEqual([[ours(EFFECT)], []]);
    await shown('a', EFFECT);
    writer.forget();
    await disturb();
    await looked();
    expect([taints('a'), taints('b')]).toEqual([[], [ours(EFFECT)]]);
    writer.markHolders({ a: EFFECT }, true);
    await clock.advance(60_000);
    await writer.flush(PATIENCE_MS);
    expect([taints('a'), taints('b')]).toEqual([[ours(EFFECT)], []]);
  });
});
