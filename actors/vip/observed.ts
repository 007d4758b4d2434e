import type { ActorId } from '../../machines/types.ts';
import type { IPGroupObject, ReservedIP, VipService } from '../../machines/vip.ts';

/** The actor of a Service's address. */
export const vipActor = ({ namespace, name }: { readonly namespace: string; readonly name: string }): ActorId => `vip/${namespace}/${name}`;

export const isVip = (actor: ActorId): boolean => actor.startsWith('vip/');

/** The actor for which an address is reserved; null when it is nobody's that we know of. One of a VirtualIP is not the Service's of that name. */
export const ownerActor = ({ owner, legacy }: ReservedIP): ActorId | null =>
  owner === null ? null : legacy ? `vvip/${owner.namespace}/${owner.name}` : vipActor(owner);

/** All that was told of Services, IPGroups and IPs, as of now. */
export class ObservedVips {
  readonly services = new Map<ActorId, VipService>();
  /** By name. */
  readonly groups = new Map<string, IPGroupObject>();
  /** By name of the object. */
  readonly ips = new Map<string, ReservedIP>();
  readonly #owned = new Map<ActorId, Map<string, ReservedIP>>();
  /** Everything was told once: only then does it say something that an object is not here. */
  synced = false;

  putIp(ip: ReservedIP): ReservedIP | null {
    const before = this.removeIp(ip.name);
    this.ips.set(ip.name, ip);
    const owner = ownerActor(ip);
    if (owner === null) return before;
    const all = this.#owned.get(owner) ?? new Map<string, ReservedIP>();
    this.#owned.set(owner, all.set(ip.name, ip));
    return before;
  }

  /** Answers what it was. */
  removeIp(name: string): ReservedIP | null {
    const before = this.ips.get(name) ?? null;
    this.ips.delete(name);
    const owner = before && ownerActor(before);
    const all = owner === null ? undefined : this.#owned.get(owner);
    all?.delete(name);
    if (owner !== null && all?.size === 0) this.#owned.delete(owner);
    return before;
  }

  /** In no order. */
  ownedBy(actor: ActorId): readonly ReservedIP[] {
    return [...(this.#owned.get(actor)?.values() ?? [])];
  }

  /** Actors for which something is reserved. */
  get owners(): Iterable<ActorId> {
    return this.#owned.keys();
  }
}
