import { expect } from 'vitest';
import { VirtualPlay } from './virtual-play.ts';
import type { VirtualHistory } from './virtual-steps.ts';

/** Lets a history of VirtualIPs happen. @throws when it does not become right, or when something was wrong meanwhile */
export const virtualIPsHappen = async (given: VirtualHistory): Promise<VirtualPlay> => {
  const play = new VirtualPlay(given);
  await play.run();
  expect(play.violations().slice(0, 3)).toEqual([]);
  expect(play.world.faults().slice(0, 3)).toEqual([]);
  return play;
};
