import type { ObjectRef } from '../model/types.ts';
import { MIGRATING_ANNOTATION, type ServiceObject } from '../vip/virtualip.ts';

/** The copy of a Service that serves a VirtualIP, and how it is kept in sync. */

/** The fields of a copy that always follow the Service. No others do. */
const FOLLOWING = ['selector', 'sessionAffinity', 'sessionAffinityConfig', 'publishNotReadyAddresses'] as const;
/** Copied once, when the copy is created: the server does not allow all of them to change. */
const INITIAL = ['ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'] as const;

export type Drift = 'labels' | 'annotations' | 'ports' | (typeof FOLLOWING)[number];

/** A copy to be created. It has no finalizer: the controller that put one on the Service would not remove it from the copy. */
export interface NewClone {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The VirtualIP, not as controller: the copy is deleted with it at the latest. */
  readonly owner: ObjectRef;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A Service of type ClusterIP like `service`, with the address in its externalIPs, and without the fields that the server assigned to the original. */
export const cloneOf = (service: ServiceObject, vip: ObjectRef, name: string, address: string): NewClone => ({
  namespace: service.namespace,
  name,
  labels: service.labels,
  annotations: annotationsOf(service),
  owner: vip,
  spec: {
    ...picked(service.spec, INITIAL),
    ...picked(service.spec, FOLLOWING),
    ports: portsOf(service.spec),
    type: 'ClusterIP',
    externalIPs: [address],
  },
});

/** The wanted values of all synced fields of the copy's spec; null for fields that must be absent. */
export const followed = ({ spec }: ServiceObject): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(FOLLOWING.map((field) => [field, spec[field] ?? null])),
  ports: portsOf(spec),
});

/** The annotations of the Service, without those that apply to it alone. */
export function annotationsOf({ annotations }: ServiceObject): Readonly<Record<string, string>> {
  const { [MIGRATING_ANNOTATION]: _, ...others } = annotations;
  return others;
}

/** The fields of the copy that differ from the Service, in a fixed order. */
export function driftOf(service: ServiceObject, clone: ServiceObject): readonly Drift[] {
  const differs = (one: unknown, other: unknown): boolean => canonical(one) !== canonical(other);
  const drifted: Drift[] = [];
  if (differs(service.labels, clone.labels)) drifted.push('labels');
  if (differs(annotationsOf(service), clone.annotations)) drifted.push('annotations');
  if (differs(portsOf(service.spec), portsOf(clone.spec))) drifted.push('ports');
  return [...drifted, ...FOLLOWING.filter((field) => differs(service.spec[field], clone.spec[field]))];
}

/** A Service is a copy for the VirtualIP if its owners say so: a foreign Service of that name is not touched. */
export const isCloneOf = ({ owners }: ServiceObject, { name }: { readonly name: string }): boolean =>
  owners.some((owner) => owner.kind === 'VirtualIP' && owner.name === name);

/** Without node ports, which the server allocates: those of the original are taken. */
function portsOf({ ports }: Readonly<Record<string, unknown>>): readonly unknown[] {
  const all: readonly unknown[] = Array.isArray(ports) ? ports : [];
  return all.map((port) => {
    const { nodePort: _, ...others } = port as Readonly<Record<string, unknown>>;
    return others;
  });
}

const picked = (spec: Readonly<Record<string, unknown>>, fields: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])));

/** The same text for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join()}}`;
}
