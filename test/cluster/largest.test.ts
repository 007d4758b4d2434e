import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../machines/spec/limits.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, installCrds } from '../support/kube-apply.ts';

const NODES = 5_000;
const MOST = LIMITS.FloatingIPPool;
const PATH = '/apis/flipop.digitalocean.com/v1alpha1/namespaces/default/floatingippools/largest';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
});

afterAll(() => cluster?.stop());

const ips = Array.from({ length: MOST['spec.ips'] }, (_, index) => `198.18.${index >> 8}.${index & 255}`);
/** As long as names of nodes are in clouds. */
const nodes = Array.from({ length: NODES }, (_, index) => `pool-with-a-longer-name-4x2k9-${String(index).padStart(5, '0')}`);

const condition = (type: string) => ({
  type,
  status: 'False',
  reason: 'AssignFailed',
  message: 'x'.repeat(MOST['status.conditions[].message']),
  observedGeneration: 1,
  lastTransitionTime: '2026-01-02T03:04:05Z',
});

const failed = (index: number) => ({
  state: 'error',
  nodeName: nodes[index],
  providerID: `digitalocean://${500_000_000 + index}`,
  // As much of each as the operator writes.
  error: 'x'.repeat(512),
  machineState: 'CoolOff',
  origin: 'Found',
  electedNode: nodes[index + 1],
  previousNodes: [nodes[index + 2]],
  epoch: 12,
  coolOffUntil: '2026-01-02T03:04:05.678Z',
});

test('a pool of the most addresses in the largest cluster can be stored, with an error for each and long messages', async () => {
  const pool = {
    apiVersion: 'flipop.digitalocean.com/v1alpha1',
    kind: 'FloatingIPPool',
    metadata: { name: 'largest', namespace: 'default' },
  };
  expect((await apply(cluster, { ...pool, spec: { provider: 'digitalocean', region: 'nyc3', ips, match: {} } })).status).toBe(201);
  const status = {
    ips: Object.fromEntries(ips.map((ip, index) => [ip, failed(index)])),
    assignableNodes: nodes,
    nodeErrors: nodes.slice(0, 1_000),
    activeIPs: 0,
    conditions: ['Ready', 'Degraded'].map(condition),
  };
  const answer = await cluster.send(`${PATH}/status`, { method: 'PATCH', body: { status } });
  expect([answer.status, answer.body.message]).toEqual([200, undefined]);
  expect((await cluster.send(PATH)).body.status).toEqual(status);
});

test('one address more than a pool may have is refused with the limit', async () => {
  const answer = await cluster.send(PATH, { method: 'PATCH', body: { spec: { ips: [...ips, '198.19.0.1'] } } });
  expect(answer.status).toBe(422);
  expect(answer.body.message).toMatch(/spec\.ips: Too many: 1001: must have at most 1000 items/);
});
