import { fieldsOf } from '../../../machines/model/types.ts';
import {
  ADDRESS_ANNOTATION,
  addressOfIP,
  CONTENDED_CONDITION,
  GROUP_LABEL,
  LEGACY_GROUP_LABEL,
  OWNER_ANNOTATION,
  OWNER_UID_ANNOTATION,
  PINNED_GROUP_ANNOTATION,
  RECLAIM_ANNOTATION,
  REQUESTED_IP_ANNOTATION,
  type ReservedIP,
  ROUTED_IP_LABEL,
  VIP_FINALIZER,
  type VipService,
} from '../../../machines/vip/objects.ts';
import { MIGRATING_ANNOTATION } from '../../../machines/vip/virtualip.ts';
import { statusManager } from '../client/connection.ts';
import { keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** A Service as the adapter keeps it; null for one that is not relevant here: only its existence is recorded. */
export interface SeenVipService {
  readonly service: VipService | null;
}

const IRRELEVANT: SeenVipService = Object.freeze({ service: null });

const NO_INGRESS: VipService['ingress'] = Object.freeze([]);

const LOAD_BALANCER = 'LoadBalancer';

/** Null where there is no such annotation, or it is empty. */
const annotated = (value: unknown): string | null => text(value) || null;

const FAMILIES: Readonly<Record<string, 4 | 6>> = { IPv4: 4, IPv6: 6 };

const ingressOf = (object: unknown): VipService['ingress'] => {
  const { ingress } = fieldsOf(fieldsOf(fieldsOf(object).status).loadBalancer);
  const entries = list(ingress);
  return entries.length === 0 ? NO_INGRESS : entries.map((entry) => ({ ip: text(fieldsOf(entry).ip) || null }));
};

/** The operator's own field manager: it writes every status under this name. */
const OURS = statusManager('routedip-operator');

/** The field manager that wrote the ingress; absent when it is ours, null where the server does not say. */
const writerOf = (object: unknown): Pick<VipService, 'by'> => {
  const managers = list(fieldsOf(fieldsOf(object).metadata).managedFields)
    .map(fieldsOf)
    .filter(({ fieldsV1 }) => fieldsOf(fieldsOf(fieldsOf(fieldsV1)['f:status'])['f:loadBalancer'])['f:ingress'] !== undefined)
    .map(({ manager }) => text(manager));
  return managers.includes(OURS) ? {} : { by: managers[0] || null };
};

/** The longest message that the operator writes; a longer one was written by another client. */
const LONGEST = 1_024;

const contendedIn = (object: unknown): Pick<VipService, 'contended'> => {
  const conditions = list(fieldsOf(fieldsOf(object).status).conditions).map(fieldsOf);
  const own = conditions.find(({ type, status }) => type === CONTENDED_CONDITION && status === 'True');
  return own ? { contended: text(own.message).slice(0, LONGEST) } : {};
};

/** Which Services are served. */
export interface ServedClass {
  /** Services of this class; null for none. */
  readonly loadBalancerClass: string | null;
  /** Services without a class only if they request an address of an IPGroup, or have our finalizer. Absent: all Services without a class. */
  readonly classOnly?: boolean;
}

/** A Service as seen by the allocator of `ServedClass`; null when the object is not a Service. */
export const vipServiceOf = (object: unknown, { loadBalancerClass, classOnly = false }: ServedClass): VipService | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const { type, loadBalancerClass: wanted, loadBalancerIP, ipFamilies } = fieldsOf(fieldsOf(object).spec);
  const migrating = annotated(meta.annotations[MIGRATING_ANNOTATION]);
  const requestedIP = annotated(meta.annotations[REQUESTED_IP_ANNOTATION]);
  const pinnedGroup = annotated(meta.annotations[PINNED_GROUP_ANNOTATION]);
  const guarded = finalizersOf(object).includes(VIP_FINALIZER);
  const isClassed = text(wanted) !== '';
  const asks = guarded || requestedIP !== null || pinnedGroup !== null || migrating !== null;
  const isServed = isClassed ? wanted === loadBalancerClass : !classOnly || asks;
  const ingress = ingressOf(object);
  return {
    ref: { kind: 'Service', namespace: meta.namespace, name: meta.name, uid: meta.uid },
    createdAt: meta.createdAt,
    wanting: type === LOAD_BALANCER && isServed,
    deleting: meta.deleting,
    guarded,
    ingress,
    loadBalancerIP: text(loadBalancerIP),
    requestedIP,
    pinnedGroup,
    family: FAMILIES[text(list(ipFamilies)[0])] ?? null,
    ...(migrating !== null && { migrating }),
    ...(ingress.length > 0 && writerOf(object)),
    ...contendedIn(object),
    ...(isClassed && isServed && { classed: true as const }),
  };
};

export const finalizersOf = (object: unknown): readonly string[] => list(fieldsOf(fieldsOf(object).metadata).finalizers).map(text);

export const isLoadBalancer = (object: unknown): boolean => fieldsOf(fieldsOf(object).spec).type === LOAD_BALANCER;

/** A Service for the cache of all Services. */
export const trimVipService = (object: unknown, served: ServedClass): Trimmed<SeenVipService> | null => {
  const service = vipServiceOf(object, served);
  if (service === null) return null;
  const { namespace, name, uid } = service.ref;
  const isRelevant = service.wanting || service.guarded || service.contended !== undefined;
  return { key: keyOf(namespace, name), uid, value: isRelevant ? { service } : IRRELEVANT };
};

/** `<namespace>/<name>`; null for anything else. */
const ownerOf = (value: unknown, uid: unknown): ReservedIP['owner'] => {
  const [namespace = '', name = '', ...beyond] = text(value).split('/');
  return namespace === '' || name === '' || beyond.length > 0 ? null : { namespace, name, uid: annotated(uid) };
};

/** The RoutedIP that an IP is reserved for, `<namespace>/<name>`; null for any other owner. The reference of a Service never has three parts. */
const holderOf = (value: unknown): string | null => (text(value).startsWith(HOLDER) ? text(value).slice(HOLDER.length) : null);

const HOLDER = 'RoutedIP/';

/** An object of kind IP; null when its name is not an address, so that it reserves none. */
export const reservedIPOf = (object: unknown): ReservedIP | null => {
  const meta = metaOf(object);
  const address = meta && addressOfIP(meta.name);
  if (meta === null || address === null) return null;
  const { [OWNER_ANNOTATION]: owner, [OWNER_UID_ANNOTATION]: uid } = meta.annotations;
  const group = text(meta.labels[GROUP_LABEL]) || null;
  const legacy = group === null && text(meta.labels[LEGACY_GROUP_LABEL]) !== '';
  const holder = holderOf(owner);
  if (holder === null) return { name: meta.name, uid: meta.uid, address, owner: ownerOf(owner, uid), group, legacy };
  // Anything else counts as Retain.
  const reclaim = meta.annotations[RECLAIM_ANNOTATION] === 'Delete' ? 'Delete' : 'Retain';
  return { name: meta.name, uid: meta.uid, address, owner: ownerOf(holder, uid), group, legacy: false, reclaim };
};

export const trimReservedIP = (object: unknown): Trimmed<ReservedIP> | null => {
  const ip = reservedIPOf(object);
  return ip && { key: ip.name, uid: ip.uid, value: ip };
};

/** The object that reserves an address. */
export const ipObject = (
  apiVersion: string,
  kind: string,
  { name, address, owner, group, reclaim }: Omit<ReservedIP, 'uid' | 'legacy'>,
): object => ({
  apiVersion,
  kind,
  metadata: {
    name,
    labels: { [GROUP_LABEL]: group, ...(reclaim && { [ROUTED_IP_LABEL]: owner?.uid ?? '' }) },
    annotations: {
      [OWNER_ANNOTATION]: owner === null ? '' : `${reclaim ? HOLDER : ''}${owner.namespace}/${owner.name}`,
      [OWNER_UID_ANNOTATION]: owner?.uid ?? '',
      ...(reclaim && { [RECLAIM_ANNOTATION]: reclaim }),
      ...(name === address ? {} : { [ADDRESS_ANNOTATION]: address }),
    },
  },
});
