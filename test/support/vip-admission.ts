import type { KubeObject } from './kube-apply.ts';

/** The kinds that admission is about, with no more of their schemas than it looks at. */

const definition = (kind: string, plural: string, scope: 'Cluster' | 'Namespaced'): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.paas.org` },
  spec: {
    group: 'paas.org',
    scope,
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { service: { type: 'string' }, ip: { type: 'string' } } },
              status: { type: 'object', properties: { state: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
});

export const IP_DEFINITION = definition('IP', 'ips', 'Cluster');
export const VIRTUAL_IP_DEFINITION = definition('VirtualIP', 'virtualips', 'Namespaced');

export const IPS = '/apis/paas.org/v1/ips';
export const VIRTUAL_IPS = '/apis/paas.org/v1/namespaces/default/virtualips';

export const ipNamed = (name: string) => ({ apiVersion: 'paas.org/v1', kind: 'IP', metadata: { name }, spec: {} });

interface Wish {
  readonly ip?: string;
  readonly service?: string;
  readonly migrate?: string;
}

/** A VirtualIP of that name, as a user writes it. */
export const virtualIP = (name: string, { ip, service = 'web', migrate }: Wish = {}) => ({
  apiVersion: 'paas.org/v1',
  kind: 'VirtualIP',
  metadata: { name, ...(migrate !== undefined && { annotations: { 'virtualips.paas.org/migrate': migrate } }) },
  spec: { service, ...(ip !== undefined && { ip }) },
});

/** What users are told, whatever stands around it. */
export const DENIALS = {
  deprecated: 'VirtualIP resource is deprecated, use a service with type LoadBalancer instead',
  immutable: '.spec.ip is immutable',
  notStopped: 'VirtualIP migration can not be stopped',
  notValid: 'not valid VirtualIP can not be migrated',
  notChanged: 'can not change service once migration has begun',
} as const;
