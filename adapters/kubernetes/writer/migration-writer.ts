import { isDeepStrictEqual } from 'node:util';
import { Overtaken, ProviderError, VirtualIPNotFound } from '../../../actors/ports/errors.ts';
import type { Fence } from '../../../actors/ports/fence.ts';
import type {
  CloneContent,
  CloneManifest,
  Hold,
  LegacyIP,
  LiveIP,
  LiveService,
  LiveVirtualIP,
  MigrationWriter,
  Place,
} from '../../../actors/ports/migration.ts';
import type { Json } from '../../../actors/ports/records.ts';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { GROUP_LABEL, ipNameOf, LEGACY_GROUP_LABEL, OWNER_ANNOTATION } from '../../../machines/vip/objects.ts';
import { CLONE_FINALIZER, IP_FINALIZER, MIGRATING_ANNOTATION, type VirtualIPStatus } from '../../../machines/vip/virtualip.ts';
import { ApiError, isConflict, isNotFound, messageOf } from '../client/api-error.ts';
import { despiteConflicts } from '../client/conflicts.ts';
import { type Connection, MERGE_PATCH, type Request } from '../client/connection.ts';
import { difference, isObject, type JsonObject } from '../client/merge-patch.ts';
import { ipIn, serviceIn, virtualIPIn } from '../client/migration-objects.ts';

const GROUP = '/apis/paas.org/v1';
const FINALIZERS: Readonly<Record<Hold, string>> = { ip: IP_FINALIZER, clone: CLONE_FINALIZER };

const virtualIPPath = ({ namespace, name }: Place): string =>
  `${GROUP}/namespaces/${encodeURIComponent(namespace)}/virtualips/${encodeURIComponent(name)}`;
const servicePath = ({ namespace, name }: Place): string =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}`;
const ipPath = (name: string): string => `${GROUP}/ips/${encodeURIComponent(name)}`;

/** Reads and writes of VirtualIP jobs at the API server. */
export class KubernetesMigrationWriter implements MigrationWriter {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async virtualIP(vip: ObjectRef): Promise<LiveVirtualIP | null> {
    const object = await this.#get(virtualIPPath(vip));
    const found = object === null ? null : virtualIPIn(object);
    return found?.ref.uid === vip.uid ? found : null;
  }

  async service(place: Place): Promise<LiveService | null> {
    const found = await this.#get(servicePath(place));
    return found === null ? null : serviceIn(found);
  }

  async ip(address: Address): Promise<LiveIP | null> {
    const found = await this.#get(ipPath(ipNameOf(address)));
    return found === null ? null : ipIn(found);
  }

  async ips(): Promise<readonly LegacyIP[]> {
    return ((await this.#list('ips')) ?? []).flatMap((object) => ipIn(object) ?? []);
  }

  async virtualIPs(): Promise<readonly LiveVirtualIP[] | null> {
    return (await this.#list('virtualips'))?.map(virtualIPIn) ?? null;
  }

  groups(): Promise<readonly { readonly name: string; readonly spec: unknown }[]> {
    return this.#segments('ipgroups');
  }

  mappings(): Promise<readonly { readonly name: string; readonly spec: unknown }[]> {
    return this.#segments('groupsegmentmappings');
  }

  async hold(vip: LiveVirtualIP, hold: Hold, fence: Fence): Promise<LiveVirtualIP> {
    const { finalizers, ref, version } = vip;
    if (finalizers.includes(FINALIZERS[hold])) return vip;
    if (vip.deleting) throw new ProviderError('Conflict', `VirtualIP "${ref.name}" is being deleted`);
    const change = { metadata: { resourceVersion: version, finalizers: [...finalizers, FINALIZERS[hold]] } };
    return virtualIPIn(await this.#patchVirtualIP(ref, '', change, fence));
  }

  letGo(vip: ObjectRef, hold: Hold, fence: Fence): Promise<void> {
    const isChanged = (error: unknown): boolean => error instanceof Overtaken;
    return despiteConflicts(async () => {
      const live = await this.virtualIP(vip);
      if (live === null) throw new VirtualIPNotFound(vip.name);
      if (!live.finalizers.includes(FINALIZERS[hold])) return;
      const finalizers = live.finalizers.filter((each) => each !== FINALIZERS[hold]);
      const change = { metadata: { resourceVersion: live.version, finalizers } };
      await this.#patchVirtualIP(vip, '', change, fence);
    }, isChanged);
  }

  async report(vip: LiveVirtualIP, status: Partial<VirtualIPStatus>, fence: Fence): Promise<void> {
    const present: Partial<Record<string, string>> = { ...vip.status };
    const changed = Object.entries(status).filter(([member, text]) => present[member] !== text);
    if (changed.length === 0) return;
    const change = Object.fromEntries(changed.map(([member, text]) => [member, text === '' ? null : text]));
    const body = { metadata: { resourceVersion: vip.version }, status: change };
    await this.#patchVirtualIP(vip.ref, '/status', body, fence);
  }

  async reserve(address: Address, gsm: string, { namespace, name }: ObjectRef, fence: Fence): Promise<void> {
    const metadata = {
      name: ipNameOf(address),
      labels: { [LEGACY_GROUP_LABEL]: gsm },
      annotations: { [OWNER_ANNOTATION]: `${namespace}/${name}` },
    };
    await this.#create(`${GROUP}/ips`, { apiVersion: 'paas.org/v1', kind: 'IP', metadata }, fence);
  }

  async reassociate(ip: LiveIP, group: string, { namespace, name }: Place, fence: Fence): Promise<void> {
    // A merge patch must name other labels and annotations to remove them.
    const present = await this.#get(ipPath(ip.name));
    const metadata = isObject(present ?? undefined) ? (present as JsonObject).metadata : undefined;
    if (!isObject(metadata) || metadata.resourceVersion !== ip.version) throw new Overtaken(`IP "${ip.name}" was changed meanwhile`);
    const wanted = { labels: { [GROUP_LABEL]: group }, annotations: { [OWNER_ANNOTATION]: `${namespace}/${name}` } };
    const { labels = {}, annotations = {} } = metadata;
    const change = difference({ present: { labels, annotations }, sent: undefined, answered: undefined }, wanted);
    if (!isObject(change)) return;
    await this.#patch(ipPath(ip.name), { metadata: { ...change, resourceVersion: ip.version } }, fence);
  }

  free(ip: LiveIP, fence: Fence): Promise<void> {
    return this.#delete(ipPath(ip.name), ip, fence);
  }

  async createClone({ namespace, name, labels, annotations, owner, spec }: CloneManifest, fence: Fence): Promise<void> {
    const ownerReferences = [{ apiVersion: 'paas.org/v1', kind: owner.kind, name: owner.name, uid: owner.uid }];
    const metadata = { namespace, name, labels, annotations, ownerReferences };
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services`;
    await this.#create(path, { apiVersion: 'v1', kind: 'Service', metadata, spec }, fence);
  }

  async syncClone(clone: LiveService, { labels, annotations, spec }: CloneContent, fence: Fence): Promise<void> {
    const named = { ...clone.spec, ...spec };
    const wanted = { labels, annotations, spec: Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null)) };
    const present = { labels: clone.labels, annotations: clone.annotations, spec: clone.spec } as unknown as Json;
    const change = difference({ present, sent: undefined, answered: undefined }, wanted as unknown as Json);
    if (!isObject(change)) return;
    const { spec: changed, ...metadata } = change;
    const body = { metadata: { ...metadata, resourceVersion: clone.version }, ...(changed !== undefined && { spec: changed }) };
    await this.#patch(servicePath(clone), body, fence);
  }

  deleteClone(clone: LiveService, fence: Fence): Promise<void> {
    return this.#delete(servicePath(clone), clone, fence);
  }

  async mark(service: LiveService, vip: string | null, fence: Fence): Promise<void> {
    if ((service.annotations[MIGRATING_ANNOTATION] ?? null) === vip) return;
    const metadata = { resourceVersion: service.version, annotations: { [MIGRATING_ANNOTATION]: vip } };
    await this.#patch(servicePath(service), { metadata }, fence);
  }

  async convert(service: LiveService, address: Address, fence: Fence): Promise<void> {
    const { type, loadBalancerIP } = service.spec;
    if (type === 'LoadBalancer' && loadBalancerIP === address) return;
    const change = { metadata: { resourceVersion: service.version }, spec: { type: 'LoadBalancer', loadBalancerIP: address } };
    await this.#patch(servicePath(service), change, fence);
  }

  async setIngress(service: LiveService, address: Address, fence: Fence): Promise<LiveService> {
    if (isDeepStrictEqual(service.ingress, [{ ip: address }])) return service;
    const change = { metadata: { resourceVersion: service.version }, status: { loadBalancer: { ingress: [{ ip: address }] } } };
    return serviceIn(await this.#patch(`${servicePath(service)}/status`, change, fence));
  }

  async settle(service: LiveService, pinned: boolean, fence: Fence): Promise<void> {
    const isMarked = Object.hasOwn(service.annotations, MIGRATING_ANNOTATION);
    const asks = !pinned && service.spec.loadBalancerIP !== undefined;
    if (!isMarked && !asks) return;
    const metadata = { resourceVersion: service.version, ...(isMarked && { annotations: { [MIGRATING_ANNOTATION]: null } }) };
    await this.#patch(servicePath(service), { metadata, ...(asks && { spec: { loadBalancerIP: null } }) }, fence);
  }

  /** Null when the object does not exist. */
  async #get(path: string): Promise<Json | null> {
    try {
      return await this.#read({ method: 'GET', path });
    } catch (error) {
      return unlessGone(error);
    }
  }

  /** All objects of a kind; null where it is not served. */
  async #list(plural: string): Promise<readonly Json[] | null> {
    const found = await this.#get(`${GROUP}/${plural}`);
    if (found === null) return null;
    return isObject(found) && Array.isArray(found.items) ? found.items : [];
  }

  async #segments(plural: string): Promise<readonly { readonly name: string; readonly spec: unknown }[]> {
    return ((await this.#list(plural)) ?? []).flatMap((object) => {
      const { metadata, spec } = object as { readonly metadata: { readonly name: string }; readonly spec?: unknown };
      return [{ name: metadata.name, spec }];
    });
  }

  #patch(path: string, body: unknown, fence: Fence): Promise<Json> {
    return this.#write({ method: 'PATCH', path, contentType: MERGE_PATCH, body }, fence);
  }

  async #patchVirtualIP(vip: ObjectRef, subresource: '' | '/status', body: unknown, fence: Fence): Promise<Json> {
    const found = await this.#patch(`${virtualIPPath(vip)}${subresource}`, body, fence).catch(unlessGone);
    if (found === null) throw new VirtualIPNotFound(vip.name);
    return found;
  }

  async #create(path: string, body: unknown, fence: Fence): Promise<void> {
    try {
      await this.#write({ method: 'POST', path, body }, fence);
    } catch (error) {
      if (error instanceof Overtaken) throw new ProviderError('Conflict', error.message, { cause: error });
      throw error;
    }
  }

  /** Deletes exactly this object, in the version that was read. */
  async #delete(path: string, { uid, version }: { readonly uid: string; readonly version: string }, fence: Fence): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid, resourceVersion: version } };
    await this.#write({ method: 'DELETE', path, body }, fence).catch(unlessGone);
  }

  async #write(request: Request, fence: Fence): Promise<Json> {
    await fence.read();
    fence.assertFresh();
    return this.#read(request);
  }

  async #read(request: Request): Promise<Json> {
    try {
      return (await this.#connection.send(request)) as Json;
    } catch (error) {
      if (isConflict(error)) throw new Overtaken(messageOf(error), { cause: error });
      throw error instanceof ApiError ? new ProviderError(KINDS[error.kind], error.message, { cause: error }) : error;
    }
  }
}

/** Error kinds by refusal. A conflict concerns versions, except for a create. */
const KINDS = {
  NotFound: 'NotFound',
  Conflict: 'Unavailable',
  Gone: 'Unavailable',
  Forbidden: 'Unauthorized',
  Unauthorized: 'Unauthorized',
  Invalid: 'Invalid',
} as const satisfies Record<ApiError['kind'], ProviderError['kind']>;

/** Null when the object is gone. @throws any other error */
function unlessGone(error: unknown): null {
  if (error instanceof ProviderError && isNotFound(error.cause)) return null;
  throw error;
}
