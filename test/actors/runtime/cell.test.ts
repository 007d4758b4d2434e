import { describe, expect, test } from 'vitest';
import { Unreachable } from '../../../actors/ports/errors.ts';
import type { CellWrite, SaveResult } from '../../../actors/ports/records.ts';
import { TIMERS } from '../../../actors/runtime/queue-data.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';
import { memoryStore } from '../../../adapters/memory/store.ts';
import { verificationActor } from '../../../machines/model/actor-id.ts';
import { cellsOn } from '../../support/cells.ts';

const ID = verificationActor('digitalocean');

/** A cell in the middle of a save that somebody else ends, after it was halted. */
async function haltedWhileSaving() {
  const clock = virtualClock();
  const store = memoryStore();
  await store.openTerm(1);
  const saving: ((result: SaveResult | Error) => void)[] = [];
  const save = (_: CellWrite) =>
    new Promise<SaveResult>((resolve, reject) => saving.push((result) => (result instanceof Error ? reject(result) : resolve(result))));
  const cells = cellsOn({ store: { ...store, save }, queues: memoryQueues(clock), clock });
  cells.open();
  cells.begin('verification', ID, { id: ID, provider: 'digitalocean' });
  await clock.runUntil(() => saving.length === 1, 1000);
  const waiting = cells.deliver({ to: ID, event: { type: 'RESUME' } });
  saving[0]?.({ kind: 'saved' });
  await clock.runUntil(() => saving.length === 2, 1000);
  cells.stop('stale');
  return { clock, waiting, end: (result: SaveResult | Error) => saving[1]?.(result) };
}

/** Whoever waits for nothing any more would wait until the term is closed. */
const settled = (waiting: Promise<void>, advance: Promise<unknown>) =>
  Promise.race([waiting, advance.then(() => 'waits still')]).catch((error: unknown) => error);

describe('whoever waits for an event of a cell that was halted in the middle of its turn is told so', () => {
  test('when the turn fails then', async () => {
    const { clock, waiting, end } = await haltedWhileSaving();
    end(new Error('a reply that only a defect explains'));
    expect(await settled(waiting, clock.advance(60_000))).toBeInstanceOf(Unreachable);
  });

  test('when the store does not answer the turn then', async () => {
    const { clock, waiting, end } = await haltedWhileSaving();
    end(new Unreachable('the store is away'));
    expect(await settled(waiting, clock.advance(60_000))).toBeInstanceOf(Unreachable);
  });

  test('when nodes are refused to the turn then', async () => {
    const { clock, waiting, end } = await haltedWhileSaving();
    end({ kind: 'claimsFull', nodes: ['a'] });
    expect(await settled(waiting, clock.advance(60_000))).toBeInstanceOf(Unreachable);
  });

  test('but not when the turn is saved all the same', async () => {
    const { clock, waiting, end } = await haltedWhileSaving();
    end({ kind: 'saved' });
    expect(await settled(waiting, clock.advance(60_000))).toBeUndefined();
  });
});

test('what a queue has lost is not handed over again in the next term: whoever waits for it asks anew as it resumes', async () => {
  const clock = virtualClock();
  const [store, queues] = [memoryStore(), memoryQueues(clock)];
  await store.openTerm(1);
  const former = cellsOn({ store, queues, clock });
  former.begin('verification', ID, { id: ID, provider: 'digitalocean' });
  await former.quiet();
  const [handedOver] = queues.jobs(TIMERS);
  former.stop('stale');
  queues.wipe();
  await store.openTerm(2);
  const stored = await store.load(ID);
  expect(stored?.outbox.map(({ id }) => id)).toEqual([handedOver?.id]);
  const cells = cellsOn({ store, queues, clock }, 2);
  await cells.loadAll(new Map(stored && [[ID, stored]]), (cell) => cell);
  cells.sweep();
  await clock.advance(1);
  expect(queues.jobs(TIMERS)).toEqual([]);
  cells.resume(ID);
  await cells.quiet();
  expect(queues.jobs(TIMERS)).toHaveLength(1);
  expect((await store.load(ID))?.outbox).toHaveLength(1);
});
