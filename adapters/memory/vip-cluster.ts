import type { Probe } from '../../actors/ports/observers.ts';
import type { Json } from '../../actors/ports/records.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { addressOfIP, type IPGroupObject, type ReservedIP, type VipService } from '../../machines/vip/objects.ts';
import type { Faults } from './faults.ts';
import { type ProcessVips, processVips } from './vip-process.ts';
import {
  type LoggedVipWrite,
  type MemoryVipOptions,
  ORDINARY_SERVICE,
  type ServiceParts,
  type ServiceWish,
  type StoredService,
  serviceKey,
  type VipVerb,
  vipWorld,
  withContended,
  withIngress,
} from './vip-world.ts';
import { type MemoryVirtualIPs, memoryVirtualIPs } from './virtual-ips.ts';

/** Services, IPGroups and IPs in memory, for virtual clocks: simulates only the API server. */
export interface MemoryVipCluster {
  /** The cluster as one process sees and writes it. */
  process(options?: { readonly probe?: Probe }): ProcessVips;
  /** Creates or changes a Service. */
  setService(
    service: ServiceWish & {
      readonly namespace?: string;
      readonly name: string;
      readonly more?: ServiceParts;
      readonly createdAt?: number;
    },
  ): ObjectRef;
  /** Another client writes the ingress of a Service: `ip` is null for an entry with a hostname. `writer.by` is its field manager, absent for
   *  ours; default `somebody`. */
  setIngress(ref: ObjectRef, ingress: VipService['ingress'], writer?: Pick<VipService, 'by'>): void;
  /** Another client writes or removes our Contended condition of a Service. */
  setContended(ref: ObjectRef, message: string | null): void;
  /** Another client replaces all finalizers, including ours. */
  setFinalizers(ref: ObjectRef, finalizers: readonly string[]): void;
  /** Requests the deletion: the Service disappears once it has no finalizer. */
  deleteService(ref: ObjectRef): void;
  service(namespace: string, name: string): StoredService | null;
  services(): readonly StoredService[];
  setGroup(name: string, spec: Json): ObjectRef;
  removeGroup(name: string): void;
  groups(): readonly IPGroupObject[];
  /** An administrator creates or replaces an IP. @throws Error for a name that is not that of an address */
  setIP(ip: { readonly name: string } & Partial<Pick<ReservedIP, 'owner' | 'group' | 'legacy' | 'reclaim'>>): ReservedIP;
  removeIP(name: string): void;
  /** Another client writes a field of the IP that is not read here. */
  touchIP(name: string): void;
  ips(): readonly ReservedIP[];
  /** Installs the CRDs: from now on groups and IPs are served, and everything is reported. */
  install(): void;
  readonly virtualIPs: MemoryVirtualIPs;
  readonly faults: Faults<VipVerb>;
  /** All write calls, oldest first. */
  readonly writes: readonly LoggedVipWrite[];
}

export const memoryVipCluster = (options: MemoryVipOptions): MemoryVipCluster => {
  const world = vipWorld(options);
  const { services, groups, ips, tellAll } = world;
  /** Changes only the Service with this uid; a recreated one is a different object. */
  const change = (ref: ObjectRef, changed: (service: StoredService) => StoredService, subresource?: 'status'): void => {
    const service = services.get(serviceKey(ref));
    if (service?.ref.uid === ref.uid) world.putService(changed(service), subresource);
  };
  const sorted = <T>(stored: ReadonlyMap<string, T>): readonly T[] => [...stored.keys()].sort().flatMap((key) => stored.get(key) ?? []);
  const requireServed = (): void => {
    if (!world.served) throw new Error('the definitions are not installed');
  };
  return {
    process: ({ probe } = {}) => processVips(world, probe),
    setService: ({ namespace = 'default', name, ...wish }) => {
      const before = services.get(serviceKey({ namespace, name }));
      const ref = before?.ref ?? { kind: 'Service', namespace, name, uid: world.uid() };
      const fresh = { ...ORDINARY_SERVICE, ref, createdAt: options.clock.now(), deleting: false, finalizers: [], ingress: [] };
      world.putService({ ...(before ?? fresh), ...wish });
      return ref;
    },
    setIngress: (ref, ingress, writer = { by: 'somebody' }) => change(ref, (service) => withIngress(service, ingress, writer), 'status'),
    setContended: (ref, message) => change(ref, (service) => withContended(service, message), 'status'),
    setFinalizers: (ref, finalizers) => change(ref, (service) => ({ ...service, finalizers })),
    deleteService: (ref) => change(ref, (service) => ({ ...service, deleting: true })),
    service: (namespace, name) => services.get(serviceKey({ namespace, name })) ?? null,
    services: () => sorted(services),
    setGroup: (name, spec) => {
      requireServed();
      const before = groups.get(name);
      const ref = before?.ref ?? { kind: 'IPGroup', namespace: '', name, uid: world.uid() };
      const group = { ref, generation: (before?.generation ?? 0) + 1, deleting: false, spec, status: before?.status ?? null };
      groups.set(name, group);
      tellAll((listener) => listener.groupObserved(group));
      return ref;
    },
    removeGroup: (name) => {
      const group = groups.get(name);
      if (groups.delete(name) && group !== undefined) tellAll((listener) => listener.groupGone(group.ref));
    },
    groups: () => sorted(groups),
    setIP: ({ name, owner = null, group = null, legacy = false, reclaim }) => {
      requireServed();
      const address: Address | null = addressOfIP(name);
      if (address === null) throw new Error(`${name} is the name of no address`);
      const ip: ReservedIP = { name, uid: world.uid(), address, owner, group, legacy, ...(reclaim && { reclaim }) };
      world.putIP(ip);
      return ip;
    },
    removeIP: (name) => world.dropIP(name),
    touchIP: (name) => {
      const ip = ips.get(name);
      if (ip !== undefined) world.putIP({ ...ip });
    },
    ips: () => sorted(ips),
    install: () => {
      world.served = true;
      for (const watch of world.watches) watch.tellAll();
    },
    virtualIPs: memoryVirtualIPs(world),
    faults: world.faults,
    writes: world.writes,
  };
};
