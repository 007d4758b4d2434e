import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { busyReplica } from '../adapters/telemetry/busy.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { installCrds } from '../support/kube-apply.ts';
import { type Operator, startOperator } from '../support/operator.ts';
import { runTool } from './tool.ts';

let cluster: Cluster;
let operator: Operator;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  const flags = ['--jobs=memory'];
  // Without a token nobody asks for addresses.
  const digitaloceanUrl = 'http://127.0.0.1:9';
  operator = startOperator({ kubeconfig: cluster.kubeconfig, redisUrl: '', digitaloceanUrl, token: null, flags, isBundled: false });
  await operator.ready();
});
afterAll(async () => {
  await operator?.stop();
  await cluster?.stop();
});

/** Counters that FLIPOP calls so, and that are kept. */
const KEPT = ['ip_assignment_errors', 'ip_assignments'].map(
  (name) => `flipop_floatingippoolcontroller_${name} counter metrics should have "_total" suffix`,
);

/** What promtool says of a page, and its exit code. */
const judged = (page: string): readonly [number | null, readonly string[]] => {
  const { code, output } = runTool('promtool', ['check', 'metrics'], page);
  const lines = output.split('\n').filter((line) => line !== '');
  return [code, lines.sort()];
};

describe('promtool minds', () => {
  test('nothing in what an operator serves on a real cluster', async () => {
    const { status, text } = await operator.metrics();
    expect([status, text]).toEqual([200, expect.stringMatching(/^routedip_build_info\{/m)]);
    expect(judged(text)).toEqual([0, []]);
  });

  test("two of FLIPOP's names in what one serves that has done a bit of everything, and nothing else", async () => {
    expect(judged(await (await busyReplica()).text())).toEqual([3, KEPT]);
  });

  test('what is none', () => {
    const [code] = judged('routedip_leader one\n');
    expect(code).toBe(1);
  });
});
