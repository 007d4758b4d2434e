import { describe, expect, test } from 'vitest';
import { type AwayScenario, crashEverywhere, REDIS_THEN } from '../../support/away-crash.ts';
import { extent } from '../../support/extent.ts';
import { VIP_SCENARIOS } from '../crash/vip-scenarios.ts';

/** One in so many points is tried with each of the three that may come after; 1 for all. */
const EVERY = Number(process.env.ROUTEDIP_AWAY_EVERY ?? extent(4, 8));

const scenarios = VIP_SCENARIOS.map((scenario): AwayScenario => ({ ...scenario, isOverAway: scenario.isOver }));

describe.each(scenarios)('while Redis is away: $name', (scenario) => {
  test.each(REDIS_THEN)('it ends the same wherever the process ends, with Redis %s', { timeout: 300_000 }, async (then) => {
    expect(await crashEverywhere(scenario, then, EVERY)).toBeGreaterThan(extent(1, 0));
  });
});
