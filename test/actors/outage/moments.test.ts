import { describe, expect, test } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { extent, shareOf } from '../../support/extent.ts';
import { ingress, lose } from '../../support/setups.ts';
import { expectSound } from '../../support/sound.ts';
import { World } from '../../support/world.ts';
import { KILL_POINTS } from '../crash/run.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

interface Moment {
  readonly point: KillPoint;
  readonly occurrence: number;
}

/** What happens to Redis before its node fails, when the moment comes, and after so many ms. */
interface Story {
  readonly before: (world: World) => Promise<void>;
  readonly now: (world: World) => void;
  readonly afterwards: readonly (readonly [afterMs: number, what: (world: World) => void])[];
}

const goesAway = async (world: World): Promise<void> => {
  redisGoes(world);
  await world.clock.advance(5 * SECOND);
  expect(aways(world)).toBe(1);
};

const STORIES: Readonly<Record<string, Story>> = {
  'Redis returns': { before: goesAway, now: redisReturns, afterwards: [] },
  'Redis goes': { before: () => Promise.resolve(), now: redisGoes, afterwards: [[40 * SECOND, redisReturns]] },
  'Redis goes for less than it takes to go on without it': {
    before: () => Promise.resolve(),
    now: redisGoes,
    afterwards: [[1_500, redisReturns]],
  },
  'Redis returns for a moment': {
    before: goesAway,
    now: redisReturns,
    afterwards: [
      [1_200, redisGoes],
      [30 * SECOND, redisReturns],
    ],
  },
};

/** A node fails, and somewhere on the way of its address to another one Redis goes or returns. Answers how often the point was passed until all was done. */
async function fails(story: Story, replicas: number, moment: Moment, lagMs: number): Promise<number> {
  const world = new World({ away: true, lagMs, provider: { actionMs: 1_500, callMs: 100 } });
  const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [A]: 'a', [B]: 'b' } });
  let [passed, armed] = [0, false];
  const happens = (point: KillPoint): boolean => {
    if (!armed || point !== moment.point) return false;
    passed += 1;
    if (passed === moment.occurrence) happened(world, story);
    return false;
  };
  for (let each = 0; each < replicas; each += 1) await world.start(happens);
  await world.untilStates(ref, BOTH);
  await world.clock.advance(10 * SECOND);
  await story.before(world);
  armed = true;
  lose(world, 'a');
  await world.untilOn(A, 'c', 2 * MINUTE);
  await world.clock.advance(MINUTE);
  armed = false;
  redisReturns(world);
  await world.untilStates(ref, BOTH, 2 * MINUTE);
  await world.clock.advance(MINUTE);
  const held = world.provider.cloud.history(A as never).map(({ providerID }) => providerID?.replace('digitalocean://', ''));
  expect([held, world.assigns().length]).toEqual([['a', 'c'], 1]);
  expectSound(world);
  for (const process of world.processes) process.kill();
  return passed;
}

const happened = (world: World, { now, afterwards }: Story): void => {
  now(world);
  let at = 0;
  for (const [afterMs, what] of afterwards) {
    at += afterMs;
    world.clock.after(at, () => what(world));
  }
};

describe.each(Object.keys(STORIES))('when a node fails, and %s', (name) => {
  const story = STORIES[name] as Story;
  test.each([
    [1, 0],
    [2, 0],
    [1, 3_000],
  ] as const)('at any point of that, its address moves by one assign (%s replicas, status %s ms behind)', async (replicas, lagMs) => {
    let runs = 0;
    for (const point of KILL_POINTS) {
      const all = await fails(story, replicas, { point, occurrence: Number.POSITIVE_INFINITY }, lagMs);
      expect(all, point).toBeGreaterThan(0);
      // Looks that repeat while time goes by are one moment more each: the first ones are enough.
      const occurrences = Array.from({ length: Math.min(all, 8) }, (_, index) => index + 1);
      for (const occurrence of shareOf(occurrences, 4)) {
        await fails(story, replicas, { point, occurrence }, lagMs).catch((error) => {
          throw new Error(`${point} ${occurrence}: ${String(error)}`, { cause: error });
        });
        runs += 1;
      }
    }
    expect(runs).toBeGreaterThan(extent(10, 5));
  });
});
