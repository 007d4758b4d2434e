import { formerVirtualIPActor, vipActor } from '../../machines/model/actor-id.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { ActorId, Address } from '../../machines/model/types.ts';
import { type IPGroupObject, ipNameOf, type ReservedIP, type VipService } from '../../machines/vip/objects.ts';
import type { VirtualIP } from '../../machines/vip/virtualip.ts';

/** The actor for which an address is reserved; null for no known one. An address of a VirtualIP does not belong to the Service of that name. An address of a RoutedIP or a
 *  VirtualIP is handled by an actor of this kind only when its owner is gone: it checks that, and frees the address, as for a Service that is gone. */
export const ownerActor = ({ owner, legacy, reclaim }: Pick<ReservedIP, 'owner' | 'legacy' | 'reclaim'>): ActorId | null => {
  if (owner === null) return null;
  if (reclaim) return `vip/RoutedIP/${owner.namespace}/${owner.name}`;
  return legacy ? formerVirtualIPActor(owner) : vipActor(owner);
};

/** Services, IPGroups and IPs as last observed. */
export class ObservedVips {
  readonly #services = new Map<ActorId, VipService>();
  /** By address, the Services whose ingress lists it. */
  readonly #listing = new Map<string, Set<ActorId>>();
  /** By name. */
  readonly groups = new Map<string, IPGroupObject>();
  /** By name of the object. */
  readonly ips = new Map<string, ReservedIP>();
  readonly #owned = new Map<ActorId, Map<string, ReservedIP>>();
  /** The initial lists are complete: only then does the absence of an object mean something. */
  synced = false;
  readonly virtualIPs = new Map<ActorId, VirtualIP>();
  /** The initial list of VirtualIPs is complete; never where they are not served, or may not be read. */
  virtualIPsSynced = false;

  /** All existing VirtualIPs; null while their list is not complete. */
  get allVirtualIPs(): readonly VirtualIP[] | null {
    return this.virtualIPsSynced ? [...this.virtualIPs.values()] : null;
  }

  get services(): ReadonlyMap<ActorId, VipService> {
    return this.#services;
  }

  putService(key: ActorId, service: VipService): void {
    this.removeService(key);
    this.#services.set(key, service);
    for (const address of listedBy(service)) this.#listing.set(address, (this.#listing.get(address) ?? new Set()).add(key));
  }

  removeService(key: ActorId): void {
    const before = this.#services.get(key);
    this.#services.delete(key);
    for (const address of before ? listedBy(before) : []) {
      const listing = this.#listing.get(address);
      listing?.delete(key);
      if (listing?.size === 0) this.#listing.delete(address);
    }
  }

  /** The Services whose ingress lists the address, unordered. */
  listing(address: Address): readonly ActorId[] {
    return [...(this.#listing.get(address) ?? [])];
  }

  /** The Service lists an address that is reserved for another owner. */
  usurps(key: ActorId): boolean {
    const service = this.#services.get(key);
    return (service ? listedBy(service) : []).some((address) => {
      const ip = this.ips.get(ipNameOf(address));
      return ip !== undefined && ownerActor(ip) !== key;
    });
  }

  putIp(ip: ReservedIP): ReservedIP | null {
    const before = this.removeIp(ip.name);
    this.ips.set(ip.name, ip);
    const owner = ownerActor(ip);
    if (owner === null) return before;
    const all = this.#owned.get(owner) ?? new Map<string, ReservedIP>();
    this.#owned.set(owner, all.set(ip.name, ip));
    return before;
  }

  /** Returns the removed IP; null for none. */
  removeIp(name: string): ReservedIP | null {
    const before = this.ips.get(name) ?? null;
    this.ips.delete(name);
    const owner = before && ownerActor(before);
    const all = owner === null ? undefined : this.#owned.get(owner);
    all?.delete(name);
    if (owner !== null && all?.size === 0) this.#owned.delete(owner);
    return before;
  }

  /** Unordered. */
  ownedBy(actor: ActorId): readonly ReservedIP[] {
    return [...(this.#owned.get(actor)?.values() ?? [])];
  }

  /** Actors for which something is reserved. */
  get owners(): Iterable<ActorId> {
    return this.#owned.keys();
  }
}

const listedBy = ({ ingress }: VipService): readonly Address[] => ingress.flatMap(({ ip }) => parseAddress(ip ?? '') ?? []);
