import { join } from 'node:path';

const crds = (file: string): string => join(import.meta.dirname, '../../crds', file);

/** The files that define the kinds that admission is about. */
export const ADMITTED_CRDS = [crds('ips.yaml'), crds('legacy/virtualips.yaml')];

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
