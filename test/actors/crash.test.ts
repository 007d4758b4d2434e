import { describe, expect, test } from 'vitest';
import type { Fault } from '../../adapters/memory/faults.ts';
import { seededRandom } from '../../adapters/memory/random.ts';
import { type Crash, type Hits, KILL_POINTS, run, runWithCallOnItsWay, type Takeover } from './crash-run.ts';
import { SCENARIOS, type Scenario } from './crash-scenarios.ts';

const TAKEOVERS: readonly Takeover[] = ['lease runs out', 'lease is deleted'];
const SEED = Number(process.env.ROUTEDIP_SEED ?? 20_260_101);
const DOUBLE_CRASHES = Number(process.env.ROUTEDIP_CRASHES ?? 40);

const ON_THE_WAY: Readonly<Record<string, Fault>> = {
  'takes effect 6 s later': { kind: 'hang', effectAfterMs: 6_000 },
  'takes effect just before its deadline': { kind: 'hang', effectAfterMs: 14_900 },
  'never takes effect': { kind: 'hang' },
  'took effect unheard': { kind: 'loseReply' },
};

const table: Record<string, Hits & { readonly runs: number; readonly repeats: number }> = {};

/** Says which crash it was when a run fails. */
const attempt = async (scenario: Scenario, crashes: readonly Crash[], takeover: Takeover) => {
  try {
    return await run(scenario, crashes, takeover);
  } catch (error) {
    throw new Error(`${scenario.name}, ${takeover}, crashes ${JSON.stringify(crashes)}: ${String(error)}`, { cause: error });
  }
};

describe.each(SCENARIOS)('$name', (scenario) => {
  test('ends the same wherever the process ends', async () => {
    const { hits } = await attempt(scenario, [], 'lease runs out');
    let runs = 0;
    let repeats = 0;
    for (const takeover of TAKEOVERS) {
      for (const point of KILL_POINTS) {
        for (let occurrence = 1; occurrence <= hits[point]; occurrence += 1) {
          const outcome = await attempt(scenario, [{ point, occurrence }], takeover);
          expect(outcome.crashed, `${point} ${occurrence} was not passed again`).toBe(1);
          repeats += outcome.repeats;
          runs += 1;
        }
      }
    }
    table[scenario.name] = { ...hits, runs, repeats };
  });

  test(`ends the same when the next process ends too (seed ${SEED})`, async () => {
    const random = seededRandom(SEED);
    const { hits } = await attempt(scenario, [], 'lease runs out');
    const points = Object.values(hits).reduce((sum, count) => sum + count, 0);
    let crashed = 0;
    for (let index = 0; index < DOUBLE_CRASHES; index += 1) {
      const crash = (): Crash => ({ point: 'any', occurrence: 1 + Math.floor(random() * points) });
      const takeover = random() < 0.5 ? 'lease runs out' : 'lease is deleted';
      crashed += (await attempt(scenario, [crash(), crash()], takeover)).crashed;
    }
    expect(crashed).toBeGreaterThan(DOUBLE_CRASHES);
  });

  const { sends } = scenario;
  for (const [what, fault] of sends ? Object.entries(ON_THE_WAY) : []) {
    test(`ends the same when the process ends with a call on its way that ${what}`, async () => {
      for (const takeover of TAKEOVERS) if (sends) await runWithCallOnItsWay(scenario, sends, fault, takeover);
    });
  }
});

test('every point at which a process may end was passed', () => {
  console.table(table);
  expect(Object.keys(table)).toHaveLength(SCENARIOS.length);
  for (const point of KILL_POINTS) {
    const passed = Object.values(table).reduce((sum, hits) => sum + hits[point], 0);
    expect(passed, `${point} is never passed`).toBeGreaterThan(0);
  }
});
