import { expect } from 'vitest';
import { VipPlay } from './vip-play.ts';
import type { VipHistory } from './vip-steps.ts';

/** Lets a history of Services happen. @throws when it does not become right, or when something was wrong meanwhile */
export const vipsHappen = async (given: VipHistory): Promise<VipPlay> => {
  const play = new VipPlay(given);
  await play.run();
  expect(play.rules.violations.slice(0, 3)).toEqual([]);
  play.world.invariants.checkCalls();
  expect(play.world.invariants.violations.slice(0, 3)).toEqual([]);
  expect(play.world.faults().slice(0, 3)).toEqual([]);
  return play;
};
