import { describe, expect, test } from 'vitest';
import type { JobScript } from '../../../adapters/memory/job-driver.ts';
import { jobDriven } from './world.ts';

/** A RoutedIP without an address, whose first creation goes by the script. */
async function creating(script: JobScript) {
  const driven = await jobDriven({ routedIPFirewallName: '' });
  const { world } = driven;
  world.jobs.script('create', script);
  const runs = (action: string) => world.jobs.actions.filter((each) => each === action).length;
  const until = (happened: () => boolean, ms = 120_000) => world.clock.runUntil(happened, ms);
  return { ...driven, runs, until };
}

describe('a Job that makes an address', () => {
  test.each([
    ['ends with an exit code that says it made none', { kind: 'exit', code: 75 }],
    ['never began', { kind: 'stuck', why: 'Unschedulable' }],
  ] as const)('and %s is followed by another one, which makes the only one', async (_, script) => {
    const { world, ref, runs } = await creating(script);
    await world.stable(ref, undefined, 900_000);
    expect(runs('create')).toBe(2);
    expect(world.jobs.platform.holders.size).toBe(1);
    expect(world.jobs.overlaps).toEqual([]);
  });

  test('and is deleted in the middle is not followed by another one as long as nobody knows what it did', async () => {
    const { world, ref, runs, until } = await creating({ kind: 'hang' });
    await until(() => runs('create') === 1);
    world.jobs.remove('create');
    await world.clock.advance(3_600_000);
    expect(runs('create')).toBe(1);
    expect(world.jobs.platform.holders.size).toBe(0);
    expect(world.statusOf(ref).state).not.toBe('Stable');
    expect(runs('find')).toBeGreaterThan(0);
  });

  test('and does not say which is not followed by another one', async () => {
    const { world, runs } = await creating({ kind: 'pretend', says: {} });
    await world.clock.advance(1_800_000);
    expect(runs('create')).toBe(1);
  });

  test('and is killed at its deadline is found to have made one, where the template can tell', async () => {
    const { world, ref, runs, until } = await creating({ kind: 'hang' });
    world.jobs.platform.knowsOwners = true;
    await until(() => runs('create') === 1);
    const [job] = world.jobs.created;
    if (!job) throw new Error('no Job was created');
    world.jobs.platform.carryOut(job.request);
    await world.stable(ref, undefined, 900_000);
    expect([runs('create'), world.jobs.platform.holders.size]).toEqual([1, 1]);
  });

  test('and is deleted is found to have made none, where the template can tell, and another one makes it', async () => {
    const { world, ref, runs, until } = await creating({ kind: 'hang' });
    world.jobs.platform.knowsOwners = true;
    await until(() => runs('create') === 1);
    world.jobs.remove('create');
    await world.stable(ref, undefined, 900_000);
    expect([runs('create'), world.jobs.platform.holders.size]).toEqual([2, 1]);
  });

  test('goes on when the process that asked for it dies: the next one hears of the same address', async () => {
    const { world, ref, process, runs, until } = await creating({ kind: 'exit', code: 0, afterMs: 60_000 });
    await until(() => runs('create') === 1);
    process.kill();
    await world.operator();
    await world.stable(ref, undefined, 300_000);
    expect([runs('create'), world.jobs.platform.holders.size]).toEqual([1, 1]);
    expect(world.statusOf(ref).routedIP).toBe('198.51.100.1');
  });

  test('has ended while nobody was there: its address is heard of all the same', async () => {
    const { world, ref, process, runs, until } = await creating({ kind: 'exit', code: 0, afterMs: 5_000 });
    await until(() => runs('create') === 1);
    process.kill();
    await world.clock.advance(60_000);
    expect(world.jobs.platform.holders.size).toBe(1);
    await world.operator();
    await world.stable(ref, undefined, 300_000);
    expect([runs('create'), world.jobs.platform.holders.size]).toEqual([1, 1]);
  });
});
