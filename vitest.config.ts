import { defineConfig } from 'vitest/config';

// The scenarios against a real API server are run by `npm run test:cluster` alone: they need its binaries.
const cluster = process.env.TEST_TARGET === 'cluster';

export default defineConfig({
  test: {
    include: cluster ? ['test/cluster/**/*.test.ts'] : ['test/**/*.test.ts'],
    exclude: cluster ? ['node_modules/**'] : ['test/cluster/**', 'node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', './tools/closing-line.ts'],
  },
});
