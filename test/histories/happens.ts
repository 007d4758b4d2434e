import { expect } from 'vitest';
import { Play } from './play.ts';
import type { Reached } from './reached.ts';
import type { Happening, History } from './steps.ts';

/** What makes a rule void: the time of the last assignment is taken from a status that lags behind, and what is stored of a doubt is its end by a wall clock
 *  that jumps on past it. */
const VOID: Readonly<Record<string, (what: Happening) => boolean>> = {
  spaced: ({ kind }) => kind === 'goBack' || kind === 'wipe' || kind === 'wipeAtRest',
  'no creation while one is in doubt': (what) => what.kind === 'jump' && what.ms > 0,
};

/** Lets a history happen, and notes what it came to. @throws when it does not become right, or when something was wrong meanwhile */
export const happens = async (given: History, reached?: Reached): Promise<void> => {
  const history = new Play(given);
  await history.run();
  reached?.note(history, given);
  const isVoid = (rule: string): boolean => given.steps.some(({ what }) => VOID[rule]?.(what) ?? false);
  expect(
    history
      .violations()
      .filter(({ rule }) => !isVoid(rule))
      .slice(0, 3),
  ).toEqual([]);
  expect(history.world.faults().slice(0, 3)).toEqual([]);
};
