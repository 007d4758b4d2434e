import { describe, expect, test } from 'vitest';
import { historyOfSeed, seedOf } from './generate.ts';
import type { History } from './history.ts';
import { shrink } from './shrink.ts';

const ALL = Array.from({ length: 200 }, (_, number) => historyOfSeed(seedOf(5, number)));
const given = ALL.find(({ pools, routed, steps }) => pools && routed && steps.some(isKill) && steps.length > 15) as History;

function isKill(step: History['steps'][number]): boolean {
  return step.in === 'processes' && step.what.kind === 'kill';
}
const kills = async (history: History): Promise<readonly string[]> => (history.steps.some(isKill) ? ['spaced: by a kill'] : []);

describe('a history that breaks a rule is made smaller', () => {
  test('until nothing is left that it does not need', async () => {
    const small = await shrink(given, await kills(given), kills, { tries: 1_000 });
    expect(small.steps).toEqual([{ afterMs: 0, in: 'processes', what: { kind: 'kill' } }]);
    expect([small.pools, small.routed, small.away]).toEqual([undefined, undefined, undefined]);
  });

  test('but never into one that breaks another', async () => {
    const either = async (history: History): Promise<readonly string[]> =>
      history.steps.length > 3 ? ['spaced: it is long'] : ['terms only grow: it is short'];
    const small = await shrink(given, await either(given), either, { tries: 1_000 });
    expect(small.steps).toHaveLength(4);
  });

  test('within so many tries', async () => {
    let played = 0;
    const play = async (): Promise<readonly string[]> => {
      played += 1;
      return [];
    };
    expect(await shrink(given, ['spaced: always'], play, { tries: 10 })).toEqual(given);
    expect(played).toBe(10);
  });
});
