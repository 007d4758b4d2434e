import { defineConfig } from 'vitest/config';
import { LongestFirst } from './tools/longest-first.ts';

// The scenarios against a real API server are run by `npm run test:cluster` alone: they need its binaries.
const cluster = process.env.TEST_TARGET === 'cluster';
// Those by the tools of users, by `npm run test:tools` alone: they need these.
const tools = process.env.TEST_TARGET === 'tools';

/** What runs whole processes and waits for them against a deadline. It comes last, so that no computing beside it takes its time. */
const PROCESSES = ['test/e2e/**/*.test.ts', 'test/demo/**/*.test.ts', 'test/dashboard/**/*.test.ts'];

/** Compares what all others have asked for with the roles that are shipped. */
const RIGHTS = 'test/cluster/least-privilege.test.ts';

/** Such tests wait for processes most of the time: one more of them than there are processors costs none of them its deadline. */
const WAITING = 3;

const group = (name: string, order: number, include: string[], exclude: string[], maxWorkers = 2) => ({
  extends: true as const,
  test: { name, include, exclude: ['node_modules/**', ...exclude], sequence: { groupOrder: order }, maxWorkers },
});

export default defineConfig({
  test: {
    // Nothing that goes well takes so long, on a machine that stands still for seconds either.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    maxWorkers: 2,
    reporters: ['default', './tools/closing-line.ts'],
    projects: tools
      ? [group('tools', 0, ['test/tools/**/*.test.ts'], [])]
      : cluster
        ? [group('cluster', 0, ['test/cluster/**/*.test.ts'], [RIGHTS], WAITING), group('rights', 1, [RIGHTS], [])]
        : [
            group('parts', 0, ['test/**/*.test.ts'], ['test/cluster/**', 'test/tools/**', ...PROCESSES]),
            group('processes', 1, PROCESSES, [], WAITING),
          ],
  },
});
