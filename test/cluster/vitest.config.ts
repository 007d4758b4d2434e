import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The suite against a real API server. One file at a time: each starts servers of its own. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: ['test/cluster/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    fileParallelism: false,
  },
});
