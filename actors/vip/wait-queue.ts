import { byAge as oldestFirst } from '../../machines/model/precedence.ts';
import type { ActorId, Address, Family } from '../../machines/model/types.ts';
import { addressOf, located, type ParsedGroup } from '../../machines/vip/ip-group.ts';
import type { Refusal, VipWish } from '../../machines/vip/request.ts';
import { byNumber, SortedMap } from './sorted-map.ts';

/** A Service's request, with its actor. */
export interface VipRequest extends Omit<VipWish, 'kind'> {
  readonly key: ActorId;
}

/** Order in every queue: the oldest first; of one age the lower key. */
export const byAge = (a: VipRequest, b: VipRequest): number => oldestFirst({ since: a.since, tie: a.key }, { since: b.since, tie: b.key });

/** Requests that only the same addresses can serve: when the oldest of them cannot be served, no other can. */
export interface Queue extends Pick<VipRequest, 'address' | 'group' | 'family' | 'barred'> {
  readonly requests: SortedMap<VipRequest, null>;
  /** Why none of them is served; null until it has been tried. */
  refusal: Refusal | null;
}

/** The requests that have no address yet, by what they wait for. */
export class Waiting {
  readonly #queues = new Map<string, Queue>();
  /** Queues for one address, and requests that had it before, by address: each O(log n) to find. */
  readonly #specific = byFamily<Set<Queue>>();
  readonly #preferring = byFamily<Set<VipRequest>>();
  /** Queues for any address, and for one address, by the group that they are pinned to. */
  readonly #any = new Map<string | null, Set<Queue>>();
  readonly #specificOf = new Map<string | null, Set<Queue>>();

  add(request: VipRequest): Queue {
    const queue = this.#queues.get(idOf(request)) ?? this.#open(request);
    queue.requests.set(request, null);
    for (const address of request.preferred) put(this.#preferring, address, request);
    return queue;
  }

  /** Harmless when it does not wait. */
  remove(request: VipRequest): void {
    const queue = this.#queues.get(idOf(request));
    if (queue === undefined) return;
    queue.requests.delete(request);
    for (const address of request.preferred) drop(this.#preferring, address, request);
    if (queue.requests.size === 0) this.#close(queue);
  }

  queueOf(request: VipRequest): Queue | null {
    return this.#queues.get(idOf(request)) ?? null;
  }

  /** The queues that wait for this address and no other. */
  forAddress(address: Address): Iterable<Queue> {
    return at(this.#specific, address) ?? [];
  }

  /** The queues that wait for any address, or for any of the group. */
  forAny(pin: string | null): Iterable<Queue> {
    return this.#any.get(pin) ?? [];
  }

  /** The queues that wait for one address, of this group only. */
  forSpecificOf(pin: string): Iterable<Queue> {
    return this.#specificOf.get(pin) ?? [];
  }

  /** The requests whose Service had this address. */
  preferring(address: Address): Iterable<VipRequest> {
    return at(this.#preferring, address) ?? [];
  }

  /** The addresses of the segment that a request waits for, or had. */
  addressesIn({ family, first, last }: ParsedGroup): readonly Address[] {
    const numbers = [this.#specific[family].between(first, last), this.#preferring[family].between(first, last)]
      .flat()
      .map(([number]) => number);
    return numbers.map((number) => addressOf(number, family));
  }

  #open({ address, group, family, barred }: VipRequest): Queue {
    const queue = {
      ...(barred && { barred }),
      address,
      group,
      family: address === null ? family : null,
      requests: new SortedMap<VipRequest, null>(byAge),
      refusal: null,
    };
    this.#queues.set(idOf(queue), queue);
    if (address !== null) put(this.#specific, address, queue);
    const pinned = address === null ? this.#any : this.#specificOf;
    pinned.set(group, (pinned.get(group) ?? new Set()).add(queue));
    return queue;
  }

  #close(queue: Queue): void {
    const { address, group } = queue;
    this.#queues.delete(idOf(queue));
    if (address !== null) drop(this.#specific, address, queue);
    const pinned = address === null ? this.#any : this.#specificOf;
    const queues = pinned.get(group);
    queues?.delete(queue);
    if (queues?.size === 0) pinned.delete(group);
  }
}

type ByAddress<V> = Readonly<Record<Family, SortedMap<bigint, V>>>;

const byFamily = <V>(): ByAddress<V> => ({ 4: new SortedMap<bigint, V>(byNumber), 6: new SortedMap<bigint, V>(byNumber) });

const idOf = ({ address, group, family, barred = [] }: Pick<VipRequest, 'address' | 'group' | 'family' | 'barred'>): string =>
  JSON.stringify([address ?? family, group, ...barred]);

function at<V>(map: ByAddress<V>, address: Address): V | undefined {
  const { family, number } = located(address);
  return map[family].get(number);
}

function put<V>(map: ByAddress<Set<V>>, address: Address, value: V): void {
  const { family, number } = located(address);
  map[family].set(number, (map[family].get(number) ?? new Set()).add(value));
}

function drop<V>(map: ByAddress<Set<V>>, address: Address, value: V): void {
  const { family, number } = located(address);
  const values = map[family].get(number);
  values?.delete(value);
  if (values?.size === 0) map[family].delete(number);
}
