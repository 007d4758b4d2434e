import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../support/wait-for.ts';
import { nodeRef } from '../support.ts';
import { FOREIGN, HOLDER, isPatchOf, marking, ours, setTaints } from './holders-support.ts';

describe('the taint of a holder', () => {
  test('stands on a node that had none when the promise resolves, with the effect that is asked for', async () => {
    const { writer, taints } = await marking();
    expect([taints('a'), taints('b')]).toEqual([[], []]);
    await writer.markHolder('a', 'PreferNoSchedule');
    await writer.markHolder('b', 'NoSchedule');
    expect(taints('a')).toEqual([ours('PreferNoSchedule')]);
    expect(taints('b')).toEqual([ours('NoSchedule')]);
  });

  test('stands beside the taints of others, which stay as they are', async () => {
    const { writer, taints, simulator } = await marking();
    const others = [
      { ...FOREIGN, timeAdded: '2026-01-01T00:00:00Z' },
      { key: 'maintenance', effect: 'NoExecute' },
    ];
    setTaints(simulator, 'a', others);
    await writer.markHolder('a', 'NoSchedule');
    expect(taints('a')).toEqual([...others, ours('NoSchedule')]);
  });

  test('is written once', async () => {
    const { writer, taints, patches } = await marking();
    for (let round = 0; round < 3; round += 1) await writer.markHolder('a', 'NoSchedule');
    expect(taints('a')).toEqual([ours('NoSchedule')]);
    expect(patches('a')).toBe(1);
  });

  test('whose effect is another is corrected, and one that stands twice is made one', async () => {
    const { writer, taints, simulator } = await marking();
    setTaints(simulator, 'a', [ours('NoSchedule'), FOREIGN]);
    setTaints(simulator, 'b', [ours('NoSchedule'), FOREIGN, ours('PreferNoSchedule')]);
    for (const node of ['a', 'b']) await writer.markHolder(node, 'PreferNoSchedule');
    expect(taints('a')).toEqual([FOREIGN, ours('PreferNoSchedule')]);
    expect(taints('b')).toEqual([FOREIGN, ours('PreferNoSchedule')]);
  });

  test('leaves alone what others wrote under its key: with a value, or with an effect that evicts', async () => {
    const { writer, taints, simulator } = await marking();
    const others = [
      { key: HOLDER, value: 'by-hand', effect: 'NoSchedule' },
      { key: HOLDER, effect: 'NoExecute' },
    ];
    setTaints(simulator, 'a', others);
    await writer.markHolder('a', 'PreferNoSchedule');
    expect(taints('a')).toEqual([...others, ours('PreferNoSchedule')]);
    // The API takes no second taint of one key and one effect.
    await writer.markHolder('a', 'NoSchedule');
    expect(taints('a')).toEqual(others);
  });

  test.each([
    ['that had none before', []],
    ['that had some before', [{ key: 'maintenance', effect: 'NoSchedule' }]],
  ])('and one that somebody else writes at the same moment both stand, on a node %s', async (_which, before) => {
    const { meddled, taints, simulator, patches } = await marking();
    setTaints(simulator, 'a', before);
    const added = [1, 2, 3].map((count) => ({ key: `other-${count}`, effect: 'NoSchedule' }));
    let count = 0;
    const { writer } = meddled((request) => {
      if (!isPatchOf('a')(request) || count === added.length) return;
      count += 1;
      setTaints(simulator, 'a', [...before, ...added.slice(0, count)]);
    });
    await writer.markHolder('a', 'NoSchedule');
    expect(count).toBe(3);
    expect(patches('a')).toBe(4);
    expect(taints('a')).toEqual([...before, ...added, ours('NoSchedule')]);
  });

  test('is given up when somebody else writes all the time', async () => {
    const { meddled, taints, simulator, patches } = await marking();
    let count = 0;
    const { writer } = meddled((request) => {
      if (isPatchOf('a')(request)) setTaints(simulator, 'a', [{ key: `other-${++count}`, effect: 'NoSchedule' }]);
    });
    await expect(writer.markHolder('a', 'NoSchedule')).rejects.toMatchObject({
      name: 'ServerUnreachable',
      message: expect.stringContaining('taint node a: '),
    });
    expect(patches('a')).toBe(6);
    expect(taints('a')).toEqual([{ key: 'other-6', effect: 'NoSchedule' }]);
  });

  test('is no concern of a node that is gone', async () => {
    const { writer, simulator, patches } = await marking();
    simulator.store.delete(nodeRef('a'));
    await writer.markHolder('a', 'NoSchedule');
    expect(patches('a')).toBe(0);
  });

  test('of a node that goes between two requests is no concern either', async () => {
    const { meddled, simulator, patches } = await marking();
    const { writer } = meddled((request) => {
      if (isPatchOf('a')(request)) simulator.store.delete(nodeRef('a'));
    });
    await writer.markHolder('a', 'NoSchedule');
    expect(patches('a')).toBe(1);
  });

  test('fails when the server is away or refuses, and works when it is back', async () => {
    const { writer, refusing, taints, simulator } = await marking();
    simulator.faults.outage('reset');
    await expect(writer.markHolder('a', 'NoSchedule')).rejects.toMatchObject({ name: 'ServerUnreachable' });
    simulator.faults.endOutage();
    const refused = refusing(isPatchOf('a')).writer.markHolder('a', 'NoSchedule');
    await expect(refused).rejects.toMatchObject({ kind: 'Forbidden' });
    expect(taints('a')).toEqual([]);
    await writer.markHolder('a', 'NoSchedule');
    expect(taints('a')).toEqual([ours('NoSchedule')]);
  });

  test('is in the end what was asked for last', async () => {
    const { writer, taints, simulator } = await marking();
    simulator.faults.delay({ ms: 50, path: '/api/v1/nodes/a', count: 1 });
    await Promise.all([writer.markHolder('a', 'NoSchedule'), writer.markHolder('a', 'PreferNoSchedule')]);
    expect(taints('a')).toEqual([ours('PreferNoSchedule')]);
  });

  test('makes no node ineligible and is no news: pools are told nothing of it', async () => {
    const { writer, source, recorder, shown, simulator } = await marking();
    const facts = recorder.count('fact');
    expect(facts).toBeGreaterThan(0);
    await writer.markHolder('a', 'NoSchedule');
    await shown('a', 'NoSchedule');
    expect([...source.nodes()].map(({ node }) => node.taints)).toEqual([[], []]);
    // A foreign one is told, after whatever our own would have caused.
    setTaints(simulator, 'b', [FOREIGN]);
    await waitFor('the foreign taint is told', () => recorder.facts.get('pool')?.nodes.some(({ taints }) => taints.length > 0) ?? false);
    expect(recorder.count('fact')).toBe(facts + 1);
    expect(recorder.facts.get('pool')?.nodes.map(({ taints }) => taints)).toEqual([[], [FOREIGN]]);
  });
});
