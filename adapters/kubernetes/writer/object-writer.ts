import { isDeepStrictEqual } from 'node:util';
import { Accounted } from '../../../actors/ports/accounted.ts';
import type { NewIntent, PoolProjection } from '../../../actors/ports/cluster.ts';
import { Fenced } from '../../../actors/ports/errors.ts';
import type { Clock, Json } from '../../../actors/ports/records.ts';
import type { Published } from '../../../machines/jobs.ts';
import { parseAddress } from '../../../machines/model/address.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { ADDRESS, type Address, FINALIZER, MOVE_TO } from '../../../machines/model/types.ts';
import { pathOf } from '../cache/kinds.ts';
import { keyOf, type SeenObject, trimObject } from '../cache/trim.ts';
import { ApiError, isConflict, isNotFound } from '../client/api-error.ts';
import { despiteConflicts, inVain } from '../client/conflicts.ts';
import { type Connection, MERGE_PATCH } from '../client/connection.ts';
import { difference, isObject, type JsonObject } from '../client/merge-patch.ts';
import { withinLimits } from '../client/within-limits.ts';
import type { Seen } from '../source/source.ts';
import { conditionsOf } from './conditions.ts';

/** A resourceVersion increases within one kind of object, and is officially comparable since Kubernetes 1.35; a wrong guess ends in a conflict. */
const isNewer = (one: string, other: string): boolean => one.length > other.length || (one.length === other.length && one > other);

/** Writes the status of one object and our finalizer, and appends to the `spec.ips` of a pool, one request at a time. Every write carries the
 *  resourceVersion it is based on. */
export class ObjectWriter {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #seen: Seen;
  readonly #ref: ObjectRef;
  /** The server's response to our last request. */
  #own: SeenObject | null = null;
  #sent: Json | undefined;
  #answered: Json | undefined;
  readonly #accounted = new Accounted();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection, clock: Clock, seen: Seen, ref: ObjectRef) {
    this.#connection = connection;
    this.#clock = clock;
    this.#seen = seen;
    this.#ref = ref;
  }

  /** Records what a projection says, which may never be written because a newer one follows. */
  note(projection: PoolProjection): void {
    this.#accounted.note(projection);
  }

  /** Makes the status equal to the projection that `newest` returns when its turn has come; null for nothing to write. A deleted object counts as written.
   *  A status of a later leader is kept, and `overtaken` is called. @throws ServerUnreachable | ApiError */
  write(newest: () => PoolProjection | null, overtaken: (what: string) => void = () => undefined): Promise<void> {
    return this.#inTurn(async () => {
      await this.#onPresent(this.#newest(), async (present) => {
        const projection = newest();
        // A former leader that has not noticed its loss must not overwrite newer state with older.
        if (present === null || projection === null) return;
        const [written, term] = [termOf(present.object.status), termOf(projection.status)];
        if (written > term) {
          overtaken(`write the status of ${this.#name()}: decided under term ${term}, written under ${written}`);
          return;
        }
        const desired = this.#statusOf(projection, present);
        const known = { present: present.object.status ?? undefined, sent: this.#sent, answered: this.#answered };
        const patch = difference(known, desired);
        if (patch === undefined) return;
        await this.#patch('/status', present, { status: patch });
        this.#answered = this.#own?.object.status ?? undefined;
        // Keeps one copy instead of two equal ones: there are thousands of objects.
        this.#sent = isDeepStrictEqual(desired, this.#answered) ? this.#answered : desired;
      });
      await this.#annotate(newest);
    });
  }

  /** Called after the status was written. A request for moves that was served is replaced, unless another one was written meanwhile. */
  async #annotate(newest: () => PoolProjection | null): Promise<void> {
    const { moveTo: asked, bound: got } = newest() ?? {};
    if (asked === undefined && got === undefined) return;
    await this.#onPresent(this.#newest(), async (present) => {
      const { moveTo, bound } = newest() ?? {};
      const annotations = present?.object.marks?.annotations ?? {};
      const changes = {
        ...(moveTo !== undefined && annotations[MOVE_TO] === moveTo.from && { [MOVE_TO]: moveTo.to }),
        ...(bound !== undefined && annotations[ADDRESS] !== bound && { [ADDRESS]: bound }),
      };
      if (present === null || Object.keys(changes).length === 0) return;
      await this.#patch('', present, { metadata: { annotations: changes } });
    });
  }

  /** @throws ServerUnreachable; ApiError NotFound when the pool is gone; Fenced when a later leader has written the status */
  recordIntent({ provider, knownAddresses, listedAt, region, term }: NewIntent): Promise<void> {
    // Null removes fields of an older intent: a merge patch would keep them.
    const pendingCreate = {
      provider: provider ?? null,
      region: region === '' ? null : region,
      knownAddresses,
      startedAt: new Date(listedAt).toISOString(),
    };
    return this.#inTurn(() =>
      this.#onPresent(null, async (found) => {
        const present = this.#required(found);
        const written = termOf(present.object.status);
        if (written > term) throw new Fenced(`record an intent in ${this.#name()}: decided under term ${term}, written under ${written}`);
        await this.#patch('/status', present, { status: { term, pendingCreate } });
      }),
    );
  }

  /** @throws ServerUnreachable; ApiError NotFound when the RoutedIP is gone */
  bindAddress(address: Address, origin: 'Found' | 'Created'): Promise<void> {
    const status = { routedIP: address, addressOrigin: origin };
    return this.#inTurn(() => this.#onPresent(null, (present) => this.#patch('/status', this.#required(present), { status })));
  }

  /** Adds our finalizer. Does nothing for a deleted object, or one being deleted, to which none can be added. @throws ServerUnreachable | ApiError */
  guard(): Promise<void> {
    return this.#inTurn(() =>
      this.#onPresent(null, async (present) => {
        if (present === null || present.object.deleting) return;
        const finalizers = finalizersOf(present);
        if (finalizers.includes(FINALIZER)) return;
        await this.#patch('', present, { metadata: { finalizers: [...finalizers, FINALIZER] } });
      }),
    );
  }

  /** Removes our finalizer while `isWanted` holds. @throws ServerUnreachable | ApiError */
  unguard(isWanted: () => boolean = () => true): Promise<void> {
    return this.#inTurn(() =>
      this.#onPresent(null, async (present) => {
        if (present === null || !isWanted()) return;
        const finalizers = finalizersOf(present);
        if (!finalizers.includes(FINALIZER)) return;
        await this.#patch('', present, { metadata: { finalizers: finalizers.filter((each) => each !== FINALIZER) } });
      }),
    );
  }

  /** @throws ServerUnreachable; ApiError NotFound when the pool is gone */
  appendAddress(address: Address): Promise<Published> {
    return this.#inTurn(async () => {
      let published: Published = { ips: [], generation: 0 };
      await this.#onPresent(null, async (found) => {
        const present = this.#required(found);
        const there = ipsOf(present);
        const isThere = addressesIn(there).includes(address);
        const ips = isThere ? there : [...there, address];
        if (!isThere) await this.#patch('', present, { spec: { ips } });
        const { generation } = (isThere ? present : this.#required(this.#own)).object;
        published = { ips: addressesIn(ips), generation };
      });
      return published;
    });
  }

  #statusOf({ status, conditions, generation, partial }: PoolProjection, { object }: SeenObject): JsonObject {
    const statuses = [this.#sent, object.status];
    return {
      ...(partial && isObject(object.status) && object.status),
      ...withinLimits(this.#ref.kind, status),
      ...this.#accounted.left(status, object.status, this.#clock.now()),
      ...(!partial && { observedGeneration: generation }),
      conditions: conditionsOf(conditions, generation, this.#clock.now(), statuses),
    };
  }

  /** The newest known version of the object; null when it must be read. */
  #newest(): SeenObject | null {
    const seen = this.#seen.object(this.#ref);
    if (seen === null || this.#own === null) return seen ?? this.#own;
    return isNewer(this.#own.resourceVersion, seen.resourceVersion) ? this.#own : seen;
  }

  /** Runs `write` on the object; after a conflict again on a newer version. */
  async #onPresent(known: SeenObject | null, write: (present: SeenObject | null) => Promise<void>): Promise<void> {
    let newest = known;
    try {
      await despiteConflicts(async () => {
        const present = newest ?? (await this.#read());
        newest = null;
        await write(present).catch((error) => (isNotFound(error) && present !== null ? write(null) : Promise.reject(error)));
      });
    } catch (error) {
      throw isConflict(error) ? inVain(`write ${this.#name()}`, error) : error;
    }
  }

  /** The object as stored; null when it is gone, or another one has its name. */
  async #read(): Promise<SeenObject | null> {
    const { kind, uid } = this.#ref;
    try {
      const found = trimObject(kind, await this.#connection.send({ method: 'GET', path: pathOf(this.#ref) }));
      this.#own = found?.uid === uid ? found.value : null;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#own = null;
    }
    return this.#own;
  }

  async #patch(subresource: '' | '/status', present: SeenObject, change: JsonObject): Promise<void> {
    const { metadata, ...rest } = change;
    const { resourceVersion } = present;
    const answer = await this.#connection.send({
      method: 'PATCH',
      path: pathOf(this.#ref) + subresource,
      contentType: MERGE_PATCH,
      body: { metadata: { ...(isObject(metadata) ? metadata : {}), resourceVersion }, ...rest },
    });
    this.#own = trimObject(this.#ref.kind, answer)?.value ?? this.#own;
  }

  #required(present: SeenObject | null): SeenObject {
    if (present === null) throw new ApiError('NotFound', 404, `${this.#name()} is gone`);
    return present;
  }

  #name(): string {
    const { kind, namespace, name } = this.#ref;
    return `${kind} ${keyOf(namespace, name)}`;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}

/** 0 for none. */
const termOf = (status: Json): number => (isObject(status) && typeof status.term === 'number' ? status.term : 0);

const finalizersOf = ({ object: { ref, marks } }: SeenObject): readonly string[] => {
  // Writing the list without knowing the finalizers of others would remove them.
  if (marks === undefined) throw new Error(`no finalizers are read of objects of kind ${ref.kind}`);
  return marks.finalizers;
};

const ipsOf = ({ object }: SeenObject): readonly Json[] => {
  const ips = isObject(object.spec) ? object.spec.ips : undefined;
  return Array.isArray(ips) ? ips : [];
};

const addressesIn = (ips: readonly Json[]): readonly Address[] =>
  ips.flatMap((text) => {
    const address = typeof text === 'string' ? parseAddress(text) : null;
    return address === null ? [] : [address];
  });
