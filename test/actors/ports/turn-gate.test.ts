import { describe, expect, test } from 'vitest';
import type { CellWrite } from '../../../actors/ports/records.ts';
import { TurnGate } from '../../../actors/ports/turn-gate.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { memoryQueues } from '../../../adapters/memory/queues.ts';
import { memoryStore } from '../../../adapters/memory/store.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { firewallActor } from '../../../machines/model/actor-id.ts';
import { cellsOn } from '../../support/cells.ts';

const AT_ONCE = 64;
const MANY = 3 * AT_ONCE;
const ignore = (): void => undefined;
const keyOf = (index: number): string => `vip/default/many-${index}`;

/** Cells of a term whose writes are answered one by one. */
async function thronged() {
  const clock = virtualClock();
  const [memory, queues] = [memoryStore(), memoryQueues(clock)];
  await memory.openTerm(1);
  const writes: { readonly cell: string; readonly answer: () => void }[] = [];
  const store = {
    ...memory,
    save: async (write: CellWrite) => {
      await new Promise<void>((answer) => writes.push({ cell: write.cell, answer }));
      return memory.save(write);
    },
  };
  const cells = cellsOn({ store, queues, clock });
  for (let index = 0; index < MANY; index += 1) {
    const ref = { kind: 'Service', namespace: 'default', name: `many-${index}`, uid: `uid-${index}` };
    cells.begin('vip-service', keyOf(index), { id: keyOf(index), ref });
  }
  await clock.settle();
  return { cells, clock, writes };
}

describe('thousands of Services that begin at once', () => {
  test('are written some at a time, in the order in which they came', async () => {
    const { clock, writes } = await thronged();
    expect(writes).toHaveLength(AT_ONCE);
    for (let answered = 0; answered < MANY; answered += 1) {
      writes[answered]?.answer();
      await clock.settle();
      expect(writes).toHaveLength(Math.min(answered + 1 + AT_ONCE, MANY));
    }
    expect(writes.map(({ cell }) => cell)).toEqual(Array.from({ length: MANY }, (_, index) => keyOf(index)));
  });

  test('keep nothing else waiting', async () => {
    const { cells, clock, writes } = await thronged();
    const firewall = firewallActor('digitalocean', 'edge');
    const claim = { type: 'CLAIM', claimant: 'rip/web/shop/ip/203.0.113.7', claimId: 'c', mode: 'prune' as const, node: null, ports: [] };
    void cells.deliver({ to: firewall, event: claim, sender: { actor: claim.claimant, id: claim.claimId } }).catch(ignore);
    await clock.settle();
    expect(writes.map(({ cell }) => cell).slice(AT_ONCE)).toEqual([firewall]);
  });

  test('end at once when the term does, whatever is not answered yet', async () => {
    const { cells, clock, writes } = await thronged();
    let isQuiet = false;
    cells.stop('stale');
    void cells.quiet().then(() => {
      isQuiet = true;
    });
    await clock.settle();
    expect(isQuiet, 'writes that were sent are waited for').toBe(false);
    for (const { answer } of [...writes]) answer();
    await clock.settle();
    expect([isQuiet, writes.length]).toEqual([true, AT_ONCE]);
  });
});

describe('turns that would keep the event loop to themselves', () => {
  test('pause in between, all of them that go on together, and none twice at once', async () => {
    let asked = 0;
    // Every other time somebody asks, the turn of the event loop has lasted too long.
    const gate = new TurnGate(2, { yieldToEventLoop: () => (++asked % 2 === 0 ? new Promise((resolve) => setImmediate(resolve)) : null) });
    const log: string[] = [];
    let inside = 0;
    const run = async (name: string): Promise<void> => {
      await gate.enter();
      inside += 1;
      expect(inside).toBeLessThanOrEqual(2);
      log.push(name);
      await Promise.resolve();
      inside -= 1;
      gate.leave();
    };
    const names = Array.from({ length: 9 }, (_, index) => `turn-${index}`);
    await Promise.all(names.map(run));
    expect(log.toSorted()).toEqual(names);
    // Each asks until it may go on: more often than there are turns.
    expect(asked).toBeGreaterThan(names.length);
  });

  test('of the system clock leave the event loop free within some ten milliseconds', async () => {
    const clock = systemClock();
    const gate = new TurnGate(1_000, clock);
    let others = 0;
    const other = setInterval(() => (others += 1), 0);
    const work = async (): Promise<void> => {
      const waits = gate.enter();
      if (waits) await waits;
      const until = performance.now() + 1;
      while (performance.now() < until);
      gate.leave();
    };
    await Promise.all(Array.from({ length: 100 }, work));
    clearInterval(other);
    // A hundred milliseconds of work, and nothing else had its turn without the pauses.
    expect(others).toBeGreaterThan(3);
  });
});
