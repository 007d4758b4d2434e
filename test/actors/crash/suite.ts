import { describe, expect, test } from 'vitest';
import type { Fault } from '../../../adapters/memory/faults.ts';
import { seededRandom } from '../../../adapters/memory/random.ts';
import { extent, shareOf } from '../../support/extent.ts';
import { type Crash, type Hits, KILL_POINTS, PLACES, type Place, run, runWithCallOnItsWay, type Takeover } from './run.ts';
import type { Scenario } from './scenarios.ts';

const SEED = Number(process.env.ROUTEDIP_SEED ?? 20_260_101);
const DOUBLE_CRASHES = Number(process.env.ROUTEDIP_CRASHES ?? extent(40, 3));

const ON_THE_WAY: Readonly<Record<string, Fault>> = {
  'takes effect 6 s later': { kind: 'hang', effectAfterMs: 6_000 },
  'takes effect just before its deadline': { kind: 'hang', effectAfterMs: 14_900 },
  'never takes effect': { kind: 'hang' },
  'took effect unheard': { kind: 'loseReply' },
};

export interface CrashSuite {
  readonly scenarios: readonly Scenario[];
  readonly takeovers: readonly Takeover[];
  /** Where a process cannot end while a scenario lasts, and why. Every other place is passed in every scenario. */
  readonly cannot: Readonly<Record<string, Readonly<Partial<Record<Place, string>>>>>;
}

/** Says which crash it was when a run fails. */
const attempt = async (scenario: Scenario, crashes: readonly Crash[], takeover: Takeover) => {
  try {
    return await run(scenario, crashes, takeover);
  } catch (error) {
    throw new Error(`${scenario.name}, ${takeover}, crashes ${JSON.stringify(crashes)}: ${String(error)}`, { cause: error });
  }
};

/** One end at each time that each point is passed. */
const crashesIn = (hits: Hits): readonly Crash[] =>
  KILL_POINTS.flatMap((point) => Array.from({ length: hits[point] }, (_, index) => ({ point, occurrence: index + 1 })));

/** Ends the process at every point of every scenario, or at a share of them all over it. */
export function describeCrashes({ scenarios, takeovers, cannot }: CrashSuite): void {
  const table: Record<string, Hits & { readonly runs: number; readonly repeats: number }> = {};

  describe.each(scenarios)('$name', (scenario) => {
    test('ends the same wherever the process ends', { timeout: 120_000 }, async () => {
      const { hits } = await attempt(scenario, [], 'lease runs out');
      const places = takeovers.flatMap((takeover) => crashesIn(hits).map((crash) => ({ takeover, crash })));
      let runs = 0;
      let repeats = 0;
      for (const { takeover, crash } of shareOf(places, 40)) {
        const outcome = await attempt(scenario, [crash], takeover);
        expect(outcome.crashed, `${crash.point} ${crash.occurrence} was not passed again`).toBe(1);
        repeats += outcome.repeats;
        runs += 1;
      }
      expect(runs).toBeGreaterThan(0);
      table[scenario.name] = { ...hits, runs, repeats };
    });

    test(`ends the same when the next process ends too (seed ${SEED})`, async () => {
      const random = seededRandom(SEED);
      const { hits } = await attempt(scenario, [], 'lease runs out');
      const points = KILL_POINTS.reduce((sum, point) => sum + hits[point], 0);
      let crashed = 0;
      for (let index = 0; index < DOUBLE_CRASHES; index += 1) {
        const crash = (): Crash => ({ point: 'any', occurrence: 1 + Math.floor(random() * points) });
        const takeover = takeovers[Math.floor(random() * takeovers.length)] ?? 'lease runs out';
        crashed += (await attempt(scenario, [crash(), crash()], takeover)).crashed;
      }
      expect(crashed).toBeGreaterThan(DOUBLE_CRASHES);
    });

    const { sends } = scenario;
    for (const [what, fault] of sends ? Object.entries(ON_THE_WAY) : []) {
      test(`ends the same when the process ends with a call on its way that ${what}`, async () => {
        for (const takeover of shareOf(takeovers, takeovers.length)) if (sends) await runWithCallOnItsWay(scenario, sends, fault, takeover);
      });
    }
  });

  describe('the places at which a process ended', () => {
    test('are of every scenario', () => {
      console.table(table);
      expect(Object.keys(table)).toEqual(scenarios.map(({ name }) => name));
      for (const name of Object.keys(cannot)) expect(table, name).toHaveProperty([name]);
    });

    test.each(scenarios)('are all that there are: $name', ({ name }) => {
      const wrong = PLACES.flatMap((place) => {
        const reason = cannot[name]?.[place];
        const passed = table[name]?.[place] ?? 0;
        if (reason === undefined) return passed > 0 ? [] : [`${place} is never passed`];
        return passed === 0 ? [] : [`${place} is passed ${passed} times, although ${reason}`];
      });
      expect(wrong).toEqual([]);
    });
  });
}
