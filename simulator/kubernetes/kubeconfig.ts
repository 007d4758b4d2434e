import { stringify } from 'yaml';

/** A kubeconfig for a server on plain HTTP, or over TLS when its authority (PEM) is given. client-node refuses `http://` unless verification is skipped; kubectl
 *  ignores it there. */
export const kubeconfigText = (url: string, token?: string, ca?: string): string => {
  const trust =
    ca === undefined ? { 'insecure-skip-tls-verify': true } : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'simulator', cluster: { server: url, ...trust } }],
    users: [{ name: 'simulator', user: token === undefined ? {} : { token } }],
    contexts: [{ name: 'simulator', context: { cluster: 'simulator', user: 'simulator', namespace: 'default' } }],
    'current-context': 'simulator',
    preferences: {},
  });
};
