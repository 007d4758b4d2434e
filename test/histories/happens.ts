import { expect } from 'vitest';
import { Play } from './play.ts';
import type { Reached } from './reached.ts';
import type { History } from './steps.ts';

/** Lets a history happen, and notes what it came to. @throws when it does not become right, or when something was wrong meanwhile */
export const happens = async (given: History, reached?: Reached): Promise<void> => {
  const history = new Play(given);
  await history.run();
  reached?.note(history, given);
  expect(history.violations().slice(0, 3)).toEqual([]);
  expect(history.world.faults().slice(0, 3)).toEqual([]);
};
