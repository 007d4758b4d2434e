import type { PoolProjection } from '../../actors/ports/cluster.ts';
import type { Clock, Json } from '../../actors/ports.ts';
import { parseAddress } from '../../machines/address.ts';
import type { CreateIntent, ObjectRef } from '../../machines/jobs.ts';
import type { Address } from '../../machines/types.ts';
import { ApiError, isConflict, isNotFound, ServerUnreachable } from './api-error.ts';
import { type Connection, MERGE_PATCH } from './connection.ts';
import { difference, isObject, type JsonObject } from './difference.ts';
import { conditionsOf } from './pool-conditions.ts';
import { poolPath } from './selection.ts';
import type { Seen } from './source.ts';
import { type SeenPool, trimPool } from './trim.ts';

/** So often in a row a write may meet somebody else's before it waits. */
const CONFLICTS = 5;

/** A creation intent that no projection of this process has carried is left in place so long, ms: it may be another replica's, just written. */
const FOREIGN_INTENT_MS = 10 * 60_000;

/** Versions count upwards within one kind of object, and since Kubernetes 1.35 may be compared; a wrong guess ends in a conflict. */
const isNewer = (one: string, other: string): boolean => one.length > other.length || (one.length === other.length && one > other);

/** Writes the status, and appends to `spec.ips`, of one pool, one request after another. Every write names the version that it is based on. */
export class PoolWriter {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #seen: Seen;
  readonly #ref: ObjectRef;
  /** The server's answer to the last request of our own. */
  #own: SeenPool | null = null;
  #sent: Json | undefined;
  #answered: Json | undefined;
  /** Start times of the creation intents that projections have carried. */
  readonly #accounted = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection, clock: Clock, seen: Seen, ref: ObjectRef) {
    this.#connection = connection;
    this.#clock = clock;
    this.#seen = seen;
    this.#ref = ref;
  }

  /** Takes note of what a projection says that may never be written because a newer one follows. */
  note({ status }: PoolProjection): void {
    const startedAt = startOf(status.pendingCreate);
    if (startedAt !== null) this.#accounted.add(startedAt);
  }

  /** Makes the status equal to the projection that `newest` answers when its turn has come; null for nothing to write. A pool that is gone counts as written.
   *  @throws ServerUnreachable | ApiError */
  write(newest: () => PoolProjection | null): Promise<void> {
    return this.#inTurn(async () => {
      await this.#onPresent(this.#newest(), async (present) => {
        const projection = newest();
        // A leader that was overtaken without noticing must not put its older view over the newer one.
        if (present === null || projection === null || termOf(present.pool.status) > termOf(projection.status)) return;
        const desired = this.#statusOf(projection, present);
        const known = { present: present.pool.status ?? undefined, sent: this.#sent, answered: this.#answered };
        const patch = difference(known, desired);
        if (patch === undefined) return;
        await this.#patch('/status', present, { status: patch });
        this.#sent = desired;
        this.#answered = this.#own?.pool.status ?? undefined;
      });
    });
  }

  /** @throws ServerUnreachable; ApiError NotFound when the pool is gone */
  recordIntent({ knownAddresses, listedAt, region }: CreateIntent & { readonly region: string }): Promise<void> {
    // Members of an older intent that this one lacks must go: a merge patch would keep them.
    const pendingCreate = { region: region === '' ? null : region, knownAddresses, startedAt: new Date(listedAt).toISOString() };
    return this.#inTurn(() =>
      this.#onPresent(null, (present) => this.#patch('/status', this.#required(present), { status: { pendingCreate } })),
    );
  }

  /** @throws ServerUnreachable; ApiError NotFound when the pool is gone */
  appendAddress(address: Address): Promise<readonly Address[]> {
    return this.#inTurn(async () => {
      let all: readonly Json[] = [];
      await this.#onPresent(null, async (found) => {
        const present = this.#required(found);
        all = ipsOf(present);
        if (addressesIn(all).includes(address)) return;
        all = [...all, address];
        await this.#patch('', present, { spec: { ips: all } });
      });
      return addressesIn(all);
    });
  }

  #statusOf({ status, conditions, generation }: PoolProjection, { pool }: SeenPool): JsonObject {
    const statuses = [this.#sent, pool.status];
    return {
      ...status,
      ...this.#foreignIntent(status, pool.status),
      observedGeneration: generation,
      conditions: conditionsOf(conditions, generation, this.#clock.now(), statuses),
    };
  }

  /** An intent that another replica may have recorded a moment ago must not be swept away by a projection of the time before. */
  #foreignIntent(status: JsonObject, present: Json): JsonObject {
    const intent = isObject(present) ? present.pendingCreate : undefined;
    const startedAt = startOf(intent);
    if (intent === undefined || startedAt === null || status.pendingCreate !== undefined) return {};
    const fresh = this.#clock.now() - Date.parse(startedAt) < FOREIGN_INTENT_MS;
    return fresh && !this.#accounted.has(startedAt) ? { pendingCreate: intent } : {};
  }

  /** The pool as known without asking; null when it has to be read. */
  #newest(): SeenPool | null {
    const seen = this.#seen.pool(this.#ref);
    if (seen === null || this.#own === null) return seen ?? this.#own;
    return isNewer(this.#own.resourceVersion, seen.resourceVersion) ? this.#own : seen;
  }

  /** Runs `write` on the pool as it is, again on a newer one when somebody else wrote meanwhile. */
  async #onPresent(known: SeenPool | null, write: (present: SeenPool | null) => Promise<void>): Promise<void> {
    let present = known ?? (await this.#read());
    for (let conflicts = 0; ; conflicts += 1) {
      try {
        await write(present);
        return;
      } catch (error) {
        if (isNotFound(error) && present !== null) present = null;
        else if (!isConflict(error)) throw error;
        else if (conflicts < CONFLICTS) present = await this.#read();
        else throw new ServerUnreachable(`write ${this.#name()}: somebody else writes all the time`, { cause: error });
      }
    }
  }

  /** The pool as the server has it; null when it is gone, or another one has its name. */
  async #read(): Promise<SeenPool | null> {
    const { namespace, name, uid } = this.#ref;
    try {
      const found = trimPool(await this.#connection.send({ method: 'GET', path: poolPath(namespace, name) }));
      this.#own = found?.uid === uid ? found.value : null;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#own = null;
    }
    return this.#own;
  }

  async #patch(subresource: '' | '/status', present: SeenPool, change: JsonObject): Promise<void> {
    const { namespace, name } = this.#ref;
    const answer = await this.#connection.send({
      method: 'PATCH',
      path: poolPath(namespace, name) + subresource,
      contentType: MERGE_PATCH,
      body: { metadata: { resourceVersion: present.resourceVersion }, ...change },
    });
    this.#own = trimPool(answer)?.value ?? this.#own;
  }

  #required(present: SeenPool | null): SeenPool {
    if (present === null) throw new ApiError('NotFound', 404, `${this.#name()} is gone`);
    return present;
  }

  #name(): string {
    return `FloatingIPPool ${this.#ref.namespace}/${this.#ref.name}`;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(work);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }
}

const startOf = (intent: Json | undefined): string | null =>
  isObject(intent) && typeof intent.startedAt === 'string' && !Number.isNaN(Date.parse(intent.startedAt)) ? intent.startedAt : null;

/** 0 for none. */
const termOf = (status: Json): number => (isObject(status) && typeof status.term === 'number' ? status.term : 0);

const ipsOf = ({ pool }: SeenPool): readonly Json[] => {
  const ips = isObject(pool.spec) ? pool.spec.ips : undefined;
  return Array.isArray(ips) ? ips : [];
};

const addressesIn = (ips: readonly Json[]): readonly Address[] =>
  ips.flatMap((text) => {
    const address = typeof text === 'string' ? parseAddress(text) : null;
    return address === null ? [] : [address];
  });
