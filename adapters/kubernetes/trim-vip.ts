import { fieldsOf } from '../../machines/types.ts';
import {
  ADDRESS_ANNOTATION,
  addressOfIP,
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
} from '../../machines/vip.ts';
import { MIGRATING_ANNOTATION } from '../../machines/virtual-ip.ts';
import { keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** A Service as it is kept: of those that are nobody's business here nothing but that there are some. */
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

/** A Service as the allocator sees it that serves `loadBalancerClass` besides Services without a class; null for what is none. */
export const vipServiceOf = (object: unknown, loadBalancerClass: string | null): VipService | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const { type, loadBalancerClass: wanted, loadBalancerIP, ipFamilies } = fieldsOf(fieldsOf(object).spec);
  const migrating = annotated(meta.annotations[MIGRATING_ANNOTATION]);
  const isOurClass = text(wanted) === '' || wanted === loadBalancerClass;
  return {
    ref: { kind: 'Service', namespace: meta.namespace, name: meta.name, uid: meta.uid },
    createdAt: meta.createdAt,
    wanting: type === LOAD_BALANCER && isOurClass,
    deleting: meta.deleting,
    guarded: finalizersOf(object).includes(VIP_FINALIZER),
    ingress: ingressOf(object),
    loadBalancerIP: text(loadBalancerIP),
    requestedIP: annotated(meta.annotations[REQUESTED_IP_ANNOTATION]),
    pinnedGroup: annotated(meta.annotations[PINNED_GROUP_ANNOTATION]),
    family: FAMILIES[text(list(ipFamilies)[0])] ?? null,
    ...(migrating !== null && { migrating }),
  };
};

export const finalizersOf = (object: unknown): readonly string[] => list(fieldsOf(fieldsOf(object).metadata).finalizers).map(text);

export const isLoadBalancer = (object: unknown): boolean => fieldsOf(fieldsOf(object).spec).type === LOAD_BALANCER;

/** A Service for a cache of all. */
export const trimVipService = (object: unknown, loadBalancerClass: string | null): Trimmed<SeenVipService> | null => {
  const service = vipServiceOf(object, loadBalancerClass);
  if (service === null) return null;
  const { namespace, name, uid } = service.ref;
  return { key: keyOf(namespace, name), uid, value: service.wanting || service.guarded ? { service } : IRRELEVANT };
};

/** `<namespace>/<name>`; null for anything else. */
const ownerOf = (value: unknown, uid: unknown): ReservedIP['owner'] => {
  const [namespace = '', name = '', ...beyond] = text(value).split('/');
  return namespace === '' || name === '' || beyond.length > 0 ? null : { namespace, name, uid: annotated(uid) };
};

/** Of the owner of an IP that is reserved for a RoutedIP: `<namespace>/<name>`; null for any other. No Service's owner has three parts. */
const holderOf = (value: unknown): string | null => (text(value).startsWith(HOLDER) ? text(value).slice(HOLDER.length) : null);

const HOLDER = 'RoutedIP/';

/** An object of kind IP; null when its name is no address, so that it reserves none. */
export const reservedIPOf = (object: unknown): ReservedIP | null => {
  const meta = metaOf(object);
  const address = meta && addressOfIP(meta.name);
  if (meta === null || address === null) return null;
  const { [OWNER_ANNOTATION]: owner, [OWNER_UID_ANNOTATION]: uid } = meta.annotations;
  const group = text(meta.labels[GROUP_LABEL]) || null;
  const legacy = group === null && text(meta.labels[LEGACY_GROUP_LABEL]) !== '';
  const holder = holderOf(owner);
  if (holder === null) return { name: meta.name, uid: meta.uid, address, owner: ownerOf(owner, uid), group, legacy };
  // What says nothing clear is kept.
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
