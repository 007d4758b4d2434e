import { test as base, expect } from 'vitest';
import { expectSound } from '../../support/sound.ts';
import type { WorldOptions } from '../../support/world.ts';
import { RoutedWorld } from './world.ts';

/** Fails when anything in the past of the world must never be. */
export function expectRoutedSound(world: RoutedWorld): void {
  expectSound(world);
  expect(world.rules.violations.slice(0, 3)).toEqual([]);
}

/** Tests in worlds that are looked at once more when the test is over. */
export const test = base.extend<{ open: (options?: WorldOptions) => RoutedWorld }>({
  open: async ({ task: _ }, use) => {
    const opened: RoutedWorld[] = [];
    await use((options) => {
      const world = new RoutedWorld(options);
      opened.push(world);
      return world;
    });
    for (const world of opened) expectRoutedSound(world);
  },
});
