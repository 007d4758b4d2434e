import type { PoolProjection } from '../../actors/ports/cluster.ts';
import type { Clock, Json } from '../../actors/ports.ts';
import { familyOf } from '../../machines/address.ts';
import type { Address } from '../../machines/types.ts';
import { ApiError, isNotFound } from './api-error.ts';
import { type Connection, JSON_PATCH, MERGE_PATCH } from './connection.ts';
import { isObject } from './difference.ts';
import { inParallel } from './in-parallel.ts';
import { nodePath } from './selection.ts';
import type { Seen } from './source.ts';
import { IPV4_ANNOTATION, IPV6_ANNOTATION, type SeenNode } from './trim.ts';

/** What the nodes of one pool should bear. */
export type Wanted = Pick<PoolProjection, 'annotated' | 'addresses'>;

/** For so long our own write counts more than what the watch has shown, ms. */
export const WATCH_LAG_MS = 10_000;

/** That `node` bears `address`, or may. */
export interface Bearing {
  readonly node: string;
  readonly address: Address;
}

/** What the annotations of all pools have to know of each other: one may come to hold what another one has let go of, on the same node. */
export interface OtherPools {
  /** Another pool wants the node to bear the address. */
  want(bearing: Bearing): boolean;
  /** It was taken off: whoever wants it is to write it again. */
  takenOff(bearing: Bearing): void;
  /** When it was taken off last, by monotonic ms; null for never. What the watch shows may be older. */
  takenOffAt(bearing: Bearing): number | null;
}

const annotationOf = (address: Address): string => (familyOf(address) === 4 ? IPV4_ANNOTATION : IPV6_ANNOTATION);

const borneBy = (seen: SeenNode, address: Address): string | null => (familyOf(address) === 4 ? seen.ipv4 : seen.ipv6);

export const isWanted = ({ node, address }: Bearing, { annotated }: Pick<Wanted, 'annotated'>): boolean =>
  [annotated[node] ?? []].flat().includes(address);

/** A JSON pointer to the annotation (RFC 6901). */
const pointerTo = (annotation: string): string => `/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** Keeps the annotations of one pool's nodes right. It remembers which nodes bear one, since a node that no longer matches the pool's selector is
 *  seen no more. */
export class PoolAnnotations {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #seen: Seen;
  readonly #others: OtherPools;
  readonly #bearings = new Map<string, Bearing>();
  /** When a bearing was last written, or found, by monotonic ms. */
  readonly #written = new Map<string, number>();

  constructor(connection: Connection, clock: Clock, seen: Seen, others: OtherPools) {
    this.#connection = connection;
    this.#clock = clock;
    this.#seen = seen;
    this.#others = others;
  }

  /** After a restart: who bore an address by the status that is found. */
  learn(status: Json): void {
    const ips = isObject(status) && isObject(status.ips) ? status.ips : {};
    for (const [address, entry] of Object.entries(ips)) {
      if (isObject(entry) && typeof entry.nodeName === 'string') this.#add({ node: entry.nodeName, address: address as Address });
    }
  }

  /** Writes what differs. Every node is tried, whatever happens to another one. @throws AggregateError of all that failed; it may be repeated */
  async write(wanted: Wanted): Promise<void> {
    await inParallel(this.#allDue(wanted));
  }

  /** Nothing differs: there is nothing to be written. */
  isRight(wanted: Wanted): boolean {
    return this.#allDue(wanted).length === 0;
  }

  #allDue(wanted: Wanted): readonly (() => Promise<void>)[] {
    this.#notice(wanted);
    return [...this.#bearings.values()].flatMap((bearing) => this.#due(bearing, wanted) ?? []);
  }

  /** Adds all that is to be, or seems to be, annotated. */
  #notice({ annotated, addresses }: Wanted): void {
    for (const address of addresses) for (const node of this.#seen.nodesBearing(address)) this.#add({ node, address });
    for (const [node, wanted] of Object.entries(annotated)) for (const address of [wanted].flat()) this.#add({ node, address });
  }

  #due(bearing: Bearing, wanted: Wanted): (() => Promise<void>) | null {
    const { node, address } = bearing;
    const seen = this.#seen.node(node);
    const key = keyOfBearing(bearing);
    const writtenAt = this.#written.get(key);
    const lagging = writtenAt !== undefined && this.#clock.monotonic() - writtenAt < WATCH_LAG_MS;
    const borne = seen === null ? null : borneBy(seen, address) === address;
    if (isWanted(bearing, wanted)) {
      if (this.#wasTakenOff(bearing, writtenAt)) return () => this.#set(bearing);
      const right = borne === null ? writtenAt !== undefined : borne || lagging;
      return right ? null : () => this.#set(bearing);
    }
    if (borne === false && !lagging) {
      this.#forget(key);
      return null;
    }
    return () => this.#remove(bearing);
  }

  /** Another pool took it off since this one has written it, and so short ago that the watch need not show it yet. */
  #wasTakenOff(bearing: Bearing, writtenAt: number | undefined): boolean {
    const at = this.#others.takenOffAt(bearing);
    return at !== null && (writtenAt === undefined || writtenAt <= at) && this.#clock.monotonic() - at < WATCH_LAG_MS;
  }

  async #set(bearing: Bearing): Promise<void> {
    const { node, address } = bearing;
    const body = { metadata: { annotations: { [annotationOf(address)]: address } } };
    try {
      await this.#connection.send({ method: 'PATCH', path: nodePath(node), contentType: MERGE_PATCH, body });
    } catch (error) {
      // A node that is gone bears nothing and needs nothing.
      if (!isNotFound(error)) throw error;
    }
    this.#written.set(keyOfBearing(bearing), this.#clock.monotonic());
  }

  async #remove(bearing: Bearing): Promise<void> {
    if (!this.#others.want(bearing)) await this.#takeOff(bearing);
    this.#forget(keyOfBearing(bearing));
  }

  async #takeOff(bearing: Bearing): Promise<void> {
    const { node, address } = bearing;
    const path = pointerTo(annotationOf(address));
    // Only while it is still this address: another pool may have written its own meanwhile.
    const body = [
      { op: 'test', path, value: address },
      { op: 'remove', path },
    ];
    try {
      await this.#connection.send({ method: 'PATCH', path: nodePath(node), contentType: JSON_PATCH, body });
    } catch (error) {
      if (!isNotFound(error) && !isFailedTest(error)) throw error;
    } finally {
      // Also when it failed: it may have been done all the same.
      this.#others.takenOff(bearing);
    }
  }

  #add(bearing: Bearing): void {
    this.#bearings.set(keyOfBearing(bearing), bearing);
  }

  #forget(key: string): void {
    this.#bearings.delete(key);
    this.#written.delete(key);
  }
}

export const keyOfBearing = ({ node, address }: Bearing): string => `${node} ${address}`;

/** The API server answers a JSON patch whose test fails, or whose path is not there, with 422. */
const isFailedTest = (error: unknown): boolean => error instanceof ApiError && error.status === 422;
