import { isDeepStrictEqual } from 'node:util';
import type { MigrationWriter, Place } from '../../actors/ports/migration.ts';
import type { Clock } from '../../actors/ports/records.ts';
import type { VipListener, VipWriter } from '../../actors/ports/vip.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { type IPGroupObject, type ReservedIP, VIP_FINALIZER, type VipService } from '../../machines/vip/objects.ts';
import { MIGRATING_ANNOTATION, type ServiceObject, type VirtualIP } from '../../machines/vip/virtualip.ts';
import { type Faults, faultPlan } from './faults.ts';
import type { Duration } from './random.ts';

/** The calls of a `VipWriter` and of a `MigrationWriter` by name. */
export type VipVerb = keyof VipWriter | keyof MigrationWriter;

/** One write call, in the order in which they were sent. */
export interface LoggedVipWrite {
  /** When it was sent or fenced, monotonic ms. */
  readonly at: number;
  readonly verb: VipVerb;
  readonly about: string;
  /** `done`, `unchanged` when another client had made the same change meanwhile, `fenced`, the kind of the error, or `lost` without a reply. */
  result: string;
}

/** What a Service requests; omitted fields are unchanged, or default to those of an ordinary Service of type LoadBalancer. */
export interface ServiceWish {
  readonly type?: string;
  readonly loadBalancerClass?: string | null;
  readonly loadBalancerIP?: string;
  readonly requestedIP?: string | null;
  readonly pinnedGroup?: string | null;
  readonly family?: 4 | 6 | null;
}

/** A Service as it is stored. */
export interface StoredService extends Required<ServiceWish> {
  readonly ref: ObjectRef;
  readonly createdAt: number;
  readonly deleting: boolean;
  readonly finalizers: readonly string[];
  readonly ingress: VipService['ingress'];
  /** The field manager that wrote the ingress; null when unknown. Absent when it is ours. */
  readonly by?: string | null;
  /** The message of our Contended condition; absent without one. */
  readonly contended?: string;
  /** Parts that are only used to copy it. */
  readonly more?: ServiceParts;
}

export type ServiceParts = Partial<Pick<ServiceObject, 'labels' | 'annotations' | 'owners' | 'spec'>>;

export interface MemoryVipOptions {
  readonly clock: Clock;
  /** Whether every write of a Service that is not of type LoadBalancer clears its ingress, as in newer servers. Default true. */
  readonly wipesIngress?: boolean;
  /** The class that is served besides Services without one; null (default) for none. */
  readonly loadBalancerClass?: string | null;
  /** Whether Services without a class are served only if they request an address, or have our finalizer. Default false. */
  readonly classOnly?: boolean;
  /** Duration of a request, each way; default 0: no time, but other events may interleave. */
  readonly callMs?: Duration;
  /** Delay with which watches report changes, in order; default 0. */
  readonly watchMs?: Duration;
  /** Whether the CRDs are installed from the start. Default true. */
  readonly served?: boolean;
  readonly random?: () => number;
  /** A RoutedIP as the owner of an address; null when none has that name. Absent where there are no RoutedIPs. */
  readonly routedIP?: (place: { readonly namespace: string; readonly name: string }) => VipService | null;
  /** Called synchronously for every change, by any client. */
  readonly changed?: (change: VipChange) => void;
}

/** A change of an object at the API server; null for no object. */
export type VipChange =
  | { readonly kind: 'Service'; readonly before: StoredService | null; readonly after: StoredService | null }
  | { readonly kind: 'IP'; readonly before: ReservedIP | null; readonly after: ReservedIP | null }
  | { readonly kind: 'VirtualIP'; readonly after: VirtualIP | null };

/** The watches of one process. */
export interface Watching {
  /** Reports a change, after its delay. */
  hear(tell: (listener: VipListener) => void): void;
  /** Reports the current state of everything. */
  tellAll(): void;
}

/** The state that the processes share. */
export interface VipWorld {
  readonly options: MemoryVipOptions;
  readonly services: Map<string, StoredService>;
  readonly groups: Map<string, IPGroupObject>;
  readonly ips: Map<string, ReservedIP>;
  readonly faults: Faults<VipVerb>;
  readonly writes: LoggedVipWrite[];
  readonly watches: Set<Watching>;
  /** Called for every Service that is added, changed or deleted. */
  readonly touched: Set<(place: Place) => void>;
  /** Whether the CRDs are installed. */
  served: boolean;
  /** Reports something to every process. */
  tellAll(tell: (listener: VipListener) => void): void;
  /** A new uid, also distinct from uids outside this world: state about objects is remembered by uid. */
  uid(): string;
  view(service: StoredService): VipService;
  /** Stores a Service like the API server, and reports it; through `/status` only the ingress changes. */
  putService(service: StoredService, subresource?: 'status'): void;
  putIP(ip: ReservedIP): void;
  dropIP(name: string): void;
}

export const serviceKey = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => `${namespace}/${name}`;

/** Other Services are not reported. */
export const isRelevant = ({ wanting, guarded, contended }: VipService): boolean => wanting || guarded || contended !== undefined;

/** Written by us, unless `writer` says otherwise. */
export const withIngress = (
  { by: _, ...service }: StoredService,
  ingress: VipService['ingress'],
  writer: Pick<VipService, 'by'> = {},
): StoredService => ({
  ...service,
  ingress,
  ...writer,
});

export const withContended = ({ contended: _, ...service }: StoredService, message: string | null): StoredService => ({
  ...service,
  ...(message !== null && { contended: message }),
});

const LOAD_BALANCER = 'LoadBalancer';

export const ORDINARY_SERVICE: Required<ServiceWish> = {
  type: LOAD_BALANCER,
  loadBalancerClass: null,
  loadBalancerIP: '',
  requestedIP: null,
  pinnedGroup: null,
  family: 4,
};

export const vipWorld = (options: MemoryVipOptions): VipWorld => {
  const { wipesIngress = true, loadBalancerClass: served = null, classOnly = false, changed = () => undefined } = options;
  const isServed = ({ loadBalancerClass, requestedIP, pinnedGroup, finalizers }: StoredService): boolean =>
    loadBalancerClass === null
      ? !classOnly || requestedIP !== null || pinnedGroup !== null || finalizers.includes(VIP_FINALIZER)
      : loadBalancerClass === served;
  let created = 0;
  const tellAll = (tell: (listener: VipListener) => void): void => {
    if (world.served) for (const watch of world.watches) watch.hear(tell);
  };
  const tellService = (before: VipService | null, after: VipService | null): void => {
    if (isDeepStrictEqual(before, after)) return;
    if (after !== null && isRelevant(after)) tellAll((listener) => listener.serviceObserved(after));
    else if (before !== null && isRelevant(before)) tellAll((listener) => listener.serviceGone(before.ref));
  };
  const world: VipWorld = {
    options,
    services: new Map(),
    groups: new Map(),
    ips: new Map(),
    faults: faultPlan<VipVerb>(),
    writes: [],
    watches: new Set(),
    touched: new Set(),
    served: options.served ?? true,
    tellAll,
    uid: () => {
      created += 1;
      return `vip-uid-${created}`;
    },
    view: (service) => ({
      ref: service.ref,
      createdAt: service.createdAt,
      wanting: service.type === LOAD_BALANCER && isServed(service),
      deleting: service.deleting,
      guarded: service.finalizers.includes(VIP_FINALIZER),
      ingress: service.ingress,
      loadBalancerIP: service.loadBalancerIP,
      requestedIP: service.requestedIP,
      pinnedGroup: service.pinnedGroup,
      family: service.family,
      ...(service.more?.annotations?.[MIGRATING_ANNOTATION] && { migrating: service.more.annotations[MIGRATING_ANNOTATION] }),
      ...(service.by !== undefined && service.ingress.length > 0 && { by: service.by }),
      ...(service.contended !== undefined && { contended: service.contended }),
      ...(service.loadBalancerClass !== null && service.loadBalancerClass === served && { classed: true as const }),
    }),
    putService: (service, subresource) => {
      const key = serviceKey(service.ref);
      const old = world.services.get(key);
      const before = old === undefined ? null : world.view(old);
      const isWiped = subresource === undefined && wipesIngress && service.type !== LOAD_BALANCER;
      const next = isWiped ? { ...service, ingress: [] } : service;
      if (next.deleting && next.finalizers.length === 0) {
        world.services.delete(key);
        changed({ kind: 'Service', before: old ?? null, after: null });
        tellService(before, null);
        for (const tell of world.touched) tell(service.ref);
        return;
      }
      world.services.set(key, next);
      changed({ kind: 'Service', before: old ?? null, after: next });
      tellService(before, world.view(next));
      for (const tell of world.touched) tell(service.ref);
    },
    putIP: (ip) => {
      const before = world.ips.get(ip.name);
      world.ips.set(ip.name, ip);
      changed({ kind: 'IP', before: before ?? null, after: ip });
      if (before !== undefined && before.uid !== ip.uid) tellAll((listener) => listener.ipGone(before));
      if (!isDeepStrictEqual(before, ip)) tellAll((listener) => listener.ipObserved(ip));
    },
    dropIP: (name) => {
      const before = world.ips.get(name);
      if (before === undefined) return;
      world.ips.delete(name);
      changed({ kind: 'IP', before, after: null });
      tellAll((listener) => listener.ipGone(before));
    },
  };
  return world;
};
