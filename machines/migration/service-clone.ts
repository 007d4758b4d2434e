import type { ObjectRef } from '../model/types.ts';
import { MIGRATING_ANNOTATION, type ServiceObject } from '../vip/virtualip.ts';

/** The copy of a Service that a VirtualIP is served by, and how it follows the Service. */

/** What of a copy follows the Service, all the time. Nothing else does. */
const FOLLOWING = ['selector', 'sessionAffinity', 'sessionAffinityConfig', 'publishNotReadyAddresses'] as const;
/** What is taken over once, when the copy is made: the server does not let all of it change. */
const INITIAL = ['ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'] as const;

export type Drift = 'labels' | 'annotations' | 'ports' | (typeof FOLLOWING)[number];

/** A copy as it is to be created. It bears no finalizer: whoever put one on the Service would not take it off the copy. */
export interface NewClone {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** The VirtualIP, which does not control it: the copy goes with it, at the latest. */
  readonly owner: ObjectRef;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A Service of type ClusterIP like `service`, with the address among its external ones, and none of what the server gave to the original alone. */
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

/** Everything of the copy's spec that follows the Service, as it is to be; null for what is not to be there. */
export const followed = ({ spec }: ServiceObject): Readonly<Record<string, unknown>> => ({
  ...Object.fromEntries(FOLLOWING.map((field) => [field, spec[field] ?? null])),
  ports: portsOf(spec),
});

/** Of the Service; without what is said of it alone. */
export function annotationsOf({ annotations }: ServiceObject): Readonly<Record<string, string>> {
  const { [MIGRATING_ANNOTATION]: _, ...others } = annotations;
  return others;
}

/** What of the copy is not as the Service has it, in one order. */
export function driftOf(service: ServiceObject, clone: ServiceObject): readonly Drift[] {
  const differs = (one: unknown, other: unknown): boolean => canonical(one) !== canonical(other);
  const drifted: Drift[] = [];
  if (differs(service.labels, clone.labels)) drifted.push('labels');
  if (differs(annotationsOf(service), clone.annotations)) drifted.push('annotations');
  if (differs(portsOf(service.spec), portsOf(clone.spec))) drifted.push('ports');
  return [...drifted, ...FOLLOWING.filter((field) => differs(service.spec[field], clone.spec[field]))];
}

/** A Service is a copy for the VirtualIP when it says so: one that somebody else made under that name is not touched. */
export const isCloneOf = ({ owners }: ServiceObject, { name }: { readonly name: string }): boolean =>
  owners.some((owner) => owner.kind === 'VirtualIP' && owner.name === name);

/** The server allocates node ports; those of the original are taken. */
function portsOf({ ports }: Readonly<Record<string, unknown>>): readonly unknown[] {
  const all: readonly unknown[] = Array.isArray(ports) ? ports : [];
  return all.map((port) => {
    const { nodePort: _, ...others } = port as Readonly<Record<string, unknown>>;
    return others;
  });
}

const picked = (spec: Readonly<Record<string, unknown>>, fields: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(fields.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])));

/** The same text for values that mean the same, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join()}}`;
}
