import { describe, expect, test } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import type { JobScript } from '../../../adapters/memory/job-driver.ts';
import { jobDriven, OLD, YOUNG } from '../kubernetes-jobs/world.ts';

const ADDRESS = '198.51.100.1';

/** Served on node young, then told to move to old, with an assign that goes by the script. */
async function moving(script: JobScript) {
  const driven = await jobDriven();
  const { world, ref } = driven;
  await world.stable(ref, undefined, 120_000);
  world.jobs.script('assign', script);
  const before = world.jobs.created.length;
  const runs = (action: string) => world.jobs.actions.slice(before).filter((each) => each === action).length;
  world.cluster.setNode({ ...YOUNG, ready: false });
  return { ...driven, runs, until: (happened: () => boolean, ms = 120_000) => world.clock.runUntil(happened, ms) };
}

describe('a Job that assigns, when the leader dies', () => {
  test('goes on, and the next leader waits for its end instead of starting another one beside it', async () => {
    const { world, ref, process, runs, until } = await moving({ kind: 'exit', code: 0, afterMs: 90_000 });
    await until(() => runs('assign') === 1);
    process.kill();
    await world.operator();
    await world.stable(ref, 'old', 300_000);
    expect(runs('assign')).toBe(1);
    expect(world.heldBy(ADDRESS)).toBe('old');
    expect(world.jobs.overlaps).toEqual([]);
    expect(world.faults()).toEqual([]);
  });

  test('and ends while nobody is there has its work seen by the next one', async () => {
    const { world, ref, process, runs, until } = await moving({ kind: 'exit', code: 0, afterMs: 1_000 });
    await until(() => runs('assign') === 1);
    process.kill();
    await world.clock.advance(30_000);
    expect(world.heldBy(ADDRESS)).toBe('old');
    await world.operator();
    await world.stable(ref, 'old', 300_000);
    expect(world.heldBy(ADDRESS)).toBe('old');
    expect(world.jobs.overlaps).toEqual([]);
  });
});

const POINTS: readonly KillPoint[] = ['beforeWrite', 'afterWrite', 'afterDispatch', 'beforeSend'];

describe.each(POINTS)('an operator that dies %s, again and again', (point) => {
  test('ends with the address on the node that can hold it, one address made, and never two Jobs about the same', async () => {
    let hits = 0;
    for (let at = 1; at <= 12; at++) {
      const driven = await jobDriven({}, {});
      const { world, ref, process } = driven;
      process.kill();
      let left = at;
      const first = await world.operator((reached) => {
        if (reached !== point) return false;
        left -= 1;
        return left === 0;
      });
      await world.clock.runUntil(() => first.dead || world.statusOf(ref).state === 'Stable', 300_000);
      if (first.dead) hits += 1;
      else first.kill();
      await world.operator();
      await world.stable(ref, 'young', 900_000).catch((error: unknown) => {
        throw new Error(`killed at ${point} number ${at}: ${JSON.stringify(world.statusOf(ref))} ${world.jobs.actions.join(' ')}`, {
          cause: error,
        });
      });
      expect([at, world.jobs.platform.holders.size, world.heldBy(ADDRESS), world.jobs.overlaps]).toEqual([at, 1, 'young', []]);
    }
    expect(hits).toBeGreaterThan(2);
  });
});

describe('an operator whose records are lost', () => {
  test('finds the address by a Job and leaves it where it is', async () => {
    const { world, ref, process } = await jobDriven();
    await world.stable(ref, 'young', 120_000);
    process.kill();
    world.store.wipe();
    world.queues.wipe();
    const before = world.jobs.created.length;
    await world.operator();
    await world.stable(ref, 'young', 300_000);
    await world.clock.advance(60_000);
    expect(world.jobs.actions.slice(before)).toContain('find');
    expect(world.jobs.actions.slice(before)).not.toContain('assign');
    expect(world.jobs.actions.slice(before)).not.toContain('create');
    expect(OLD.name).not.toBe(world.heldBy(ADDRESS));
  });
});
