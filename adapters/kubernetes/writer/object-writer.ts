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

/** Versions count upwards within one kind of object, and since Kubernetes 1.35 may be compared; a wrong guess ends in a conflict. */
const isNewer = (one: string, other: string): boolean => one.length > other.length || (one.length === other.length && one > other);

/** Writes the status of one object and our finalizer, and appends to the `spec.ips` of a pool, one request after another. Every write names the version
 *  that it is based on. */
export class ObjectWriter {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #seen: Seen;
  readonly #ref: ObjectRef;
  /** The server's answer to the last request of our own. */
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

  /** Takes note of what a projection says that may never be written because a newer one follows. */
  note(projection: PoolProjection): void {
    this.#accounted.note(projection);
  }

  /** Makes the status equal to the projection that `newest` answers when its turn has come; null for nothing to write. An object that is gone counts as written.
   *  What a later leader has written stays: `overtaken` is told so. @throws ServerUnreachable | ApiError */
  write(newest: () => PoolProjection | null, overtaken: (what: string) => void = () => undefined): Promise<void> {
    return this.#inTurn(async () => {
      await this.#onPresent(this.#newest(), async (present) => {
        const projection = newest();
        // A leader that was overtaken without noticing must not put its older view over the newer one.
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
        // One and not two of the same, for each of thousands.
        this.#sent = isDeepStrictEqual(desired, this.#answered) ? this.#answered : desired;
      });
      await this.#annotate(newest);
    });
  }

  /** Once the status tells of it. What was answered is taken out, unless somebody else has written another request meanwhile. */
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
    // Members of an older intent that this one lacks must go: a merge patch would keep them.
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

  /** One that is gone, or on its way, needs none: nothing can be added to an object that is being deleted. @throws ServerUnreachable | ApiError */
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

  /** Takes our finalizer off while `isWanted` holds. @throws ServerUnreachable | ApiError */
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

  /** The object as known without asking; null when it has to be read. */
  #newest(): SeenObject | null {
    const seen = this.#seen.object(this.#ref);
    if (seen === null || this.#own === null) return seen ?? this.#own;
    return isNewer(this.#own.resourceVersion, seen.resourceVersion) ? this.#own : seen;
  }

  /** Runs `write` on the object as it is, again on a newer one when somebody else wrote meanwhile. */
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

  /** The object as the server has it; null when it is gone, or another one has its name. */
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
  // Without knowing them a list would be written over those of others.
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
