import { virtualIPIn } from '../../adapters/kubernetes/client/migration-objects.ts';
import { KubernetesMigrationWriter } from '../../adapters/kubernetes/writer/migration-writer.ts';
import { connected, simulated } from '../adapters/kubernetes/support.ts';
import { type MigrationHarness, migrationWriterContract } from './migration-writer.ts';

const PAAS = 'paas.org/v1';
const CRDS = ['crds/ipgroups.yaml', 'crds/ips.yaml', 'crds/legacy/virtualips.yaml', 'crds/legacy/groupsegmentmappings.yaml'];

const refOf = (kind: string, name: string) => ({ apiVersion: kind === 'Service' ? 'v1' : PAAS, kind, name, namespace: 'default' });

const opened = async (): Promise<MigrationHarness> => {
  const simulator = await simulated({ crds: CRDS });
  const { store } = simulator;
  const cluster = (kind: string, name: string, spec: { readonly segment: string; readonly excludedIPs: readonly string[] }): void =>
    void store.create({ apiVersion: PAAS, kind, metadata: { name }, spec: { segment: spec.segment, excludedIPs: [...spec.excludedIPs] } });
  return {
    writer: new KubernetesMigrationWriter(connected(simulator.kubeconfig())),
    createService: async (name) => {
      const spec = {
        type: 'LoadBalancer',
        selector: { app: name },
        ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }],
      };
      store.create({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' }, spec });
    },
    createVirtualIP: async (name, status, finalizers) => {
      const metadata = { name, namespace: 'default', finalizers: [...finalizers] };
      store.create({ apiVersion: PAAS, kind: 'VirtualIP', metadata, spec: { service: 'web' } });
      return virtualIPIn(store.patch(refOf('VirtualIP', name), { status: { ...status } }, { subresource: 'status' })).ref;
    },
    annotate: async (name) =>
      void store.patch(refOf('VirtualIP', name), { metadata: { annotations: { 'virtualips.paas.org/migrate': '' } } }),
    setMapping: async (name, spec) => {
      store.create({
        apiVersion: PAAS,
        kind: 'GroupSegmentMapping',
        metadata: { name },
        spec: { segment: spec.segment, excludedIPs: [...spec.excludedIPs], keepalivedGroup: 'group2' },
      });
    },
    setGroup: async (name, spec) => cluster('IPGroup', name, spec),
    touch: async (kind, name) => void store.patch(refOf(kind, name), { metadata: { annotations: { touched: 'yes' } } }),
    remove: async (kind, name) => void store.delete(refOf(kind, name)),
  };
};

migrationWriterContract(opened);
