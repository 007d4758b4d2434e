import { expect } from 'vitest';
import type { Reached } from './reached.ts';
import { RoutedPlay } from './routed-play.ts';
import type { RoutedHistory } from './routed-steps.ts';

/** Lets a history of RoutedIPs happen. @throws when it does not become right, or when something was wrong meanwhile */
export const routedHappens = async (given: RoutedHistory, reached?: Reached): Promise<void> => {
  const play = new RoutedPlay(given);
  await play.run();
  reached?.note(play, given);
  expect(play.violations().slice(0, 3)).toEqual([]);
  expect(play.world.faults().slice(0, 3)).toEqual([]);
};
