import type { KillPoint } from '../../actors/ports/observers.ts';
import { redisGoes, redisReturns } from './away-crash.ts';
import type { World } from './world.ts';

const SECOND = 1000;

/** What else happens, by name; each as often as it stands in `weights`. */
export interface Storms {
  readonly world: World;
  readonly random: () => number;
  readonly acts: Readonly<Record<string, () => unknown>>;
  readonly weights: readonly string[];
  readonly steps: number;
}

/** Redis goes and comes back, for all or for one process; processes end, at any point too, and others start, up to two at once; and whatever else is given happens in between.
 *  In the end Redis is there, and a process runs that nothing ends. */
export async function storms({ world, random, acts, weights, steps }: Storms): Promise<void> {
  const pick = <T>(all: readonly T[]): T | undefined => all[Math.floor(random() * all.length)];
  let left = Number.POSITIVE_INFINITY;
  let isDown = false;
  const kills = (_: KillPoint): boolean => {
    left -= 1;
    return left === 0;
  };
  const toggle = (): void => {
    isDown = !isDown;
    if (isDown) redisGoes(world);
    else redisReturns(world);
  };
  const all: Readonly<Record<string, () => unknown>> = {
    toggle,
    flap: async () => {
      toggle();
      await world.clock.advance(random() * 6 * SECOND);
      toggle();
    },
    cut: () => pick(world.processes)?.store.cut(),
    mend: () => world.processes.map(({ store }) => store.mend()),
    kill: () => pick(world.processes)?.kill(),
    arm: () => {
      left = 1 + Math.floor(random() * 20);
    },
    start: () => (world.processes.length < 2 ? world.start(kills) : undefined),
    ...acts,
  };
  await world.start(kills);
  if (random() < 0.5) await world.start(kills);
  await world.clock.advance(30 * SECOND);
  const weighted = ['toggle', 'toggle', 'flap', 'cut', 'mend', 'kill', 'arm', 'start', 'start', ...weights];
  for (let step = 0; step < steps; step += 1) {
    await all[pick(weighted) ?? '']?.();
    await world.clock.advance(random() < 0.5 ? random() * 3 * SECOND : random() * 40 * SECOND);
  }
  left = Number.POSITIVE_INFINITY;
  redisReturns(world);
  for (const { store } of world.processes) store.mend();
  if (world.processes.length === 0) await world.start(kills);
}

/** Plays one history after the other. Answers what each one counted, summed up, and which ones failed. */
export async function playAll(
  first: number,
  runs: number,
  play: (seed: number) => Promise<Readonly<Record<string, number>>>,
): Promise<{ readonly sums: Readonly<Record<string, number>>; readonly failed: readonly string[] }> {
  const sums: Record<string, number> = {};
  const failed: string[] = [];
  for (let seed = first; seed < first + runs; seed += 1) {
    try {
      for (const [name, count] of Object.entries(await play(seed))) sums[name] = (sums[name] ?? 0) + count;
    } catch (error) {
      failed.push(`seed ${seed}: ${String(error).slice(0, 600)}`);
    }
  }
  return { sums, failed };
}
