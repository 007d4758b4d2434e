import { stringify } from 'yaml';

/** A kubeconfig for a server on plain HTTP. client-node refuses `http://` unless verification is skipped; kubectl ignores it there. */
export const kubeconfigText = (url: string, token?: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'simulator', cluster: { server: url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'simulator', user: token === undefined ? {} : { token } }],
    contexts: [{ name: 'simulator', context: { cluster: 'simulator', user: 'simulator', namespace: 'default' } }],
    'current-context': 'simulator',
    preferences: {},
  });
