import type { PoolProjection } from '../../../actors/ports/cluster.ts';
import type { Clock, Json } from '../../../actors/ports/records.ts';
import { familyOf } from '../../../machines/model/address.ts';
import type { Address } from '../../../machines/model/types.ts';
import { nodePath } from '../cache/selection.ts';
import { IPV4_ANNOTATION, IPV6_ANNOTATION } from '../cache/trim.ts';
import { ApiError, isNotFound } from '../client/api-error.ts';
import { type Connection, JSON_PATCH, MERGE_PATCH } from '../client/connection.ts';
import { isObject } from '../client/merge-patch.ts';
import { inParallel } from '../client/parallel.ts';
import type { Seen } from '../source/source.ts';
import { Turns } from './turns.ts';

/** The annotations that the nodes of one pool should have. */
export type Wanted = Pick<PoolProjection, 'annotated' | 'addresses'>;

/** How long our own write takes precedence over what the watch shows, ms. */
const WATCH_LAG_MS = 10_000;

/** `node` has, or may have, `address` in its annotation. */
interface Bearing {
  readonly node: string;
  readonly address: Address;
}

/** A pool: its addresses, and the nodes that have one, or may. These are remembered, since a node that no longer matches the pool's selector is not observed. */
interface Pool {
  addresses: readonly Address[];
  readonly bearings: Map<string, Bearing>;
}

interface Want {
  /** The pool's uid. */
  readonly uid: string;
  readonly address: Address;
}

/** Our last write, null for a removed annotation; undefined while in doubt. */
interface Written {
  readonly value: Address | null | undefined;
  /** Monotonic ms. */
  readonly at: number;
}

const annotationOf = (address: Address): string => (familyOf(address) === 4 ? IPV4_ANNOTATION : IPV6_ANNOTATION);

const keyOf = ({ node, address }: Bearing): string => `${node} ${address}`;

/** Identifies the annotation of that node. */
const placeOf = ({ node, address }: Bearing): string => `${node} ${annotationOf(address)}`;

/** A JSON pointer to the annotation (RFC 6901). */
const pointerTo = (annotation: string): string => `/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** Keeps the annotations of nodes up to date. A node has one per address family: of several pools that want it, the latest one wins, since its information
 *  is the newest; when that pool no longer wants it, the previous one gets it back. */
export class NodeAnnotations {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #seen: Seen;
  /** By uid. */
  readonly #pools = new Map<string, Pool>();
  /** By place: the pools that want it with their addresses, the latest one last. */
  readonly #wants = new Map<string, readonly Want[]>();
  /** By place. */
  readonly #written = new Map<string, Written>();
  /** Places that no pool wants now: their last writes are soon forgotten. */
  readonly #unwanted = new Set<string>();
  readonly #turns = new Turns();

  constructor(connection: Connection, clock: Clock, seen: Seen) {
    this.#connection = connection;
    this.#clock = clock;
    this.#seen = seen;
  }

  /** What the pool wants from now on. `status` shows which nodes had an address before a restart. */
  want(uid: string, { annotated, addresses }: Wanted, status: Json): void {
    const pool = this.#pools.get(uid) ?? { addresses, bearings: byKey(borneBy(status)) };
    pool.addresses = addresses;
    this.#pools.set(uid, pool);
    const wanted = byKey(Object.entries(annotated).flatMap(([node, all]) => [all].flat().map((address) => ({ node, address }))));
    for (const [key, bearing] of pool.bearings) if (!wanted.has(key)) this.#wantNoMore(uid, bearing);
    for (const [key, bearing] of wanted) {
      pool.bearings.set(key, bearing);
      if (this.#isWantedBy(uid, bearing)) continue;
      const place = placeOf(bearing);
      this.#wants.set(place, [...this.#othersAt(place, uid), { uid, address: bearing.address }]);
    }
  }

  /** There is nothing to write for the pool. */
  isRight(uid: string): boolean {
    return this.#due(uid).length === 0;
  }

  /** Writes what differs. Every node is tried, even if others fail. @throws AggregateError of all that failed; it may be repeated */
  async write(uid: string): Promise<void> {
    const pool = this.#pools.get(uid);
    const settle = async (bearing: Bearing): Promise<void> => {
      // A new leader may want something else.
      if (!pool || this.#pools.get(uid) !== pool || !this.#differs(bearing)) return;
      const wanted = await this.#write(bearing);
      if (wanted === null && !this.#isWantedBy(uid, bearing)) pool.bearings.delete(keyOf(bearing));
    };
    await inParallel(this.#due(uid).map((bearing) => () => this.#turns.take(placeOf(bearing), () => settle(bearing))));
  }

  /** The pool is gone, with nothing left to write. */
  drop(uid: string): void {
    for (const bearing of this.#pools.get(uid)?.bearings.values() ?? []) this.#wantNoMore(uid, bearing);
    this.#pools.delete(uid);
  }

  /** Drops everything wanted: nothing more is written. */
  forget(): void {
    for (const known of [this.#pools, this.#wants, this.#written, this.#unwanted]) known.clear();
  }

  #isWantedBy(uid: string, bearing: Bearing): boolean {
    return this.#wants.get(placeOf(bearing))?.some((want) => want.uid === uid && want.address === bearing.address) ?? false;
  }

  #othersAt(place: string, uid: string): readonly Want[] {
    return this.#wants.get(place)?.filter((want) => want.uid !== uid) ?? [];
  }

  #wantNoMore(uid: string, bearing: Bearing): void {
    if (!this.#isWantedBy(uid, bearing)) return;
    const place = placeOf(bearing);
    const others = this.#othersAt(place, uid);
    if (others.length > 0) this.#wants.set(place, others);
    else if (this.#wants.delete(place)) this.#unwanted.add(place);
  }

  /** Adds nodes that are observed to be annotated, and forgets those that no longer are. */
  #due(uid: string): readonly Bearing[] {
    const { addresses, bearings } = this.#pools.get(uid) ?? { addresses: [], bearings: new Map<string, Bearing>() };
    for (const address of addresses)
      for (const node of this.#seen.nodesBearing(address)) bearings.set(keyOf({ node, address }), { node, address });
    const due: Bearing[] = [];
    for (const [key, bearing] of bearings) {
      if (this.#turns.isBusy(placeOf(bearing)) || this.#differs(bearing)) due.push(bearing);
      else if (!this.#isWantedBy(uid, bearing)) bearings.delete(key);
    }
    return due;
  }

  #differs(bearing: Bearing): boolean {
    const wanted = this.#wantedAt(bearing);
    const borne = this.#borneAt(bearing);
    return wanted === null ? borne === undefined || borne === bearing.address : borne !== wanted;
  }

  /** Null for nothing. */
  #wantedAt(bearing: Bearing): Address | null {
    return this.#wants.get(placeOf(bearing))?.at(-1)?.address ?? null;
  }

  /** Null for nothing, undefined for unknown. */
  #borneAt(bearing: Bearing): string | null | undefined {
    const seen = this.#seen.node(bearing.node);
    const written = this.#written.get(placeOf(bearing));
    if (written && (!seen || this.#isRecent(written))) return written.value;
    return familyOf(bearing.address) === 4 ? seen?.ipv4 : seen?.ipv6;
  }

  #isRecent({ at }: Written): boolean {
    return this.#clock.monotonic() - at < WATCH_LAG_MS;
  }

  /** Returns what was wanted. */
  async #write(bearing: Bearing): Promise<Address | null> {
    const wanted = this.#wantedAt(bearing);
    this.#note(bearing, undefined);
    this.#note(bearing, wanted === null ? await this.#takeOff(bearing) : await this.#set(bearing.node, wanted));
    if (wanted === null) this.#sweep(this.#unwanted.add(placeOf(bearing)));
    return wanted;
  }

  /** Checks only unwanted places instead of all written ones: there may be thousands of those. */
  #sweep(unwanted: Set<string>): void {
    for (const place of unwanted) {
      const written = this.#written.get(place);
      const isWanted = this.#wants.has(place);
      if (!isWanted && written && this.#isRecent(written)) continue;
      if (!isWanted) this.#written.delete(place);
      unwanted.delete(place);
    }
  }

  #note(bearing: Bearing, value: Written['value']): void {
    this.#written.set(placeOf(bearing), { value, at: this.#clock.monotonic() });
  }

  async #set(node: string, address: Address): Promise<Address> {
    const body = { metadata: { annotations: { [annotationOf(address)]: address } } };
    try {
      await this.#connection.send({ method: 'PATCH', path: nodePath(node), contentType: MERGE_PATCH, body });
    } catch (error) {
      // A deleted node needs no write.
      if (!isNotFound(error)) throw error;
    }
    return address;
  }

  /** Returns what the node has afterwards; undefined for unknown. */
  async #takeOff({ node, address }: Bearing): Promise<null | undefined> {
    const path = pointerTo(annotationOf(address));
    // Only while it is still this address: another one may have been written meanwhile.
    const body = [
      { op: 'test', path, value: address },
      { op: 'remove', path },
    ];
    try {
      await this.#connection.send({ method: 'PATCH', path: nodePath(node), contentType: JSON_PATCH, body });
    } catch (error) {
      if (isFailedTest(error)) return undefined;
      if (!isNotFound(error)) throw error;
    }
    return null;
  }
}

const byKey = (bearings: readonly Bearing[]): Map<string, Bearing> => new Map(bearings.map((bearing) => [keyOf(bearing), bearing]));

/** The nodes that have an address according to the status of a pool. */
const borneBy = (status: Json): readonly Bearing[] =>
  Object.entries(isObject(status) && isObject(status.ips) ? status.ips : {}).flatMap(([address, entry]) =>
    isObject(entry) && typeof entry.nodeName === 'string' ? [{ node: entry.nodeName, address: address as Address }] : [],
  );

/** The API server responds with 422 to a JSON patch whose test fails, or whose path does not exist. */
const isFailedTest = (error: unknown): boolean => error instanceof ApiError && error.status === 422;
