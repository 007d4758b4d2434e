import { describe, expect, test } from 'vitest';
import type { RecordStore } from '../../../actors/ports/records.ts';
import { type Parting, part } from '../../../actors/runtime/shutdown.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import { ingress, lose, untilAssigns } from '../../support/setups.ts';
import { node, World } from '../../support/world.ts';

const A = '203.0.113.207';
const SECOND = 1000;
const HOUR = 3_600 * SECOND;

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

describe('what is done on a stop', () => {
  async function parted(partings: (clock: ReturnType<typeof virtualClock>) => readonly Parting[]) {
    const clock = virtualClock();
    const warned: unknown[] = [];
    const quiet = (): void => undefined;
    const log = { debug: quiet, info: quiet, error: quiet, warn: (_: string, fields?: unknown) => void warned.push(fields) };
    let isOver = false;
    void part(partings(clock), { graceMs: 10 * SECOND, clock, log }).then(() => {
      isOver = true;
    });
    const lasted = await clock.runUntil(() => isOver, HOUR);
    expect(clock.pending()).toBe(0);
    return { lasted, warned };
  }

  test('comes one after the other, each with what is left of its share', async () => {
    const told: string[] = [];
    const takes = (clock: ReturnType<typeof virtualClock>, what: string, until: number, ms: number): Parting => ({
      what,
      until,
      run: (leftMs) => {
        told.push(`${what}: ${leftMs}`);
        return new Promise<void>((resolve) => void clock.after(ms, resolve));
      },
    });
    const { lasted, warned } = await parted((clock) => [
      takes(clock, 'first', 0.5, 2 * SECOND),
      takes(clock, 'second', 0.6, SECOND),
      takes(clock, 'third', 1, SECOND),
    ]);
    expect(told).toEqual(['first: 5000', 'second: 4000', 'third: 7000']);
    expect([lasted, warned]).toEqual([4 * SECOND, []]);
  });

  test('is left to itself when its time is over, and the rest has its own', async () => {
    const { lasted, warned } = await parted(() => [
      { what: 'hangs', until: 0.5, run: never },
      { what: 'hangs too', until: 0.6, run: never },
      { what: 'ends', until: 1, run: () => undefined },
    ]);
    expect(lasted).toBe(6 * SECOND);
    expect(warned).toEqual([
      { awaited: 'hangs', durationMs: 5000 },
      { awaited: 'hangs too', durationMs: 1000 },
    ]);
  });

  test('may fail, and keeps nothing else from its end', async () => {
    const throws = (): void => {
      throw new Error('no way');
    };
    const { warned } = await parted(() => [
      { what: 'fails', until: 0.5, run: throws },
      { what: 'ends', until: 1, run: () => undefined },
    ]);
    expect(warned).toEqual([{ awaited: 'fails', error: 'Error: no way' }]);
  });
});

describe('an operator that is asked to stop', () => {
  /** Who moves an address from node a by a call that is not answered for so long. Its store hangs once `hangs.store` is set. */
  async function moving(deadlineMs: number) {
    const world = new World({ provider: { deadlineMs } });
    const hangs = { store: false };
    const connect = world.store.connect.bind(world.store);
    world.store.connect = () => {
      const store = connect();
      const save: RecordStore['save'] = (write) => (hangs.store ? never() : store.save(write));
      return { ...store, save };
    };
    const ref = ingress(world, { nodes: ['a', 'b'], addresses: { [A]: 'a' } });
    const process = await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
    lose(world, 'a');
    await untilAssigns(world, 1);
    const stop = async (): Promise<number> => {
      let stopped = false;
      void process.supervisor.stop().then(() => {
        stopped = true;
      });
      return world.clock.runUntil(() => stopped, HOUR);
    };
    return { world, process, hangs, stop };
  }

  test('waits for a call that is under way, and queues what became of it', async () => {
    const { world, stop } = await moving(15 * SECOND);
    const told = () => world.queues.jobs('outcomes').filter(({ title }) => title.includes('failed (Unavailable): assign'));
    expect(told()).toHaveLength(0);
    const lasted = await stop();
    expect(lasted).toBeGreaterThan(14 * SECOND);
    expect(lasted).toBeLessThan(world.settings.shutdownGraceMs);
    expect([told().length, world.faults()]).toEqual([1, []]);
  });

  test('ends within its grace, all in all, when jobs, turns, the Lease and the last writes hang one after the other', async () => {
    const { world, process, hangs, stop } = await moving(HOUR);
    const asked: string[] = [];
    process.lease.release = () => {
      asked.push('the Lease');
      return never();
    };
    process.cluster.flush = (graceMs) => {
      asked.push('the last writes');
      return new Promise((resolve) => void world.clock.after(graceMs, resolve));
    };
    hangs.store = true;
    world.cluster.setNode(node('c'));
    await world.clock.settle();
    const lasted = await stop();
    expect(asked).toEqual(['the Lease', 'the last writes']);
    expect(world.log.filter(({ message }) => message === 'a stop no longer waits').map(({ fields }) => fields)).toMatchObject([
      { awaited: 'jobs' },
      { awaited: 'turns' },
      { awaited: 'the Lease' },
    ]);
    expect(lasted).toBeGreaterThan(24 * SECOND);
    expect(lasted).toBeLessThan(world.settings.shutdownGraceMs);
    process.kill();
  });
});
