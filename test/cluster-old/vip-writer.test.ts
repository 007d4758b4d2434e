import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe } from 'vitest';
import { connectionOf, type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { connected } from '../adapters/kubernetes/support.ts';
import { kubernetesVips } from '../contracts/vip-kubernetes.ts';
import { vipWriterContract } from '../contracts/vip-writer.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { createNamespace, installCrds, installRoles } from '../support/kube-apply.ts';

const OPERATOR = 'routedip-operator';

/** Nothing is to fail because the machine stands still for a while. */
const CALL_MS = 20_000;

let cluster: Cluster;
let client: KubeClient;
let kubeconfig: string;
let namespaces = 0;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  await installRoles(cluster);
  client = kubeClient(connectionOf(readFileSync(cluster.kubeconfig, 'utf8')));
  kubeconfig = readFileSync(cluster.kubeconfigFor(await cluster.tokenFor(OPERATOR, OPERATOR)), 'utf8');
});

afterAll(async () => {
  client?.close();
  await cluster?.stop();
});

describe('the cluster of a server that leaves a Service its addresses when its type changes', () => {
  vipWriterContract(async () => {
    namespaces += 1;
    const namespace = await createNamespace(cluster, `vips-${namespaces}`);
    return kubernetesVips(client, connected(kubeconfig, CALL_MS), { namespace, wipesIngress: false });
  });
});
