import { defineConfig } from 'vitest/config';
import { changes } from './tools/changed.ts';
import { LongestFirst } from './tools/longest-first.ts';

/** Compares what all others have asked for with the roles that are shipped. */
const RIGHTS = 'test/cluster/least-privilege.test.ts';

/** What replaces modules, or looks at the process that it runs in: in a process of its own. */
const ALONE = ['test/actors/{outage,crash}/mutations.test.ts', 'test/adapters/kubernetes/source/vip-source.test.ts'];

const group = (name: string, order: number, include: string[], exclude: string[], { maxWorkers = 2, isolate = true } = {}) => ({
  extends: true as const,
  test: {
    name,
    include,
    exclude: ['node_modules/**', ...exclude],
    sequence: { groupOrder: order },
    maxWorkers,
    isolate,
    globalSetup: './test/support/bundled-operator.ts',
  },
});

/** What is shown on the simulator and on a real API server alike. */
const SCENARIOS = 'test/scenarios/*.test.ts';
/** Those that show that old servers are served, too. */
const SCENARIOS_OLD = 'test/scenarios/{failover,limits,vip-judged,vip-life}.test.ts';

/** Most of what waits for processes waits most of the time: so many at once keep two processors busy. */
const WAITING = { maxWorkers: 6 };

/** Suites that need more than Node and Redis, each run by a script of its own that sees to that: test:cluster, test:cluster:old, test:tools, test:upgrade, test:node. */
const APART = {
  // Against a real API server.
  cluster: [group('cluster', 0, ['test/cluster/**/*.test.ts', SCENARIOS], [RIGHTS], { maxWorkers: 3 }), group('rights', 1, [RIGHTS], [])],
  // Against one of before Kubernetes 1.21: what shows that the operator works on old servers still.
  'cluster-old': [group('cluster-old', 0, ['test/cluster-old/**/*.test.ts', SCENARIOS_OLD], [], { maxWorkers: 3 })],
  // By the tools that users of the shipped files have.
  tools: [group('tools', 0, ['test/tools/**/*.test.ts'], [])],
  // One play of two versions, which its files share nothing of.
  upgrade: [group('upgrade', 0, ['test/upgrade/**/*.test.ts'], [], { maxWorkers: 1 })],
  // The same as Deployments, in Pods.
  'upgrade-node': [group('upgrade-node', 0, ['test/upgrade-node/**/*.test.ts'], [], { maxWorkers: 1 })],
  // In Pods; one after another, since they have one node.
  node: [group('node', 0, ['test/node/**/*.test.ts'], [], { maxWorkers: 1 })],
};

const elsewhere = Object.keys(APART).map((folder) => `test/${folder}/**`);
const HERE = [
  // One process runs file after file: what they import is loaded, and compiled, once.
  group('shared', 0, ['test/**/*.test.ts'], [...elsewhere, ...ALONE], { ...WAITING, isolate: false }),
  group('alone', 0, ALONE, [], WAITING),
];

/** On a node images are unpacked, Pods started and probes asked meanwhile. */
const ON_A_NODE = { testTimeout: 300_000, hookTimeout: 300_000 };

const target = process.env.TEST_TARGET as keyof typeof APART | undefined;

export default defineConfig({
  test: {
    // Nothing that goes well takes so long, on a machine that stands still for seconds either.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    maxWorkers: 2,
    // What --changed goes by.
    experimental: { vcsProvider: changes },
    reporters: ['default', './tools/closing-line.ts'],
    ...(target?.endsWith('node') && ON_A_NODE),
    projects: target === undefined ? HERE : APART[target],
  },
});
