import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aways } from '../support/away-crash.ts';
import { extent } from '../support/extent.ts';
import type { World } from '../support/world.ts';
import { Play } from './play.ts';
import { history } from './steps.ts';
import { VipPlay } from './vip-play.ts';
import { vipHistory } from './vip-steps.ts';

const RUNS = Number(process.env.ROUTEDIP_HISTORIES ?? extent(40, 8));
const SEED = Number(process.env.ROUTEDIP_SEED ?? 13);

interface Found {
  readonly world: World;
  readonly violations: readonly { readonly rule: string }[];
}

interface Given {
  readonly steps: readonly { readonly what: { readonly kind: string } }[];
}

const GOES = ['storeDown', 'queuesDown'] as const;
const RETURNS = ['storeUp', 'queuesUp'] as const;

/** The same, while the store goes and returns again and again. */
const withoutStore = <S extends Given['steps'][number]>(steps: readonly S[]): readonly S[] => {
  const happens = (kinds: readonly string[], afterMs: number) =>
    kinds.map((kind, index) => ({ afterMs: index === 0 ? afterMs : 0, what: { kind } }) as unknown as S);
  return steps.flatMap((step, index) => {
    if (index % 6 === 1) return [...happens(GOES, 0), step];
    return index % 6 === 5 ? [step, ...happens(RETURNS, 9_000)] : [step];
  });
};

/** Many histories, in each of which processes go on in memory while the store is away. Answers how often they did. */
async function all<T extends Given>(histories: fc.Arbitrary<T>, happens: (given: T) => Promise<Found>): Promise<number> {
  let went = 0;
  await fc.assert(
    fc.asyncProperty(histories, async (given) => {
      const { world, violations } = await happens(given);
      went += aways(world);
      expect(violations.slice(0, 3)).toEqual([]);
      expect(world.faults().slice(0, 3)).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
  return went;
}

describe(`whatever happens while processes go on without the store (ROUTEDIP_SEED=${SEED}, ${RUNS} histories)`, () => {
  test('pools are right in the end, and nothing is wrong meanwhile', { timeout: 1_800_000 }, async () => {
    const went = await all(history, async (given) => {
      const play = new Play({ ...given, steps: withoutStore(given.steps) }, { away: true });
      await play.run();
      return { world: play.world, violations: play.violations() };
    });
    expect(went).toBeGreaterThan(RUNS / 4);
  });

  test('Services are right in the end, and nothing is wrong meanwhile', { timeout: 1_800_000 }, async () => {
    const went = await all(vipHistory, async (given) => {
      const play = new VipPlay({ ...given, steps: withoutStore(given.steps) }, { away: true });
      await play.run();
      play.world.invariants.checkCalls();
      return { world: play.world, violations: [...play.rules.violations, ...play.world.invariants.violations] };
    });
    expect(went).toBeGreaterThan(RUNS / 4);
  });
});
