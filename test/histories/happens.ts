import { expect } from 'vitest';
import { Play } from './play.ts';
import type { Reached } from './reached.ts';
import type { Happening, History } from './steps.ts';

/** What says nothing about the past: the time of the last assignment is taken from a status that lags behind. */
const UNSPACED: ReadonlySet<Happening['kind']> = new Set(['goBack', 'wipe', 'wipeAtRest']);

/** Lets a history happen, and notes what it came to. @throws when it does not become right, or when something was wrong meanwhile */
export const happens = async (given: History, reached?: Reached): Promise<void> => {
  const history = new Play(given);
  await history.run();
  reached?.note(history, given);
  const spaces = !given.steps.some(({ what }) => UNSPACED.has(what.kind));
  expect(
    history
      .violations()
      .filter(({ rule }) => spaces || rule !== 'spaced')
      .slice(0, 3),
  ).toEqual([]);
  expect(history.world.faults().slice(0, 3)).toEqual([]);
};
