import type { HolderEffect, Marks, PoolObject } from '../../../actors/ports/cluster.ts';
import type { Json } from '../../../actors/ports/records.ts';
import { parseAddress } from '../../../machines/model/address.ts';
import { type Address, EVACUATE, type Fields, fieldsOf, type ObservedNode, type Taint } from '../../../machines/model/types.ts';
import { holderEffectOf } from './holder-taint.ts';
import type { Intern } from './intern.ts';

/** FLIPOP's annotation with the IPv4 address assigned to a node; users and other programs read it. */
export const IPV4_ANNOTATION = 'flipop.digitalocean.com/ipv4-reserved-ip';
export const IPV6_ANNOTATION = 'flipop.digitalocean.com/ipv6-reserved-ip';

/** A Node as the adapter keeps it: the fields that decisions depend on, and our annotations and taint, which only the writer reads. */
export interface SeenNode {
  /** Without our own taint, which must not repel addresses. */
  readonly node: ObservedNode;
  readonly ipv4: string | null;
  readonly ipv6: string | null;
  /** The effect of the holder taint; null for a node without one. */
  readonly holder: HolderEffect | null;
  /** The value of the evacuation annotation when it is neither `"true"` nor `"false"`; otherwise null. */
  readonly unclear: string | null;
  /** The current evacuation condition; null for a node without one. */
  readonly evacuated: { readonly status: string; readonly reason: string; readonly message: string } | null;
}

/** The condition of a Node that is being evacuated, i.e. from which every address is moved away. */
export const EVACUATED = 'routedip.io/Evacuated';

/** An object of one of the operator's kinds as the adapter keeps it. */
export interface SeenObject {
  readonly object: PoolObject;
  readonly resourceVersion: string;
}

/** An object reduced to the fields that are kept. */
export interface Trimmed<T> {
  /** Namespace and name; the order of keys is the API server's own. */
  readonly key: string;
  readonly uid: string;
  readonly value: T;
}

export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');

interface Meta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly labels: Fields;
  readonly annotations: Fields;
  readonly resourceVersion: string;
  readonly generation: number;
}

/** Null without a name: not an API object. */
export const metaOf = (object: unknown): Meta | null => {
  const meta = fieldsOf(fieldsOf(object).metadata);
  const name = text(meta.name);
  if (name === '') return null;
  return {
    name,
    namespace: text(meta.namespace),
    uid: text(meta.uid),
    createdAt: Date.parse(text(meta.creationTimestamp)) || 0,
    deleting: meta.deletionTimestamp !== undefined && meta.deletionTimestamp !== null,
    labels: fieldsOf(meta.labels),
    annotations: fieldsOf(meta.annotations),
    resourceVersion: text(meta.resourceVersion),
    generation: typeof meta.generation === 'number' ? meta.generation : 0,
  };
};

/** The resourceVersion from which a watch resumes after this object; empty for none. */
export const revisionOf = (object: unknown): string => text(fieldsOf(fieldsOf(object).metadata).resourceVersion);

export const keyOf = (namespace: string, name: string): string => (namespace === '' ? name : `${namespace}/${name}`);

export const conditionHolds = (status: Fields, type: string): boolean =>
  list(status.conditions).some((condition) => fieldsOf(condition).type === type && fieldsOf(condition).status === 'True');

const unclearIn = (says: unknown): string | null => (typeof says === 'string' && !['true', 'false'].includes(says) ? says : null);

const evacuatedIn = (status: Fields): SeenNode['evacuated'] => {
  const found = list(status.conditions)
    .map(fieldsOf)
    .find(({ type }) => type === EVACUATED);
  return found ? { status: text(found.status), reason: text(found.reason), message: text(found.message) } : null;
};

const taintOf = (value: unknown, { text: one }: Intern): Taint => {
  const taint = fieldsOf(value);
  const base = { key: one(text(taint.key)), effect: one(text(taint.effect)) };
  return typeof taint.value === 'string' ? { ...base, value: one(taint.value) } : base;
};

/** The label that names a node's region, and its name before Kubernetes 1.17. */
const REGION_LABELS = ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'];

const regionOf = (labels: Fields): string => REGION_LABELS.map((label) => text(labels[label])).find((region) => region !== '') ?? '';

/** One list for all nodes without such addresses. */
const NONE: readonly Address[] = Object.freeze([]);

const addressesIn = (texts: readonly unknown[]): readonly Address[] => {
  const found = texts.map((one) => (typeof one === 'string' ? parseAddress(one) : null)).filter((address) => address !== null);
  // An array that was built incrementally keeps spare capacity; a copy has none.
  return found.length === 0 ? NONE : found.slice();
};

/** A Node with its labels and its addresses. */
export const trimNode = (object: unknown, shared: Intern): Trimmed<SeenNode> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const spec = fieldsOf(fieldsOf(object).spec);
  const status = fieldsOf(fieldsOf(object).status);
  const { [IPV4_ANNOTATION]: ipv4, [IPV6_ANNOTATION]: ipv6 } = meta.annotations;
  const addresses = list(status.addresses).map(fieldsOf);
  const ofType = (type: string) => addressesIn(addresses.filter((each) => each.type === type).map(({ address }) => address));
  const taints = list(spec.taints).map((taint) => taintOf(taint, shared));
  const node: ObservedNode = {
    name: shared.text(meta.name),
    uid: meta.uid,
    labels: shared.values(meta.labels),
    taints: taints.filter((taint) => holderEffectOf(taint) === null),
    ready: conditionHolds(status, 'Ready'),
    deleting: meta.deleting,
    unschedulable: spec.unschedulable === true,
    providerID: text(spec.providerID),
    region: shared.text(regionOf(meta.labels)),
    createdAt: meta.createdAt,
    ...(meta.annotations[EVACUATE] === 'true' && { evacuating: true as const }),
    externalIPs: ofType('ExternalIP'),
    internalIPs: ofType('InternalIP'),
    reservedIPs: addressesIn([ipv4, ipv6]),
  };
  const holder = taints.map(holderEffectOf).find((effect) => effect !== null) ?? null;
  const evacuated = evacuatedIn(status);
  const unclear = unclearIn(meta.annotations[EVACUATE]);
  return { key: node.name, uid: meta.uid, value: { node, ipv4: text(ipv4) || null, ipv6: text(ipv6) || null, holder, unclear, evacuated } };
};

const OWN_GROUP = 'routedip.io/';

/** The metadata that decisions depend on; absent for kinds of other groups, unless they have annotations of ours. */
const marksOf = (object: unknown, { annotations }: Meta): { readonly marks?: Marks } => {
  const { apiVersion, metadata } = fieldsOf(object);
  const own = Object.entries(annotations).filter(([key]) => key.startsWith(OWN_GROUP));
  if (!text(apiVersion).startsWith(OWN_GROUP) && own.length === 0) return {};
  return {
    marks: {
      finalizers: list(fieldsOf(metadata).finalizers).map(text),
      annotations: Object.fromEntries(own.map(([key, value]) => [key, text(value)])),
    },
  };
};

/** An object of a kind that the operator writes, complete except for its other metadata. */
export const trimObject = (kind: string, object: unknown): Trimmed<SeenObject> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const { namespace, name, uid, generation, createdAt, deleting } = meta;
  const { spec = null, status = null } = fieldsOf(object) as { readonly spec?: Json; readonly status?: Json };
  const ref = { kind, namespace, name, uid };
  const whole: PoolObject = { ref, generation, createdAt, deleting, spec, status, ...marksOf(object, meta) };
  return { key: keyOf(namespace, name), uid, value: { object: whole, resourceVersion: meta.resourceVersion } };
};
