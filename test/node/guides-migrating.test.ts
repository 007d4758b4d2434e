import { afterEach, beforeEach, expect, test } from 'vitest';
import { flipopRuns, vipAllocatorRuns } from './former.ts';
import { leftBehind, uninstall } from './install.ts';
import { publishImage, readGuide } from './reader.ts';
import { type NodeStage, note, openStage, tellOnFailure } from './stage.ts';

let stage: NodeStage;

beforeEach(async () => {
  stage = await openStage();
  tellOnFailure(stage);
  publishImage('registry.example.com/routedip-operator:0.1.0');
});
afterEach(() => stage.close());

/** Changes that the provider was asked for. */
const writes = (): number => stage.cloud.calls.select({ writes: true }).length;

test('docs/migrating-from-flipop.md leads there and back, and no address is touched; what is installed goes without FLIPOP’s namespace', async () => {
  const address = await flipopRuns(stage);
  const at = performance.now();
  await readGuide(stage, 'migrating-from-flipop');
  note('docs/migrating-from-flipop.md', at);
  expect(writes()).toBe(0);
  await stage.until('the operator has it', async () => (await stage.activeOn('ingress', address)) === 'a');
  const operator = '--as=system:serviceaccount:routedip-operator:routedip-operator';
  const lease = 'leases.coordination.k8s.io/floating-ip-pool-controller-leader-election';
  expect((await stage.kubectl('--namespace=flipop', 'auth', 'can-i', 'update', lease, operator)).trim()).toBe('yes');

  await uninstall(stage, stage.overlay(['flipop']));
  expect(await leftBehind(stage)).toEqual(['namespace/flipop']);
  await stage.kubectl('delete', 'namespace', 'flipop');
});

test('docs/migrating-from-vip-allocator.md leads there and back, and every Service keeps its address', async () => {
  const bundle = await vipAllocatorRuns(stage);
  const ref = { apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'web' };
  const before = await stage.client.get(ref);
  const at = performance.now();
  await readGuide(stage, 'migrating-from-vip-allocator', { files: { 'bundle.yaml': bundle } });
  note('docs/migrating-from-vip-allocator.md', at);
  expect((await stage.client.get(ref)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);

  // While the operator runs, which takes its finalizer off.
  await stage.kubectl('delete', 'service', 'web');
  await uninstall(stage);
  await stage.kubectl('delete', 'clusterrole,clusterrolebinding', 'vip-allocator-operator-controller-manager');
  expect(await leftBehind(stage)).toEqual([]);
});
