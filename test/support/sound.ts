import { test as base, expect } from 'vitest';
import { World, type WorldOptions } from './world.ts';

/** Fails when anything in the world's past must never be: an error in a log, or a broken invariant. */
export const expectSound = (world: World): void => {
  world.invariants.checkCalls();
  expect(world.invariants.violations.slice(0, 3)).toEqual([]);
  expect(world.faults().slice(0, 3)).toEqual([]);
};

/** Tests in worlds that are looked at once more when the test is over. */
export const test = base.extend<{ open: (options?: WorldOptions) => World }>({
  open: async ({ task: _ }, use) => {
    const opened: World[] = [];
    await use((options) => {
      const world = new World(options);
      opened.push(world);
      return world;
    });
    for (const world of opened) expectSound(world);
  },
});
