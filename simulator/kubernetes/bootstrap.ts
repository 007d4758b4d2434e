import type { Api } from './api.ts';

/** The same in every run, so that keys derived from it are too. */
const KUBE_SYSTEM_UID = '7d5c2f4e-0b1a-4c8e-9f63-2a6d1e0c5b70';

/** What exists in a cluster from the start. */
export const bootstrap = (api: Api): void => {
  const namespaces = api.registry.find('v1', 'namespaces');
  const services = api.registry.find('v1', 'services');
  if (!namespaces || !services) throw new Error('namespaces and services are not served');
  for (const name of ['default', 'kube-node-lease', 'kube-public', 'kube-system'])
    api.create(namespaces, undefined, { metadata: { name } });
  const system = api.entry(namespaces, undefined, 'kube-system').object;
  api.store.put(namespaces.storage, { ...system, metadata: { ...system.metadata, uid: KUBE_SYSTEM_UID } });
  api.create(services, 'default', {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, targetPort: 6443 }] },
  });
};
