import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionOf, type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { connected } from '../adapters/kubernetes/support.ts';
import { groupAddressesContract } from '../contracts/vip-groups.ts';
import type { VipHarness } from '../contracts/vip-harness.ts';
import { kubernetesVips } from '../contracts/vip-kubernetes.ts';
import { vipSourceContract } from '../contracts/vip-source.ts';
import { vipWriterContract } from '../contracts/vip-writer.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { applyFile, createNamespace, installCrds, installRoles } from '../support/kube-apply.ts';
import { kubectl } from '../support/kubectl.ts';
import { describeVipKinds } from '../support/vip-suite.ts';
import { waitFor } from '../support/wait-for.ts';

const CRDS = join(import.meta.dirname, '../../crds');
const OPERATOR = 'routedip-operator';

/** Nothing is to fail because the machine stands still for a while. */
const CALL_MS = 20_000;

let cluster: Cluster;
let client: KubeClient;
/** Bears the token of the operator's ServiceAccount: what is done is done with the shipped roles. */
let kubeconfig: string;
let namespaces = 0;

const opened = async (): Promise<VipHarness> => {
  namespaces += 1;
  const namespace = await createNamespace(cluster, `vips-${namespaces}`);
  return kubernetesVips(client, connected(kubeconfig, CALL_MS), { namespace, wipesIngress: true });
};

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  await installRoles(cluster);
  for (const plural of ['virtualips', 'groupsegmentmappings']) {
    await applyFile(cluster, join(CRDS, `legacy/${plural}.yaml`));
    await waitFor(`${plural} are served`, async () => (await cluster.send(`/apis/paas.org/v1/${plural}`)).status === 200);
  }
  await applyFile(cluster, join(CRDS, 'samples/vip/namespace.yaml'));
  client = kubeClient(connectionOf(readFileSync(cluster.kubeconfig, 'utf8')));
  kubeconfig = readFileSync(cluster.kubeconfigFor(await cluster.tokenFor(OPERATOR, OPERATOR)), 'utf8');
});

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

describe('the cluster of a real API server', () => {
  vipWriterContract(opened);
  groupAddressesContract(opened);
  vipSourceContract(opened);

  describeVipKinds(() => cluster);

  test('is printed by kubectl as before, under the names of before', async () => {
    const run = async (...args: readonly string[]): Promise<readonly string[]> => {
      const { stdout, stderr, code } = await kubectl(args, { kubeconfig: cluster.kubeconfig });
      expect(code, stderr).toBe(0);
      return stdout.split('\n').map((line) => line.split(/ {2,}/).join(' | ').trimEnd());
    };
    await applyFile(cluster, join(CRDS, 'samples/vip/ipgroups.yaml'));
    expect((await run('get', 'ipg', 'ipgroup-1'))[0]).toBe('NAME | SEGMENT | AGE | CAPACITY | ALLOCATED | AVAILABLE | READY');
    expect((await run('get', 'ipg', 'ipgroup-1', '--no-headers'))[0]).toMatch(/^ipgroup-1 \| 1\.1\.1\.0\/29 \| \d+s/);
    await applyFile(cluster, join(CRDS, 'samples/vip/legacy/virtualip.yaml'));
    expect((await run('get', 'vip', '-n', 'test', '-o', 'name'))[0]).toBe('virtualip.paas.org/to-migrate');
    expect((await run('get', 'gsm', '-o', 'name')).length).toBeGreaterThan(1);
  });
});
