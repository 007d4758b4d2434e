import type { ActorId, Address } from '../../machines/model/types.ts';
import { compareAddresses, type InvalidGroup, isSameGroup, type ParsedGroup } from '../../machines/vip/ip-group.ts';
import type { Refusal } from '../../machines/vip/request.ts';
import { type GroupFigures, GroupIndex, type Hold, type Place } from './group-index.ts';
import { formerPlaceFor, isServedBy, ownPlaceFor, placeFor, refusalOf } from './placement.ts';
import { SortedMap } from './sorted-map.ts';
import { byAge, type Queue, type VipRequest, Waiting } from './wait-queue.ts';

/** The outcome of a request. `offered`: the address belongs to no other request, and stays this request's until it is withdrawn, asks for something else, or an IP object of
 *  another owner shows that the address was lost. `group` goes into the IP object. */
export type Verdict = ({ readonly kind: 'offered' } & Place) | Refusal;

/** An existing IP object. */
interface Taken {
  readonly owner: ActorId | null;
  readonly group: string | null;
}

interface Entry {
  readonly request: VipRequest;
  offer: Place | null;
  /** The verdict last reported by `changed`. */
  told: Verdict | null;
}

/** Offers every waiting Service one address. In memory only, made of facts that may be repeated: existing IPGroups and IP objects, and requests.
 *
 *  The mutating methods only note the fact; what follows from all noted facts is decided on the next read. So the order of facts between two reads
 *  does not matter, and after a start all facts must be given before the first read. What was offered by then stays offered:
 *  a group that shrinks or goes takes nothing away, not even an offer. To have an offer decided again, withdraw the request and ask again.
 *
 *  By the rule of `machines/model/precedence.ts`: a holder keeps its address, and age decides among the others. In this order: 1. The owner of an IP object that serves its
 *  request has that address. 2. A Service whose ingress lists an address gets it if it is free and serves its request,
 *  before others may have it (a restart must not give away what carries traffic). 3. All others by age, the oldest first; groups by name, in a group the lowest address.
 *  A request for one address is never served by another one, one pinned to a group never from another group. */
export class Allocator {
  readonly #groups = new GroupIndex();
  readonly #waiting = new Waiting();
  readonly #entries = new Map<ActorId, Entry>();
  readonly #taken = new Map<Address, Taken>();
  readonly #owned = new Map<ActorId, Set<Address>>();
  readonly #offers = new Map<Address, ActorId>();
  /** Noted, not decided yet. */
  readonly #fresh = new Set<ActorId>();
  readonly #touched = new Set<Address>();
  #reshaped: ParsedGroup[] = [];
  readonly #regrouped = new Set<string>();
  /** Requests whose verdict may have changed since `changed` was last read. */
  readonly #stirred = new Set<ActorId>();

  /** Adds or replaces an IPGroup. Nothing is taken from an Invalid one. */
  putGroup(group: ParsedGroup | InvalidGroup): void {
    const before = this.#groups.get(group.name);
    if (before && isSameGroup(before, group)) return;
    this.#reshape(group.name);
    this.#groups.put(group);
    this.#reshape(group.name);
  }

  removeGroup(name: string): void {
    this.#reshape(name);
    this.#groups.remove(name);
  }

  /** An IP object exists. `owner` is null when no actor of ours made it; `group` is its label. */
  take(address: Address, owner: ActorId | null, group: string | null = null): void {
    const before = this.#taken.get(address);
    if (before?.owner === owner && before.group === group) return;
    this.give(address);
    this.#taken.set(address, { owner, group });
    if (owner === null) return;
    this.#owned.set(owner, (this.#owned.get(owner) ?? new Set()).add(address));
    this.#fresh.add(owner);
  }

  /** No IP object of this address exists. */
  give(address: Address): void {
    const owner = this.#taken.get(address)?.owner ?? null;
    this.#taken.delete(address);
    this.#touched.add(address);
    if (owner === null) return;
    const owned = this.#owned.get(owner);
    owned?.delete(address);
    if (owned?.size === 0) this.#owned.delete(owner);
    this.#fresh.add(owner);
  }

  /** A Service waits for an address, or has an offer. Repeating the same request changes nothing; a different one keeps the offer if that still serves it. */
  ask(request: VipRequest): void {
    const { key } = request;
    const before = this.#entries.get(key);
    if (before && isSame(before.request, request)) return;
    if (before) this.#waiting.remove(before.request);
    const entry: Entry = { request, offer: before?.offer ?? null, told: before?.told ?? null };
    this.#entries.set(key, entry);
    this.#fresh.add(key);
    this.#stirred.add(key);
    if (entry.offer && !isServedBy(request, entry.offer)) this.#dropOffer(entry);
    if (entry.offer === null) this.#waiting.add(request);
  }

  /** The Service no longer asks. Harmless when it did not. */
  withdraw(key: ActorId): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#waiting.remove(entry.request);
    this.#dropOffer(entry);
    this.#entries.delete(key);
    this.#stirred.delete(key);
  }

  /** Null when it did not ask. */
  verdict(key: ActorId): Verdict | null {
    this.#decide();
    const entry = this.#entries.get(key);
    return entry ? this.#verdictOf(entry) : null;
  }

  /** Requests whose verdict has changed since the last read of this, the oldest first. The first verdict counts as a change. */
  changed(): readonly ActorId[] {
    this.#decide();
    const changed: VipRequest[] = [];
    for (const key of this.#stirred) {
      const entry = this.#entries.get(key);
      const verdict = entry && this.#verdictOf(entry);
      if (!entry || !verdict || isSameVerdict(verdict, entry.told)) continue;
      entry.told = verdict;
      changed.push(entry.request);
    }
    this.#stirred.clear();
    return changed.sort(byAge).map(({ key }) => key);
  }

  /** Null when nothing is taken from a group of this name: there is none, or it is Invalid. */
  figures(group: string): GroupFigures | null {
    this.#decide();
    return this.#groups.figures(group);
  }

  /** Whether the address is in the segment of a usable group, or has an IP object. */
  knows(address: Address): boolean {
    return this.#taken.has(address) || this.#groups.around(address).length > 0;
  }

  /** For each group that overlaps others, their names, ascending. */
  overlaps(): ReadonlyMap<string, readonly string[]> {
    return this.#groups.overlaps();
  }

  #reshape(name: string): void {
    const group = this.#groups.valid(name);
    if (group) this.#reshaped.push(group);
    this.#regrouped.add(name);
  }

  /** Schedules a decision whether the owner is served by its address. */
  #wake(owner: ActorId | null): void {
    if (owner !== null) this.#fresh.add(owner);
  }

  #decide(): void {
    if (this.#fresh.size + this.#touched.size + this.#regrouped.size === 0) return;
    for (const address of this.#touched) this.#loseToOther(address);
    for (const address of this.#reshaped.flatMap((group) => this.#groups.reservedIn(group)))
      this.#wake(this.#taken.get(address)?.owner ?? null);
    for (const key of this.#fresh) this.#adopt(key);
    const freed = [...this.#touched].filter((address) => this.#groups.hold(address, this.#holdOf(address)));
    const { queues, returning } = this.#hopeful(freed);
    this.#fresh.clear();
    this.#touched.clear();
    this.#regrouped.clear();
    this.#reshaped = [];
    this.#giveBack(returning);
    this.#serve(queues);
  }

  /** An IP object of another owner ends the offer; its request waits again, in its old place. */
  #loseToOther(address: Address): void {
    const holder = this.#offers.get(address);
    const taken = this.#taken.get(address);
    if (holder === undefined || taken === undefined || taken.owner === holder) return;
    const entry = this.#entries.get(holder);
    if (entry) this.#waitAgain(entry);
  }

  #waitAgain(entry: Entry): void {
    this.#dropOffer(entry);
    this.#waiting.add(entry.request);
    this.#fresh.add(entry.request.key);
    this.#stirred.add(entry.request.key);
  }

  /** The owner of an address that serves its request gets it, in place of any other offer not reserved yet. A reserved address is judged by its IP object, as the next leader
   *  will do: the group that it was offered from no longer counts. */
  #adopt(key: ActorId): void {
    const entry = this.#entries.get(key);
    const owned = this.#owned.get(key);
    if (!entry || !owned) return;
    const { preferred } = entry.request;
    const rank = (address: Address): number => (preferred.includes(address) ? preferred.indexOf(address) : preferred.length);
    const label = (address: Address): string | null => this.#taken.get(address)?.group ?? null;
    const places = [...owned].flatMap((address) => ownPlaceFor(this.#groups, entry.request, address, label(address)) ?? []);
    if (places.some(({ address }) => address === entry.offer?.address)) return;
    const [place] = places.sort((a, b) => rank(a.address) - rank(b.address) || compareAddresses(a.address, b.address));
    if (place) this.#offer(entry, place);
    else if (entry.offer && owned.has(entry.offer.address)) this.#waitAgain(entry);
  }

  /** The queues and requests that the noted facts may serve, or give another refusal. */
  #hopeful(freed: readonly Address[]): { readonly queues: ReadonlySet<Queue>; readonly returning: SortedMap<VipRequest, null> } {
    const queues = new Set<Queue>();
    const returning = new SortedMap<VipRequest, null>(byAge);
    const addAll = (more: Iterable<Queue>): void => {
      for (const queue of more) queues.add(queue);
    };
    const pins = new Set(this.#regrouped);
    for (const address of freed) for (const name of this.#groups.around(address)) pins.add(name);
    if (pins.size > 0) addAll(this.#waiting.forAny(null));
    for (const pin of pins) addAll(this.#waiting.forAny(pin));
    for (const pin of this.#regrouped) addAll(this.#waiting.forSpecificOf(pin));
    for (const address of [...freed, ...this.#reshaped.flatMap((group) => this.#waiting.addressesIn(group))]) {
      addAll(this.#waiting.forAddress(address));
      for (const request of this.#waiting.preferring(address)) returning.set(request, null);
    }
    for (const key of this.#fresh) {
      const entry = this.#entries.get(key);
      const queue = entry?.offer === null ? this.#waiting.queueOf(entry.request) : null;
      if (!entry || !queue) continue;
      queues.add(queue);
      returning.set(entry.request, null);
    }
    return { queues, returning };
  }

  /** Gives former addresses back where they are free, to the oldest request first. */
  #giveBack(returning: SortedMap<VipRequest, null>): void {
    for (const request of returning.keys()) {
      const entry = this.#entries.get(request.key);
      const place = entry?.offer === null ? formerPlaceFor(this.#groups, request) : null;
      if (entry && place) this.#offer(entry, place);
    }
  }

  /** Serves the oldest request of all queues first. Nothing becomes free meanwhile: a queue whose oldest is not served is done. */
  #serve(queues: ReadonlySet<Queue>): void {
    const oldest = new SortedMap<VipRequest, Queue>(byAge);
    const enter = (queue: Queue): void => {
      const head = queue.requests.first();
      if (head) oldest.set(head[0], queue);
    };
    for (const queue of queues) enter(queue);
    for (let next = oldest.first(); next !== null; next = oldest.first()) {
      const [request, queue] = next;
      oldest.delete(request);
      const entry = this.#entries.get(request.key);
      const place = placeFor(this.#groups, request);
      if (entry && place) {
        this.#offer(entry, place);
        enter(queue);
      } else this.#refuse(queue);
    }
  }

  #offer(entry: Entry, place: Place): void {
    this.#dropOffer(entry);
    this.#waiting.remove(entry.request);
    entry.offer = place;
    this.#offers.set(place.address, entry.request.key);
    this.#groups.hold(place.address, this.#holdOf(place.address));
    this.#stirred.add(entry.request.key);
  }

  #refuse(queue: Queue): void {
    const refused = refusalOf(this.#groups, queue);
    if (queue.refusal !== null && isSameVerdict(queue.refusal, refused)) return;
    queue.refusal = refused;
    for (const { key } of queue.requests.keys()) this.#stirred.add(key);
  }

  #dropOffer(entry: Entry): void {
    if (entry.offer === null) return;
    this.#offers.delete(entry.offer.address);
    this.#touched.add(entry.offer.address);
    entry.offer = null;
  }

  #holdOf(address: Address): Hold | null {
    if (this.#taken.has(address)) return 'reserved';
    return this.#offers.has(address) ? 'offered' : null;
  }

  #verdictOf({ request, offer }: Entry): Verdict | null {
    return offer ? { kind: 'offered', ...offer } : (this.#waiting.queueOf(request)?.refusal ?? null);
  }
}

const isSame = (a: VipRequest, b: VipRequest): boolean => JSON.stringify(fieldsOf(a)) === JSON.stringify(fieldsOf(b));
const fieldsOf = ({ address, group, family, barred, preferred, since }: VipRequest) => [address, group, family, barred, preferred, since];

function isSameVerdict(a: Verdict, b: Verdict | null): boolean {
  if (a.kind === 'offered') return b?.kind === 'offered' && a.address === b.address && a.group === b.group;
  return b?.kind === 'refused' && a.message === b.message;
}
