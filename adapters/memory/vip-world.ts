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

/** One call that was to change something, in the order in which they were sent. */
export interface LoggedVipWrite {
  /** Monotonic ms at which it was sent, or refused to be sent. */
  readonly at: number;
  readonly verb: VipVerb;
  readonly about: string;
  /** `done`, `unchanged` when somebody else had changed the same meanwhile, `fenced`, the kind of the error, or `lost` for one without an answer. */
  result: string;
}

/** What a Service asks for; what is left out stays as it was, or is as in an ordinary Service of type LoadBalancer. */
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
  /** The field manager of who wrote that, if it is not us; null where nobody says. Absent where we did. */
  readonly by?: string | null;
  /** The message of our condition that somebody else serves it; absent where it does not stand. */
  readonly contended?: string;
  /** What only copies of it are made of. */
  readonly more?: ServiceParts;
}

export type ServiceParts = Partial<Pick<ServiceObject, 'labels' | 'annotations' | 'owners' | 'spec'>>;

export interface MemoryVipOptions {
  readonly clock: Clock;
  /** Whether every write of a Service that is not of type LoadBalancer empties its ingress, as with newer servers. Default true. */
  readonly wipesIngress?: boolean;
  /** The class that is served besides none; null, the default, for no other. */
  readonly loadBalancerClass?: string | null;
  /** Whether Services without a class are served only if they ask for an address, or are guarded. Default false. */
  readonly classOnly?: boolean;
  /** How long a request takes, there and back; default 0: no time, but other things may come in between. */
  readonly callMs?: Duration;
  /** How late watches tell of a change, each in its turn; default 0. */
  readonly watchMs?: Duration;
  /** Whether the definitions are installed from the start. Default true. */
  readonly served?: boolean;
  readonly random?: () => number;
  /** A RoutedIP as one that wants what it has; null when there is none of that name. Absent where there are none. */
  readonly routedIP?: (place: { readonly namespace: string; readonly name: string }) => VipService | null;
  /** Told of every change at the moment at which it is made, whoever makes it. */
  readonly changed?: (change: VipChange) => void;
}

/** What the API server has done to an object; null for none. */
export type VipChange =
  | { readonly kind: 'Service'; readonly before: StoredService | null; readonly after: StoredService | null }
  | { readonly kind: 'IP'; readonly before: ReservedIP | null; readonly after: ReservedIP | null }
  | { readonly kind: 'VirtualIP'; readonly after: VirtualIP | null };

/** The watches of one process. */
export interface Watching {
  /** It hears of a change, in its own time. */
  hear(tell: (listener: VipListener) => void): void;
  /** It is told everything as of now. */
  tellAll(): void;
}

/** What the processes share. */
export interface VipWorld {
  readonly options: MemoryVipOptions;
  readonly services: Map<string, StoredService>;
  readonly groups: Map<string, IPGroupObject>;
  readonly ips: Map<string, ReservedIP>;
  readonly faults: Faults<VipVerb>;
  readonly writes: LoggedVipWrite[];
  readonly watches: Set<Watching>;
  /** Each is told of every Service that changes, comes or goes. */
  readonly touched: Set<(place: Place) => void>;
  /** Whether the definitions are installed. */
  served: boolean;
  /** Something is told to every process. */
  tellAll(tell: (listener: VipListener) => void): void;
  /** A new uid, which nothing beside this world has either: what is remembered of objects goes by it. */
  uid(): string;
  view(service: StoredService): VipService;
  /** Stores a Service as the API server would, and tells of it; through `/status` only the ingress changes. */
  putService(service: StoredService, subresource?: 'status'): void;
  putIP(ip: ReservedIP): void;
  dropIP(name: string): void;
}

export const serviceKey = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string => `${namespace}/${name}`;

/** Services that nobody here has to do with are not told of. */
export const isRelevant = ({ wanting, guarded, contended }: VipService): boolean => wanting || guarded || contended !== undefined;

/** Written by us, unless it is said by whom. */
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
