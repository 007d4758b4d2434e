import { expect } from 'vitest';
import { Play } from './play.ts';
import type { History } from './steps.ts';

/** What says nothing about the past: the time of the last assignment is taken from a status that lags behind. */
const UNSPACED: ReadonlySet<string> = new Set(['goBack', 'wipe', 'wipeAtRest']);

/** Lets a history happen. @throws when it does not become right, or when something was wrong meanwhile */
export const happens = async (given: History): Promise<void> => {
  const history = new Play(given);
  await history.run();
  const spaces = !given.steps.some(({ what }) => UNSPACED.has(what.kind));
  expect(
    history
      .violations()
      .filter(({ rule }) => spaces || rule !== 'spaced')
      .slice(0, 3),
  ).toEqual([]);
  expect(history.world.faults().slice(0, 3)).toEqual([]);
};
