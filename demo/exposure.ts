import { at, type Json, type KubeObject } from '../simulator/kubernetes/objects.ts';
import { watch } from './follow.ts';

/** Who exposes an address, from all Services of a namespace as a watch tells them. */
export interface Exposure {
  /** Names of the Services that expose it now. */
  readonly by: () => readonly string[];
  /** When nobody did although somebody had, ms since the epoch. */
  readonly gaps: readonly number[];
  close(): void;
}

export function watchExposure(servicesUrl: string, address: string): Exposure {
  const by = new Set<string>();
  const gaps: number[] = [];
  let isBegun = false;
  const { close } = watch(servicesUrl, (type, service, seenAt) => {
    const name = service.metadata.name ?? '';
    if (type !== 'DELETED' && exposedBy(service).includes(address)) by.add(name);
    else by.delete(name);
    if (isBegun && by.size === 0) gaps.push(seenAt);
    isBegun ||= by.size > 0;
  });
  return { by: () => [...by].sort(), gaps, close };
}

const list = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** Where kube-proxy answers for the Service, besides its own address. */
export const exposedBy = (service: KubeObject): readonly string[] => [
  ...list(at(service, 'spec', 'externalIPs')).map(String),
  ...list(at(service, 'status', 'loadBalancer', 'ingress')).map((entry) => String(at(entry, 'ip'))),
];
