import { expect } from 'vitest';
import type { Reached } from './reached.ts';
import { RoutedPlay } from './routed-play.ts';
import type { RoutedHistory } from './routed-steps.ts';

/** What says nothing about the past: the time of the last assignment is taken from a status that lags behind. */
const UNSPACED: ReadonlySet<string> = new Set(['goBack', 'wipe', 'wipeAtRest']);

/** Lets a history of RoutedIPs happen. @throws when it does not become right, or when something was wrong meanwhile */
export const routedHappens = async (given: RoutedHistory, reached?: Reached): Promise<void> => {
  const play = new RoutedPlay(given);
  await play.run();
  reached?.note(play, given);
  const spaces = !given.steps.some(({ what }) => UNSPACED.has(what.kind));
  expect(
    play
      .violations()
      .filter(({ rule }) => spaces || rule !== 'spaced')
      .slice(0, 3),
  ).toEqual([]);
  expect(play.world.faults().slice(0, 3)).toEqual([]);
};
