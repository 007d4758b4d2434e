import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../../adapters/memory/random.ts';
import { type AwayScenario, attempt, crashEverywhere, REDIS_THEN, type RedisThen } from '../../support/away-crash.ts';
import { extent } from '../../support/extent.ts';
import { SCENARIOS } from '../crash/scenarios.ts';

const SEED = Number(process.env.ROUTEDIP_SEED ?? 20_260_101);
/** One in so many points is tried with each of the three that may come after; 1 for all. */
const EVERY = Number(process.env.ROUTEDIP_AWAY_EVERY ?? extent(4, 16));
const TWICE = Number(process.env.ROUTEDIP_CRASHES ?? extent(6, 2));

/** What ends in another way when nothing is remembered but what the status and the provider say, or waits for Redis altogether. */
const OTHERWISE: readonly string[] = ['creation', 'pool deletion', 'pool deletion while an address is created'];
const scenarios = SCENARIOS.filter(({ name }) => !OTHERWISE.includes(name)).map(
  // What is shown lags behind: only what was written before its effect is sure to be found.
  (scenario): AwayScenario => ({ ...scenario, isOverAway: scenario.isOver, options: { ...scenario.options, lagMs: 700 } }),
);
/** Which of two lost addresses gets which node is up to who comes first: a status found beside an empty Redis is not taken for one that was written before each assign. */
const SWAPPED: Readonly<Record<string, RedisThen>> = { 'failover while cool-off': 'back and empty' };

describe.each(scenarios)('$name while Redis is away', (scenario) => {
  const thens = REDIS_THEN.filter((then) => SWAPPED[scenario.name] !== then);
  test.each(thens)('ends the same wherever the process ends, with Redis %s', { timeout: 300_000 }, async (then) => {
    expect(await crashEverywhere(scenario, then, EVERY)).toBeGreaterThan(extent(2, 0));
  });

  test(`ends the same when the next process ends too (seed ${SEED})`, { timeout: 120_000 }, async () => {
    const random = seededRandom(SEED);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
    const { passed } = await attempt(scenario, [], 'still away');
    let crashed = 0;
    for (let run = 0; run < TWICE; run += 1) {
      const crash = () => ({ point: 'any', occurrence: 1 + Math.floor(random() * passed) }) as const;
      crashed += (await attempt(scenario, [crash(), crash()], pick(thens))).crashed;
    }
    expect(crashed).toBeGreaterThan(TWICE);
  });
});
