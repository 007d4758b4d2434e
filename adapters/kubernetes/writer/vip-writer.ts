import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../../actors/ports/errors.ts';
import type { Fence } from '../../../actors/ports/fence.ts';
import type { Clock } from '../../../actors/ports/records.ts';
import type { OwnerName, Reclaim, VipWriter } from '../../../actors/ports/vip.ts';
import { API_VERSION, KIND } from '../../../crds/generated/ip.ts';
import { KIND as ROUTED_IP } from '../../../crds/generated/routedip.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { type Address, type ErrorKind, fieldsOf } from '../../../machines/model/types.ts';
import {
  asOwner,
  CONTENDED,
  CONTENDED_CONDITION,
  GROUP_LABEL,
  type GroupOffer,
  ipNameOf,
  isHeldBy,
  isKeptFor,
  isOwnedBy,
  RECLAIM_ANNOTATION,
  type ReservedIP,
  ROUTED_IP_LABEL,
  VIP_FINALIZER,
  type VipService,
} from '../../../machines/vip/objects.ts';
import { kindOf, pathOf } from '../cache/kinds.ts';
import { listAll } from '../cache/pages.ts';
import { list, metaOf, revisionOf } from '../cache/trim.ts';
import { finalizersOf, ipObject, isLoadBalancer, reservedIPOf, type ServedClass, trimReservedIP, vipServiceOf } from '../cache/trim-vip.ts';
import { ApiError, type ApiErrorKind, isConflict, isNotFound } from '../client/api-error.ts';
import { despiteConflicts, inVain } from '../client/conflicts.ts';
import { type Connection, MERGE_PATCH, type Request } from '../client/connection.ts';
import { wholeSeconds } from '../client/kube-time.ts';

export interface VipWriterOptions extends ServedClass {
  readonly connection: Connection;
  readonly clock: Pick<Clock, 'now'>;
}

/** The minor version of Kubernetes 1 that introduced `ipMode`. */
const IP_MODE_SINCE = 30;

const KINDS: Readonly<Record<ApiErrorKind, ErrorKind>> = {
  NotFound: 'NotFound',
  Conflict: 'Conflict',
  Gone: 'Unavailable',
  Forbidden: 'Unauthorized',
  Unauthorized: 'Unauthorized',
  Invalid: 'Invalid',
};

const placeOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => `${namespace}/${name}`;

const servicePath = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`;

const ipPath = (name: string): string => pathOf({ kind: KIND, namespace: '', name });

const classified = (what: string, error: unknown): unknown =>
  error instanceof ApiError ? new ProviderError(KINDS[error.kind], `${what}: ${error.message}`, { cause: error }) : error;

/** The result of `attempt`, which reads before it writes; it is retried after a concurrent write. */
const persistently = async <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
  try {
    return await despiteConflicts(attempt);
  } catch (error) {
    throw isConflict(error) ? inVain(what, error) : classified(what, error);
  }
};

/** Whether the ingress is exactly the one entry that we write; the server may have filled in the default mode. */
const isPublished = (object: unknown, address: Address | null): boolean => {
  const entries = list(fieldsOf(fieldsOf(fieldsOf(object).status).loadBalancer).ingress).map(fieldsOf);
  if (address === null) return entries.length === 0;
  const [{ ipMode = 'VIP', ...entry } = {}] = entries;
  return entries.length === 1 && ipMode === 'VIP' && isDeepStrictEqual(entry, { ip: address });
};

const isSame = (one: ReservedIP | null, other: ReservedIP): boolean =>
  one !== null &&
  one.uid === other.uid &&
  one.legacy === other.legacy &&
  one.reclaim === other.reclaim &&
  isDeepStrictEqual(one.owner, other.owner);

const holderText = ({ owner, legacy, reclaim }: ReservedIP): string => {
  const kind = reclaim ? 'RoutedIP' : legacy ? 'VirtualIP' : 'Service';
  return owner === null ? 'nobody known' : `${kind} ${placeOf(owner)}`;
};

const ownerIn = (routedIP: unknown): VipService | null => {
  const meta = metaOf(routedIP);
  if (meta === null) return null;
  const { namespace, name, uid, createdAt, deleting } = meta;
  return asOwner({ ref: { kind: ROUTED_IP, namespace, name, uid }, createdAt, deleting });
};

/** Writes finalizers and statuses of Services, and the objects that reserve addresses. Every write carries the resourceVersion it is based on, or creates
 *  a unique name. */
export class KubernetesVipWriter implements VipWriter {
  readonly #connection: Connection;
  readonly #clock: VipWriterOptions['clock'];
  readonly #served: ServedClass;
  #hasIPMode: boolean | null = null;

  constructor({ connection, clock, ...served }: VipWriterOptions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#served = served;
  }

  guard(service: ObjectRef, fence: Fence): Promise<void> {
    const what = `guard Service ${placeOf(service)}`;
    return persistently(what, async () => {
      const present = await this.#required(service, what);
      const finalizers = finalizersOf(present);
      if (finalizers.includes(VIP_FINALIZER)) return;
      if (metaOf(present)?.deleting) throw new ProviderError('Conflict', `${what}: it is being deleted`);
      await this.#patch(servicePath(service), present, { metadata: { finalizers: [...finalizers, VIP_FINALIZER] } }, fence);
    });
  }

  reserve(address: Address, group: string, service: ObjectRef, fence: Fence): Promise<ReservedIP> {
    const what = `reserve ${address} for Service ${placeOf(service)}`;
    const { namespace, name: owner, uid } = service;
    const name = ipNameOf(address);
    const body = ipObject(API_VERSION, KIND, { name, address, owner: { namespace, name: owner, uid }, group });
    return persistently(what, async () => {
      const { ip } = await this.#standing(what, name, body, fence);
      if (isOwnedBy(ip, service)) return ip;
      throw new ProviderError('Conflict', `${what}: it is reserved for ${holderText(ip)}`);
    });
  }

  publish(service: ObjectRef, address: Address | null, fence: Fence): Promise<boolean> {
    const what = `publish ${address ?? 'no address'} for Service ${placeOf(service)}`;
    return persistently(what, async () => {
      const present = await this.#required(service, what);
      if (isPublished(present, address)) return false;
      if (address !== null && metaOf(present)?.deleting) throw new ProviderError('Conflict', `${what}: it is being deleted`);
      if (address !== null && !isLoadBalancer(present)) throw new ProviderError('Conflict', `${what}: it is not of type LoadBalancer`);
      const ingress = address === null ? null : [{ ip: address, ...((await this.#knowsIPMode()) ? { ipMode: 'VIP' } : {}) }];
      await this.#patch(`${servicePath(service)}/status`, present, { status: { loadBalancer: { ingress } } }, fence);
      return true;
    });
  }

  contend(service: ObjectRef, message: string | null, fence: Fence): Promise<void> {
    const what = `say whether Service ${placeOf(service)} is served by somebody else`;
    return persistently(what, async () => {
      const present = await this.#required(service, what);
      const conditions = list(fieldsOf(fieldsOf(present).status).conditions).map(fieldsOf);
      const others = conditions.filter(({ type }) => type !== CONTENDED_CONDITION);
      const stands = vipServiceOf(present, this.#served)?.contended ?? null;
      if (stands === message && (message !== null || others.length === conditions.length)) return;
      const lastTransitionTime = wholeSeconds(this.#clock.now());
      const own = { type: CONTENDED_CONDITION, status: 'True', reason: CONTENDED, message, lastTransitionTime };
      const change = { status: { conditions: message === null ? others : [...others, own] } };
      await this.#patch(`${servicePath(service)}/status`, present, change, fence);
    });
  }

  free(ip: ReservedIP, fence: Fence): Promise<void> {
    const path = ipPath(ip.name);
    return persistently(`free ${ip.address}`, async () => {
      const present = await this.#get(path);
      if (present === null || ip.owner === null || !isSame(reservedIPOf(present), ip) || metaOf(present)?.deleting) return;
      const preconditions = { uid: ip.uid, resourceVersion: revisionOf(present) };
      await this.#untilGone({ method: 'DELETE', path, body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions } }, fence);
    });
  }

  regroup(ip: ReservedIP, group: string, fence: Fence): Promise<void> {
    const path = ipPath(ip.name);
    return persistently(`give IP ${ip.name} the label of IPGroup ${group}`, async () => {
      const present = await this.#get(path);
      const is = present === null ? null : reservedIPOf(present);
      if (!isSame(is, ip) || is?.group === group || metaOf(present)?.deleting) return;
      await this.#untilGone(patchOf(path, present, { metadata: { labels: { [GROUP_LABEL]: group } } }), fence);
    });
  }

  unguard(service: ObjectRef, fence: Fence): Promise<void> {
    return persistently(`unguard Service ${placeOf(service)}`, async () => {
      const path = servicePath(service);
      const present = await this.#get(path);
      const finalizers = finalizersOf(present);
      if (metaOf(present)?.uid !== service.uid || !finalizers.includes(VIP_FINALIZER)) return;
      const left = finalizers.filter((each) => each !== VIP_FINALIZER);
      await this.#untilGone(patchOf(path, present, { metadata: { finalizers: left } }), fence);
    });
  }

  async held({ uid }: ObjectRef): Promise<readonly ReservedIP[]> {
    const query = { ...kindOf(KIND).collection, labelSelector: `${ROUTED_IP_LABEL}=${uid}` };
    try {
      const { entries } = await listAll(this.#connection, query, trimReservedIP);
      const held = entries.map(({ value }) => value).filter((ip) => isHeldBy(ip, { uid }));
      return held.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      if (isNotFound(error)) return [];
      throw classified(`list what is reserved for RoutedIP ${uid}`, error);
    }
  }

  hold({ address, group }: GroupOffer, routedIP: ObjectRef, reclaim: Reclaim, fence: Fence): Promise<ReservedIP> {
    const what = `reserve ${address} for RoutedIP ${placeOf(routedIP)}`;
    const { namespace, name: owner, uid } = routedIP;
    const name = ipNameOf(address);
    const body = ipObject(API_VERSION, KIND, { name, address, owner: { namespace, name: owner, uid }, group, reclaim });
    return persistently(what, async () => {
      const { ip, present } = await this.#standing(what, name, body, fence);
      if (isHeldBy(ip, routedIP)) return ip;
      if (!isKeptFor(ip, routedIP)) throw new ProviderError('Conflict', `${what}: it is reserved for ${holderText(ip)}`);
      const taken = await this.#change(patchOf(ipPath(name), present, { metadata: marksOf(body) }), fence);
      return reservedIPOf(taken) ?? ip;
    });
  }

  keep(ip: ReservedIP, fence: Fence): Promise<void> {
    const path = ipPath(ip.name);
    return persistently(`keep ${ip.address}`, async () => {
      const present = await this.#get(path);
      if (present === null || ip.reclaim === 'Retain' || !isSame(reservedIPOf(present), ip) || metaOf(present)?.deleting) return;
      await this.#untilGone(patchOf(path, present, { metadata: { annotations: { [RECLAIM_ANNOTATION]: 'Retain' } } }), fence);
    });
  }

  async look(service: OwnerName): Promise<VipService | null> {
    const what = `look at ${service.kind ?? 'Service'} ${placeOf(service)}`;
    if (service.kind === ROUTED_IP) {
      const { namespace, name } = service;
      return ownerIn(await persistently(what, () => this.#get(pathOf({ kind: ROUTED_IP, namespace, name }))));
    }
    const present = await persistently(what, () => this.#get(servicePath(service)));
    return present === null ? null : vipServiceOf(present, this.#served);
  }

  /** Null when the object does not exist. */
  async #get(path: string): Promise<unknown> {
    try {
      return await this.#connection.send({ method: 'GET', path });
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  async #required(service: ObjectRef, what: string): Promise<unknown> {
    const present = await this.#get(servicePath(service));
    if (metaOf(present)?.uid !== service.uid) throw new ProviderError('NotFound', `${what}: it is gone`);
    return present;
  }

  /** The IP of that name, created now or found, regardless of who owns it. @throws ApiError Conflict when it came and went: the next try creates it */
  async #standing(what: string, name: string, body: object, fence: Fence): Promise<{ readonly ip: ReservedIP; readonly present: unknown }> {
    const created = await this.#create(what, body, fence);
    const present = created ?? (await this.#get(ipPath(name)));
    const ip = present === null ? null : reservedIPOf(present);
    if (ip === null) throw new ApiError('Conflict', 409, `IP ${name} came and went`);
    if (created === null && metaOf(present)?.deleting) throw new ProviderError('Conflict', `${what}: IP ${name} is being deleted`);
    return { ip, present };
  }

  /** Null when the name is taken. */
  async #create(what: string, body: object, fence: Fence): Promise<unknown> {
    try {
      return await this.#change({ method: 'POST', path: kindOf(KIND).collection.path, body }, fence);
    } catch (error) {
      if (isConflict(error)) return null;
      if (isNotFound(error)) throw new ProviderError('Unavailable', `${what}: this cluster serves no ${KIND}s`, { cause: error });
      throw error;
    }
  }

  async #patch(path: string, present: unknown, change: object, fence: Fence): Promise<void> {
    await this.#change(patchOf(path, present, change), fence);
  }

  /** An object that is gone counts as done. */
  async #untilGone(request: Request, fence: Fence): Promise<void> {
    try {
      await this.#change(request, fence);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #change(request: Request, fence: Fence): Promise<unknown> {
    await fence.read();
    // No await between this check and the send, so the fence is still fresh.
    fence.assertFresh();
    return this.#connection.send(request);
  }

  async #knowsIPMode(): Promise<boolean> {
    const known = this.#hasIPMode ?? (await this.#minor()) >= IP_MODE_SINCE;
    this.#hasIPMode = known;
    return known;
  }

  /** 0 where the server does not report it: servers with `ipMode` default to the one that we mean. */
  async #minor(): Promise<number> {
    const { major, minor } = fieldsOf(await this.#get('/version'));
    return major === '1' ? Number.parseInt(String(minor), 10) || 0 : 0;
  }
}

/** The labels and annotations of an object. */
const marksOf = (object: object): object => {
  const { labels, annotations } = fieldsOf(fieldsOf(object).metadata);
  return { labels, annotations };
};

/** A merge patch (RFC 7386) that the server refuses when the object has changed since it was read. */
const patchOf = (path: string, present: unknown, change: object): Request => {
  const { metadata = {}, ...rest } = change as { readonly metadata?: object };
  const body = { ...rest, metadata: { ...metadata, resourceVersion: revisionOf(present) } };
  return { method: 'PATCH', path, contentType: MERGE_PATCH, body };
};
