import { isPromised, isReceiving, mayNeed } from '../../machines/migration/pending-owner.ts';
import { formerVirtualIPActor, isRoutedIP, isVip, isVirtualIP, vipActor, virtualIPActor } from '../../machines/model/actor-id.ts';
import { familyOf, parseAddress } from '../../machines/model/address.ts';
import { namespaceOf } from '../../machines/model/namespaces.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { ServiceObserved, VipContext, VipRefusal, VipTarget } from '../../machines/vip/decisions.ts';
import { parseGroup } from '../../machines/vip/ip-group.ts';
import { type IPGroupObject, ipNameOf, type ReservedIP, type VipService } from '../../machines/vip/objects.ts';
import { requestOf, unseen, type VipWish } from '../../machines/vip/request.ts';
import type { VirtualIP } from '../../machines/vip/virtualip.ts';
import { type Namespaces, NO_NAMESPACES } from '../ports/namespaces.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import { Allocator } from './allocator.ts';
import { contendedByGroup } from './contended-services.ts';
import type { VipAnnouncer } from './events.ts';
import type { GroupView } from './group-status.ts';
import type { VirtualIPDesk } from './migration-controller.ts';
import { type ObservedVips, ownerActor } from './object-cache.ts';
import { GroupOpenness } from './openness.ts';
import { otherWriting } from './other-writing.ts';
import { asWritten, best, ofItsOwn, targetOf } from './own-addresses.ts';
import { RoutedDesk, type RoutedIPOf, routedActor } from './routedip-allocation.ts';

export interface DeskPorts {
  readonly seen: ObservedVips;
  readonly cells: Pick<Cells, 'all' | 'begin' | 'isOpen' | 'tell' | 'recordsOf'>;
  /** VirtualIPs migrated to Services; null where they are not handled. */
  readonly virtualIPs: VirtualIPDesk | null;
  readonly routedIP: RoutedIPOf;
  readonly announcer: Pick<VipAnnouncer, 'stands'>;
  readonly namespaces?: Namespaces | undefined;
}

type Fact = Omit<ServiceObserved, 'at'>;

/** Chooses the addresses of all Services for one term of leadership, and sends each Service's actor its facts and the chosen one. The choice lives in memory only: a chosen
 *  address is in the record of the actor that reserves it, and a reserved one is in the cluster. */
export class VipDesk {
  readonly virtualIPs: VirtualIPDesk | null;
  readonly #seen: ObservedVips;
  readonly #cells: DeskPorts['cells'];
  readonly #allocator = new Allocator();
  /** Last fact sent, as text, so that none is sent twice. */
  readonly #told = new Map<ActorId, string>();
  /** The last fact sent to each actor that has ended since: a cache may still show it, and nothing is left to do about it. */
  readonly #ended = new Map<ActorId, string>();
  readonly #routed: RoutedDesk;
  readonly #announcer: DeskPorts['announcer'];
  readonly #openness: GroupOpenness;
  /** By group, its namespace selector at the last look. */
  readonly #selectors = new Map<string, string>();
  #isOpen = false;
  /** There was no group at the last look. */
  #hadNone = true;

  constructor({ seen, cells, virtualIPs, routedIP, announcer, namespaces = NO_NAMESPACES }: DeskPorts) {
    this.#openness = new GroupOpenness(seen, namespaces);
    this.#announcer = announcer;
    this.virtualIPs = virtualIPs;
    this.#seen = seen;
    this.#cells = cells;
    this.#routed = new RoutedDesk({ seen, cells, allocator: this.#allocator, uidOf: routedIP, openness: this.#openness });
  }

  /** Everything may be known now: once it is, and the records are taken over, addresses are chosen. First those that were chosen before this term began, then for Services
   *  that list an address already, then the oldest. */
  open(): void {
    if (!this.#cells.isOpen) return;
    if (this.#isOpen || !this.#seen.synced) {
      for (const key of this.#routed.keys) this.#routed.refresh(key, this.#isOpen);
      return;
    }
    this.#isOpen = true;
    for (const group of this.#seen.groups.values()) {
      this.#allocator.putGroup(parseGroup(group.ref.name, group.spec));
      this.#selectors.set(group.ref.name, this.#openness.selectorOf(group.ref.name));
    }
    for (const ip of this.#seen.ips.values()) this.#allocator.take(ip.address, this.#holderOf(ip), ip.group);
    this.#keepChosen();
    this.#hadNone = this.#seen.groups.size === 0;
    this.#refreshByNeed();
    for (const key of [...this.#seen.owners, ...this.#cells.all.keys()]) if (isVip(key)) this.#refresh(key);
    for (const key of this.#routed.keys) this.#routed.refresh(key, true);
    this.#refreshChanged();
    this.virtualIPs?.open();
  }

  /** Sends everything again. */
  resync(): void {
    if (!this.#cells.isOpen) return;
    if (this.#isOpen) {
      this.#told.clear();
      this.#ended.clear();
      for (const key of this.#keys()) this.#refresh(key);
    }
    for (const key of this.#routed.keys) this.#routed.refresh(key, this.#isOpen);
    if (this.#isOpen) this.#refreshChanged();
    this.virtualIPs?.resync();
  }

  serviceChanged(key: ActorId): void {
    if (!this.#isOpen) return;
    this.#refresh(key);
    this.#refreshChanged();
  }

  /** A turn of the RoutedIP was saved, or it has ended. */
  routedIPChanged(key: ActorId): void {
    if (!this.#cells.isOpen) return;
    this.#routed.refresh(key, this.#isOpen);
    if (this.#isOpen) this.#refreshChanged();
  }

  groupChanged(name: string, group: IPGroupObject | null): void {
    if (!this.#isOpen) return;
    if (group) this.#allocator.putGroup(parseGroup(name, group.spec));
    else this.#allocator.removeGroup(name);
    const hadNone = this.#hadNone;
    this.#hadNone = this.#seen.groups.size === 0;
    // The first group starts the work for Services that were left to others, and the end of the last one ends it.
    if (hadNone !== this.#hadNone) this.#refreshByNeed();
    const selector = this.#openness.selectorOf(name);
    if (selector !== (this.#selectors.get(name) ?? '""')) this.namespaceChanged(null);
    this.#selectors.set(name, selector);
    this.#refreshChanged();
    this.virtualIPs?.resync();
  }

  /** The groups open to the namespace may have changed; null for any namespace. */
  namespaceChanged(namespace: string | null): void {
    if (!this.#isOpen) return;
    for (const [key, { ref }] of this.#seen.services) if (namespace === null || ref.namespace === namespace) this.#refresh(key);
    for (const key of this.#routed.keys) if (namespace === null || namespaceOf(key) === namespace) this.#routed.refresh(key, true);
    this.#refreshChanged();
  }

  /** An IP has changed, is new, or is gone. */
  ipChanged(before: ReservedIP | null, after: ReservedIP | null): void {
    if (!this.#isOpen) return;
    if (before && before.address !== after?.address) this.#allocator.give(before.address);
    if (after) this.#allocator.take(after.address, this.#holderOf(after), after.group);
    const concerned = [before, after].flatMap((ip) => (ip ? [ownerActor(ip), ...this.#seen.listing(ip.address)] : []));
    for (const key of new Set(concerned)) if (key !== null && isVip(key)) this.#refresh(key);
    for (const ip of [before, after]) if (ip?.reclaim) this.#routed.refresh(routedActor(ip), true);
    this.#refreshChanged();
    for (const ip of [before, after]) if (ip) this.virtualIPs?.ipChanged(ip);
  }

  /** A VirtualIP has changed, is new, or is gone: its Services may get other addresses now. */
  virtualIPChanged(key: ActorId, before: VirtualIP | null, after: VirtualIP | null): void {
    if (!this.#isOpen) return;
    const services = [before, after].flatMap((vip) => (vip ? [vip.status.service, vip.service].map((name) => ({ ...vip.ref, name })) : []));
    for (const service of new Set(services.map(vipActor))) this.#refresh(service);
    for (const vip of [before, after]) if (vip) this.#refresh(formerVirtualIPActor(vip.ref));
    this.#refreshChanged();
    this.virtualIPs?.changed(key);
  }

  /** All VirtualIPs are known: they now say which of them are being migrated, no longer the annotations of Services. */
  virtualIPsSeen(): void {
    if (!this.#isOpen) return;
    for (const [key, { migrating }] of this.#seen.services) if (migrating !== undefined) this.#refresh(key);
    for (const ip of this.#seen.ips.values()) if (ip.legacy && ip.owner) this.#refresh(formerVirtualIPActor(ip.owner));
    this.#refreshChanged();
    this.virtualIPs?.open();
  }

  /** The groups as used now; empty before this is open. */
  groups(): readonly GroupView[] {
    if (!this.#isOpen) return [];
    const overlaps = this.#allocator.overlaps();
    return [...this.#seen.groups.values()].map((object) => {
      const { name } = object.ref;
      const group = parseGroup(name, object.spec);
      return { object, group, figures: this.#allocator.figures(name), overlaps: overlaps.get(name) ?? [] };
    });
  }

  /** The Services left to another controller, by the group whose address they have, or would get. */
  contended(): ReadonlyMap<string, readonly string[]> {
    return contendedByGroup(this.#seen, this.#openness, (key) => this.#savedOf(key));
  }

  /** The actor has ended: nothing was left of its object. Another object may have the name. */
  gone(key: ActorId, uid: string | null): void {
    if (isVirtualIP(key)) {
      this.virtualIPs?.ended(key, uid);
      return;
    }
    const told = this.#told.get(key);
    if (told !== undefined) this.#ended.set(key, told);
    this.#told.delete(key);
    this.#allocator.withdraw(key);
    this.serviceChanged(key);
  }

  /** Keeps an address that an actor is about to reserve, or has reserved unseen, from all others. */
  #keepChosen(): void {
    for (const key of this.#cells.all.keys()) {
      const service = this.#seen.services.get(key);
      const wish = isVip(key) && service ? wishOf(service) : null;
      const target = this.#savedOf(key)?.target;
      if (wish && target && !this.#satisfied(wish, this.#ownedBy(key, service))) {
        this.#allocator.ask({ ...wish, key, preferred: [target.address, ...wish.preferred] });
      }
    }
    this.#routed.askAll();
    // Decided before any request asks by its own preference.
    this.#allocator.figures('');
  }

  #refreshByNeed(): void {
    for (const [key] of [...this.#seen.services].sort(([, a], [, b]) => byNeed(a, b))) this.#refresh(key);
  }

  #refreshChanged(): void {
    for (let changed = this.#allocator.changed(); changed.length > 0; changed = this.#allocator.changed()) {
      for (const key of changed) {
        if (isRoutedIP(key)) this.#routed.refresh(key, true);
        else this.#refresh(key);
      }
    }
  }

  /** The holder for the allocator: an address of a former Service of that name is not this one's. */
  #holderOf(ip: ReservedIP): ActorId | null {
    if (ip.reclaim) return this.#routed.holderOf(ip);
    const key = ownerActor(ip);
    const service = key === null ? undefined : this.#seen.services.get(key);
    return service && ofItsOwn([ip], service).length === 0 ? `${key}/${ip.owner?.uid}` : key;
  }

  #refresh(key: ActorId): void {
    for (const ip of this.#seen.ownedBy(key)) this.#allocator.take(ip.address, this.#holderOf(ip), ip.group);
    const fact = this.#factOf(key);
    const { service, owned } = fact;
    const ref = service?.ref ?? refOf(owned);
    const text = JSON.stringify(fact);
    if (!this.#cells.all.has(key)) {
      if (this.#ended.get(key) === text) return;
      this.#ended.delete(key);
      if (!ref || (service && !fact.usurps && this.#isNothingToUs(service, owned))) return;
      this.#cells.begin('vip-service', key, { id: key, ref });
    }
    if (this.#told.get(key) === text) return;
    this.#told.set(key, text);
    this.#cells.tell(key, fact);
    this.#announcer.stands(this.#savedOf(key), fact.refusal);
  }

  #factOf(key: ActorId): Fact {
    const seen = this.#seen.services.get(key) ?? null;
    const owned = this.#ownedBy(key, seen ?? undefined);
    const usurps = this.#seen.usurps(key) && !(seen && this.#isReceiving(seen));
    // Without a group we leave it to no other controller: once its condition Contended is gone, it does not concern us.
    const isOthers = seen !== null && isWanting(seen) && !usurps && this.#isOthers(seen, owned);
    const service = isOthers && seen.contended === undefined ? null : seen;
    const other = service && !isOthers ? this.#otherWriting(service) : {};
    return { type: 'SERVICE_OBSERVED', service, owned, ...this.#choose(key, service, owned), usurps, ...other };
  }

  #savedOf(key: ActorId): VipContext | undefined {
    return this.#cells.recordsOf(key)?.get(key)?.snapshot.context as unknown as VipContext | undefined;
  }

  #choose(key: ActorId, service: VipService | null, owned: readonly ReservedIP[]): Pick<Fact, 'target' | 'refusal'> {
    const request = service && isWanting(service) ? requestOf(service) : null;
    if (!service || request?.kind !== 'wish') this.#allocator.withdraw(key);
    if (!service || !request) return { target: null, refusal: null };
    // What is chosen stays chosen. A cache may not show our own last writes yet: going by it alone would make us chase them.
    const saved = this.#savedOf(key);
    const left = saved ? asWritten(owned, saved).filter(({ uid }) => !this.#isBeingFreed(key, saved, uid)) : owned;
    const own = ofItsOwn(left, service);
    const current = best(own, service);
    if (this.#isLeft(service, own)) {
      this.#allocator.withdraw(key);
      return { target: null, refusal: null };
    }
    if (request.kind === 'refused') return { target: current, refusal: plain(request) };
    const satisfied = this.#satisfied(
      saved?.target ? { ...request, preferred: [saved.target.address, ...request.preferred] } : request,
      own,
    );
    if (satisfied) {
      this.#allocator.withdraw(key);
      return { target: satisfied, refusal: null };
    }
    if (this.#isReceiving(service)) {
      this.#allocator.withdraw(key);
      return { target: current, refusal: this.#unseenOf(service) };
    }
    const barred = this.#openness.barredFor(service.ref.namespace);
    this.#allocator.ask({ ...request, key, ...(barred.length > 0 && { barred }) });
    const verdict = this.#allocator.verdict(key);
    if (verdict?.kind === 'offered') return { target: { address: verdict.address, group: verdict.group }, refusal: null };
    return { target: current, refusal: verdict && plain(verdict) };
  }

  /** It is being given up: a request for it meanwhile is one for an address without a holder. */
  #isBeingFreed(key: ActorId, { freeing }: VipContext, uid: string): boolean {
    return freeing.includes(uid) && this.#cells.recordsOf(key)?.get(key)?.waiting.free !== undefined;
  }

  /** It has an address that is not ours, and there is nothing to give: a cloud's load balancer serves it, in a cluster where only the definitions were installed. */
  #isOthers({ guarded, ingress }: VipService, own: readonly ReservedIP[]): boolean {
    return this.#seen.groups.size === 0 && own.length === 0 && !guarded && ingress.length > 0;
  }

  /** It has an address from another controller, and never had one of ours: nothing is chosen for it. */
  #isLeft(service: VipService, own: readonly ReservedIP[]): boolean {
    return this.#isOthers(service, own) || (own.length === 0 && this.#otherWriting(service).foreign === true);
  }

  #otherWriting(service: VipService): ReturnType<typeof otherWriting> {
    return otherWriting(service, (address) => this.#allocator.knows(address));
  }

  /** Nothing of ours is on it, and nothing has to be done for it. */
  #isNothingToUs(service: VipService, owned: readonly ReservedIP[]): boolean {
    const isBare = owned.length === 0 && !service.guarded && service.contended === undefined;
    return isBare && (!isWanting(service) || this.#isOthers(service, owned));
  }

  /** It gets its address from a VirtualIP, which is not observed as its own yet: no other one is reserved for it meanwhile. */
  #isReceiving(service: VipService): boolean {
    const { allVirtualIPs, ips } = this.#seen;
    const ipOf = (text: string): ReservedIP | null => {
      const address = parseAddress(text);
      return (address && ips.get(ipNameOf(address))) ?? null;
    };
    return isReceiving(service, allVirtualIPs, ipOf);
  }

  #unseenOf({ migrating }: VipService): VipRefusal | null {
    return this.#seen.allVirtualIPs === null && migrating !== undefined ? plain(unseen(migrating)) : null;
  }

  /** A RoutedIP or a VirtualIP handles what is reserved for it while it exists, or may exist. What a VirtualIP has besides the address that it names came late. */
  #isForsaken(ip: ReservedIP): boolean {
    if (ip.reclaim) return this.#routed.isOrphan(ip);
    if (!ip.legacy || ip.owner === null) return true;
    const vip = this.#seen.virtualIPs.get(virtualIPActor(ip.owner));
    return this.#seen.virtualIPsSynced && !(vip && mayNeed(vip, ip));
  }

  #isBeingMigrated(ip: ReservedIP): boolean {
    return ip.owner?.uid === null && isPromised(ip, null, [...this.#seen.virtualIPs.values()]);
  }

  /** The Service's own address that satisfies its request; null for none. */
  #satisfied({ address, group, family, preferred }: VipWish, own: readonly ReservedIP[]): VipTarget | null {
    const fitting = own.filter(
      (ip) =>
        (address === null || ip.address === address) &&
        (group === null || ip.group === group) &&
        (address !== null || family === null || familyOf(ip.address) === family),
    );
    const [first] = fitting;
    const found = preferred.flatMap((each) => fitting.find((ip) => ip.address === each) ?? [])[0] ?? first;
    return found ? targetOf(found) : null;
  }

  /** Lowest address first, as text: the order only has to be stable. What a VirtualIP has handed over belongs to the migration alone until that is over. */
  #ownedBy(key: ActorId, service: VipService | undefined): readonly ReservedIP[] {
    const all = this.#seen.ownedBy(key).filter((ip) => this.#isForsaken(ip) && !this.#isBeingMigrated(ip));
    const owned = [...all].sort((a, b) => (a.name < b.name ? -1 : 1));
    return service ? [...ofItsOwn(owned, service), ...owned.filter((ip) => !ofItsOwn([ip], service).length)] : owned;
  }

  #keys(): ReadonlySet<ActorId> {
    return new Set([...this.#seen.services.keys(), ...[...this.#seen.owners].filter(isVip), ...[...this.#cells.all.keys()].filter(isVip)]);
  }
}

const isWanting = ({ wanting, deleting }: VipService): boolean => wanting && !deleting;

const wishOf = (service: VipService): VipWish | null => {
  const request = isWanting(service) ? requestOf(service) : null;
  return request?.kind === 'wish' ? request : null;
};

const plain = ({ reason, message }: VipRefusal): VipRefusal => ({ reason, message });

/** Services that list an address before those that list none, then by age. */
const byNeed = (a: VipService, b: VipService): number =>
  Number(b.ingress.length > 0) - Number(a.ingress.length > 0) || a.createdAt - b.createdAt || (vipActor(a.ref) < vipActor(b.ref) ? -1 : 1);

/** The missing owner for which an address is reserved. */
const refOf = ([ip]: readonly ReservedIP[]): VipService['ref'] | null => {
  if (!ip?.owner) return null;
  const { namespace, name, uid } = ip.owner;
  return { kind: ip.reclaim ? 'RoutedIP' : ip.legacy ? 'VirtualIP' : 'Service', namespace, name, uid: uid ?? '' };
};
