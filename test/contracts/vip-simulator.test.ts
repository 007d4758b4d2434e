import { describe, onTestFinished } from 'vitest';
import { connectionOf, kubeClient } from '../../simulator/kubernetes/client.ts';
import { connected, simulated } from '../adapters/kubernetes/support.ts';
import { groupAddressesContract } from './vip-groups.ts';
import type { VipHarness } from './vip-harness.ts';
import { kubernetesVips, VIP_CRDS } from './vip-kubernetes.ts';
import { vipSourceContract } from './vip-source.ts';
import { vipWriterContract } from './vip-writer.ts';

const opened = (version: string, wipesIngress: boolean) => async (): Promise<VipHarness> => {
  const simulator = await simulated({ crds: VIP_CRDS, version });
  const client = kubeClient(connectionOf(simulator.kubeconfig()));
  onTestFinished(() => client.close());
  return kubernetesVips(client, connected(simulator.kubeconfig()), { namespace: 'default', wipesIngress });
};

describe.each([
  ['v1.20.2', false],
  ['v1.36.3', true],
])('the cluster of a simulated API server %s', (version, wipes) => {
  vipWriterContract(opened(version, wipes));
  groupAddressesContract(opened(version, wipes));
  vipSourceContract(opened(version, wipes));
});
