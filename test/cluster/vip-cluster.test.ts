import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectionOf, type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { connected } from '../adapters/kubernetes-support.ts';
import type { VipHarness } from '../contracts/vip-harness.ts';
import { kubernetesVips } from '../contracts/vip-kubernetes.ts';
import { vipSourceContract } from '../contracts/vip-source.ts';
import { vipWriterContract } from '../contracts/vip-writer.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { applyFile, createNamespace, installCrds } from '../support/kube-apply.ts';

const OPERATOR = 'routedip-operator';

/** From which minor version on servers take the addresses of a Service away with its type. */
const WIPED_SINCE = 23;

let cluster: Cluster;
let client: KubeClient;
/** Bears the token of the operator's ServiceAccount: what is done is done with the shipped roles. */
let kubeconfig: string;
let namespaces = 0;

const opened = async (): Promise<VipHarness> => {
  namespaces += 1;
  const namespace = await createNamespace(cluster, `vips-${namespaces}`);
  const wipesIngress = Number(cluster.version.split('.')[1]) >= WIPED_SINCE;
  return kubernetesVips(client, connected(kubeconfig), { namespace, wipesIngress });
};

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  for (const file of ['namespace.yaml', 'rbac.yaml']) await applyFile(cluster, join(import.meta.dirname, '../../deploy', file));
  client = kubeClient(connectionOf(readFileSync(cluster.kubeconfig, 'utf8')));
  kubeconfig = readFileSync(cluster.kubeconfigFor(await cluster.tokenFor(OPERATOR, OPERATOR)), 'utf8');
});

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

describe('the cluster of a real API server', () => {
  vipWriterContract(opened);
  vipSourceContract(opened);

  test('prints groups and IPs with the columns of before first', async () => {
    const columns = async (plural: string): Promise<readonly string[]> => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { body } = await cluster.send(`/apis/paas.org/v1/${plural}`, { accept });
      const found: readonly { name: string; priority: number }[] = body.columnDefinitions;
      return found.filter(({ priority }) => priority === 0).map(({ name }) => name);
    };
    expect(await columns('ipgroups')).toEqual(['Name', 'Segment', 'AGE', 'Capacity', 'Allocated', 'Available', 'Ready']);
    expect(await columns('ips')).toEqual(['Name', 'IPGroup', 'Owner', 'AGE']);
  });
});
