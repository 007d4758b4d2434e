import { test as base } from 'vitest';
import { expectSound } from '../support/sound.ts';
import type { WorldOptions } from '../support/world.ts';
import { RoutedWorld } from './routed-world.ts';

/** Tests in worlds that are looked at once more when the test is over. */
export const test = base.extend<{ open: (options?: WorldOptions) => RoutedWorld }>({
  open: async ({ task: _ }, use) => {
    const opened: RoutedWorld[] = [];
    await use((options) => {
      const world = new RoutedWorld(options);
      opened.push(world);
      return world;
    });
    for (const world of opened) expectSound(world);
  },
});
