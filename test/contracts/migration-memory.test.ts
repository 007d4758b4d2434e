import { memoryVipCluster } from '../../adapters/memory/vip-cluster.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import { type MigrationHarness, migrationWriterContract } from './migration-writer.ts';

const opened = async (): Promise<MigrationHarness> => {
  const cluster = memoryVipCluster({ clock: systemClock() });
  const { virtualIPs } = cluster;
  return {
    writer: virtualIPs.process().writer,
    createService: async (name) => void cluster.setService({ name }),
    createVirtualIP: async (name, status, finalizers) => virtualIPs.set({ name, service: 'web', status, finalizers }),
    annotate: async (name) => virtualIPs.annotate(name),
    setMapping: async (name, spec) => virtualIPs.setMapping(name, spec),
    setGroup: async (name, spec) => void cluster.setGroup(name, spec),
    touch: async (kind, name) => {
      if (kind === 'Service') cluster.setService({ name });
      else if (kind === 'VirtualIP') virtualIPs.set({ name, service: 'web' });
      else cluster.touchIP(name);
    },
    remove: async (kind, name) => {
      const service = cluster.service('default', name);
      if (kind === 'Service' && service) cluster.deleteService(service.ref);
      else if (kind === 'VirtualIP') virtualIPs.remove(name);
      else cluster.removeIP(name);
    },
  };
};

migrationWriterContract(opened);
