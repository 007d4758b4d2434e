import { describe } from 'vitest';
import { memoryVipCluster } from '../../adapters/memory/vip-cluster.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { groupAddressesContract } from './vip-groups.ts';
import type { VipHarness } from './vip-harness.ts';
import { vipSourceContract } from './vip-source.ts';
import { vipWriterContract } from './vip-writer.ts';

const opened = (wipesIngress: boolean) => async (): Promise<VipHarness> => {
  const cluster = memoryVipCluster({ clock: systemClock(), wipesIngress });
  const stored = (ref: ObjectRef) => cluster.service(ref.namespace, ref.name);
  return {
    wipesIngress,
    writer: cluster.process(),
    source: () => cluster.process(),
    createService: async (name, spec = {}) => cluster.setService({ name, ...spec }),
    setType: async ({ name }, type) => void cluster.setService({ name, type }),
    setIngress: async (ref, ingress) => cluster.setIngress(ref, ingress),
    deleteService: async (ref) => cluster.deleteService(ref),
    setFinalizers: async (ref, finalizers) => cluster.setFinalizers(ref, finalizers),
    finalizers: async (ref) => stored(ref)?.finalizers ?? [],
    setGroup: async (name, spec) => void cluster.setGroup(name, spec),
    removeGroup: async (name) => cluster.removeGroup(name),
    createIP: async (name, owner, label = 'ipgroup') => {
      const [namespace = '', service = ''] = owner.split('/');
      const legacy = label === 'gsm';
      cluster.setIP({ name, owner: { namespace, name: service, uid: null }, group: legacy ? null : 'a', legacy });
    },
    removeIP: async (name) => cluster.removeIP(name),
    ips: async () =>
      Object.fromEntries(cluster.ips().map(({ name, owner }) => [name, owner === null ? '' : `${owner.namespace}/${owner.name}`])),
  };
};

describe.each([
  ['that wipes the ingress', true],
  ['that keeps it', false],
])('the cluster in memory, as a server %s', (_which, wipes) => {
  vipWriterContract(opened(wipes));
  groupAddressesContract(opened(wipes));
  vipSourceContract(opened(wipes));
});
