import type { GroupObserved } from '../../machines/events.ts';
import { actorOf, isRoutedIP } from '../../machines/model/actor-id.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { GROUPS_UNSEEN, type GroupWish, groupRefusal, groupWish } from '../../machines/pool/ip-group-offer.ts';
import { parseGroup } from '../../machines/vip/ip-group.ts';
import { type GroupOffer, type GroupRefusal, ipNameOf, isHeldBy, isKeptFor, type ReservedIP } from '../../machines/vip/objects.ts';
import { poolContextIn } from '../controllers/record-view.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import type { Allocator } from './allocator.ts';
import { type ObservedVips, ownerActor } from './object-cache.ts';
import type { GroupOpenness } from './openness.ts';

export interface RoutedDeskPorts {
  readonly seen: ObservedVips;
  readonly cells: Pick<Cells, 'all' | 'tell' | 'recordsOf'>;
  /** Shared with Services: an address is offered once. */
  readonly allocator: Allocator;
  readonly uidOf: RoutedIPOf;
  readonly openness: GroupOpenness;
}

/** The uid of the RoutedIP that has the actor's name now, null for none; undefined while RoutedIPs are not observed. */
export type RoutedIPOf = (actor: ActorId) => string | null | undefined;

type Fact = Omit<GroupObserved, 'at'>;

const NOTHING: Fact = { type: 'GROUP_OBSERVED', offer: null, refusal: null };

/** Asks for IPGroup addresses on behalf of RoutedIPs whose class requires it, and sends each the chosen one. Request and answer are in the RoutedIP's record. */
export class RoutedDesk {
  readonly #ports: RoutedDeskPorts;
  /** Last fact sent, as text, so that none is sent twice. */
  readonly #told = new Map<ActorId, string>();

  constructor(ports: RoutedDeskPorts) {
    this.#ports = ports;
  }

  get keys(): readonly ActorId[] {
    return [...this.#ports.cells.all.keys()].filter(isRoutedIP);
  }

  /** Addresses chosen before this term began are asked for first. */
  askAll(): void {
    for (const key of this.keys) this.#ask(key);
  }

  /** Its request or the answer may have changed. `isOpen`: IPGroups are observed. */
  refresh(key: ActorId, isOpen: boolean): void {
    const context = this.#contextOf(key);
    if (context === null) {
      this.#ports.allocator.withdraw(key);
      this.#told.delete(key);
      return;
    }
    if (isOpen) this.#takeOwn(context);
    const wish = groupWish(context);
    if (isOpen) this.#ask(key);
    if (wish === null && this.#unseen(context)) return;
    const fact = wish === null ? NOTHING : isOpen ? this.#chosen(key, context, wish) : { ...NOTHING, refusal: GROUPS_UNSEEN };
    const text = JSON.stringify([fact.offer, fact.refusal]);
    const { offer = null, refusal = null } = context.exposed ?? {};
    const isHeard = JSON.stringify([offer, refusal]) === text;
    if (isHeard) this.#told.delete(key);
    if (isHeard || this.#told.get(key) === text) return;
    this.#told.set(key, text);
    this.#ports.cells.tell(key, fact);
  }

  /** The holder for the allocator: an address of a former RoutedIP of that name is this one's only if it was kept. */
  holderOf(ip: ReservedIP): ActorId {
    const key = routedActor(ip);
    const ref = this.#contextOf(key)?.ref;
    return ref && (isHeldBy(ip, ref) || isKeptFor(ip, ref)) ? key : `${key}/${ip.owner?.uid}`;
  }

  /** No actor is left to free it: its RoutedIP is gone, or seems so, and was released by hand. */
  isOrphan(ip: ReservedIP): boolean {
    const key = routedActor(ip);
    const uid = this.#ports.uidOf(key);
    return ip.reclaim === 'Delete' && uid !== undefined && uid !== ip.owner?.uid && this.#contextOf(key)?.ref.uid !== ip.owner?.uid;
  }

  #ask(key: ActorId): void {
    const context = this.#contextOf(key);
    const asked = context && groupWish(context);
    const wish = context && (asked ?? this.#unseen(context));
    // It may be about to reserve its offer, or have done so.
    const barred = context && asked && !context.exposed?.offer ? this.#ports.openness.barredFor(context.ref.namespace) : [];
    if (wish) this.#ports.allocator.ask({ ...wish, key, family: 4, ...(barred.length > 0 && { barred }) });
    else this.#ports.allocator.withdraw(key);
  }

  /** It has its address, but no watch has shown the IP object yet, or that was deleted by hand: no other request may be offered the same. */
  #unseen({ spec, exposed, deleted, since }: PoolContext): GroupWish | null {
    const { bound = null, deleting = false } = exposed ?? {};
    const group = spec?.exposes?.group;
    if (!group || bound === null || deleted || deleting || this.#ports.seen.ips.has(ipNameOf(bound))) return null;
    return { group: group.name, address: bound, preferred: [bound], since };
  }

  #takeOwn({ ref }: PoolContext): void {
    const { seen, allocator } = this.#ports;
    const owner = { namespace: ref.namespace, name: ref.name, uid: ref.uid };
    for (const ip of seen.ownedBy(ownerActor({ owner, legacy: false, reclaim: 'Delete' }) ?? ''))
      allocator.take(ip.address, this.holderOf(ip), ip.group);
  }

  #chosen(key: ActorId, { ref }: PoolContext, wish: GroupWish): Fact {
    const verdict = this.#ports.allocator.verdict(key);
    if (verdict === null) return NOTHING;
    const offer: GroupOffer | null = verdict.kind === 'offered' ? { address: verdict.address, group: verdict.group } : null;
    const why = this.#ports.openness.why(wish.group, ref.namespace);
    const barred: GroupRefusal | null = why === null ? null : { reason: 'NamespaceNotSelected', message: why };
    const refusal = offer ? null : (barred ?? groupRefusal(wish, this.#groupOf(wish.group)));
    return { type: 'GROUP_OBSERVED', offer, refusal };
  }

  #groupOf(name: string): ReturnType<typeof parseGroup> | null {
    const object = this.#ports.seen.groups.get(name);
    return object ? parseGroup(name, object.spec) : null;
  }

  #contextOf(key: ActorId): PoolContext | null {
    return poolContextIn(this.#ports.cells.recordsOf(key), key) ?? null;
  }
}

/** The actor of the RoutedIP that an address is reserved for, or was. */
export const routedActor = ({ owner }: ReservedIP): ActorId =>
  actorOf({ kind: 'RoutedIP', namespace: owner?.namespace ?? '', name: owner?.name ?? '' });
