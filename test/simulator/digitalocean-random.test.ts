import { describe, expect, test } from 'vitest';
import { durationSource } from '../../simulator/digitalocean/random.ts';
import { startTestCloud } from './digitalocean-support.ts';

const SLOW = { p1: 600, p99: 6_000 };

function draws(count: number, seed: number): readonly number[] {
  const next = durationSource(SLOW, seed);
  return Array.from({ length: count }, next);
}

describe('a log-normal duration', () => {
  test.each([1, 7, 42, 1_000_003])('has the quantiles that describe it, for seed %d', (seed) => {
    const count = 20_000;
    const all = draws(count, seed);
    const share = (ms: number) => all.filter((one) => one <= ms).length / count;
    // Four standard deviations of such a count: sqrt(p (1 - p) / count).
    expect(Math.abs(share(600) - 0.01)).toBeLessThan(0.003);
    expect(Math.abs(share(Math.sqrt(600 * 6_000)) - 0.5)).toBeLessThan(0.015);
    expect(Math.abs(share(6_000) - 0.99)).toBeLessThan(0.003);
    // A quartile is 0.6745 deviations from the middle.
    expect(Math.abs(share(Math.sqrt(600 * 6_000) * 10 ** ((0.5 * 0.6744897501960817) / 2.3263478740408408)) - 0.75)).toBeLessThan(0.0125);
  });

  test('is never beyond seven deviations: 32 random bits go no further', () => {
    const all = draws(100_000, 7);
    const [middle, factor] = [Math.sqrt(600 * 6_000), 10 ** ((0.5 * 7) / 2.3263478740408408)];
    expect(Math.min(...all)).toBeGreaterThan(middle / factor);
    expect(Math.max(...all)).toBeLessThan(middle * factor);
  });

  test('is the same sequence for the same seed, and another one for another', () => {
    expect(draws(50, 7)).toEqual(draws(50, 7));
    expect(draws(50, 7)).not.toEqual(draws(50, 8));
  });
});

test('each action takes the time that the seed has for it', async () => {
  const expected = durationSource(SLOW, 7);
  const cloud = await startTestCloud({ actionMs: SLOW, seed: 7 });
  try {
    for (const name of ['a', 'b', 'c']) {
      const droplet = cloud.simulator.addDroplet({ name, region: 'nyc3' });
      const { ip } = cloud.simulator.addReservedIP({ region: 'nyc3' });
      await cloud.call('POST', `/v2/reserved_ips/${ip}/actions`, { type: 'assign', droplet_id: droplet.id });
    }
    const took = [...cloud.simulator.state.actions.values()].map(({ startedAt, dueAt }) => dueAt - startedAt);
    expect(took).toHaveLength(3);
    for (const ms of took) expect(ms).toBeCloseTo(expected(), 3);
  } finally {
    await cloud.simulator.close();
  }
});
