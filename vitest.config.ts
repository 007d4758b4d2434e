import { defineConfig } from 'vitest/config';
import { LongestFirst } from './tools/longest-first.ts';

/** What runs whole processes and waits for them against a deadline. It comes last, so that no computing beside it takes its time. */
const PROCESSES = ['test/e2e/**/*.test.ts', 'test/demo/**/*.test.ts', 'test/dashboard/**/*.test.ts'];

/** Compares what all others have asked for with the roles that are shipped. */
const RIGHTS = 'test/cluster/least-privilege.test.ts';

/** Such tests wait for processes most of the time: one more of them than there are processors costs none of them its deadline. */
const WAITING = 3;

/** On a node images are unpacked, Pods started and probes asked meanwhile. */
const ON_A_NODE = { testTimeout: 300_000, hookTimeout: 300_000 };

const group = (name: string, order: number, include: string[], exclude: string[], maxWorkers = 2) => ({
  extends: true as const,
  test: { name, include, exclude: ['node_modules/**', ...exclude], sequence: { groupOrder: order }, maxWorkers },
});

/** Suites that need more than Node and Redis, each run by a script of its own that sees to that: test:cluster, test:tools, test:node. */
const APART = {
  // Against a real API server.
  cluster: [group('cluster', 0, ['test/cluster/**/*.test.ts'], [RIGHTS], WAITING), group('rights', 1, [RIGHTS], [])],
  // By the tools that users of the shipped files have.
  tools: [group('tools', 0, ['test/tools/**/*.test.ts'], [])],
  // In Pods; one after another, since they have one node.
  node: [group('node', 0, ['test/node/**/*.test.ts'], [], 1)],
};

const elsewhere = Object.keys(APART).map((folder) => `test/${folder}/**`);
const HERE = [group('parts', 0, ['test/**/*.test.ts'], [...elsewhere, ...PROCESSES]), group('processes', 1, PROCESSES, [], WAITING)];

const target = process.env.TEST_TARGET as keyof typeof APART | undefined;

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
    ...(target === 'node' && ON_A_NODE),
    projects: target === undefined ? HERE : APART[target],
  },
});
