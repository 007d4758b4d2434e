import { isFirewall, isPool, isRoutedIP, isZone } from '../../machines/model/actor-id.ts';
import { isPrivate, listKey } from '../../machines/model/provider-key.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ProviderDirectory } from '../ports/directory.ts';
import type { Clock } from '../ports/records.ts';
import type { Cells } from '../runtime/cell-registry.ts';
import { coalesced } from '../runtime/debounce.ts';
import { PacedQueue } from '../runtime/paced-queue.ts';
import type { ObservedPools } from './pool-cache.ts';
import { usersOf } from './provider-ref.ts';
import type { ProviderLists } from './provider-sync.ts';

export interface SharedChangesPorts {
  readonly cells: Cells;
  readonly lists: Pick<ProviderLists, 'giveUp' | 'listOf' | 'providerOf' | 'readFor' | 'waitingFor'>;
  readonly pools: ObservedPools;
  readonly providers: ProviderDirectory;
  readonly clock: Clock;
  /** The pool has received everything observed so far. */
  readonly isStarted: (id: ActorId) => boolean;
  /** Sends an object its current facts. */
  readonly observe: (pool: PoolObject) => void;
}

/** Delay from the first change of credentials to notifying zones and firewalls, ms: others may follow at once. */
const SHARED_MS = 10;

/** A zone or a firewall, which belongs to no object and has its provider in its id. */
const isShared = (id: ActorId): boolean => isZone(id) || isFirewall(id);

/** Fans out changes of a class or an account, which thousands may share, one object after the other, in slices. To each it is as if it had changed when it is notified. */
export class SharedChanges {
  readonly #ports: SharedChangesPorts;
  readonly #ofPolicies: PacedQueue<ActorId>;
  readonly #ofProviders: PacedQueue<ActorId>;
  /** Keys whose provider was replaced, while zones and firewalls are not notified yet. */
  #withOtherMeans = new Set<string>();
  readonly #tellShared: () => void;
  /** Lists whose provider was replaced and that have not been read from it yet. */
  readonly #unread = new Set<string>();

  constructor(ports: SharedChangesPorts) {
    this.#ports = ports;
    const isOver = (): boolean => ports.cells.stopped;
    this.#tellShared = coalesced(ports.clock, SHARED_MS, () => this.#tellSharedNow());
    this.#ofPolicies = new PacedQueue(ports.clock, isOver, (id) => this.#tellPolicy(id));
    this.#ofProviders = new PacedQueue(ports.clock, isOver, (id) => this.#tellProvider(id));
  }

  /** The class or issuer that serves these RoutedIPs has changed. */
  policiesChanged(ids: Iterable<ActorId>): void {
    this.#ofPolicies.add(ids);
  }

  /** The provider under this key has changed: all objects that name it are notified, and addresses that wait for credentials try the present ones. */
  providerChanged(key: string): void {
    const { providers, lists, pools, cells } = this.#ports;
    for (const family of [4, 6] as const) this.#unread.add(listKey(key, family));
    if (!providers.all[key]?.provider) lists.giveUp(key);
    else {
      this.#withOtherMeans.add(key);
      this.#tellShared();
    }
    // A record set names its provider in a field of its own.
    const withRecords = isPrivate(key) ? [] : [...pools.all.keys()].filter((id) => !isRoutedIP(id));
    const users = usersOf(key, pools, (cell) => cells.recordsOf(cell)).map(([id]) => id);
    this.#ofProviders.add([...users, ...withRecords, ...lists.waitingFor(key)]);
  }

  /** One pass over all cells for all changed keys: there may be thousands of both. */
  #tellSharedNow(): void {
    const { cells } = this.#ports;
    const keys = this.#withOtherMeans;
    this.#withOtherMeans = new Set();
    if (cells.stopped) return;
    for (const id of cells.all.keys()) if (isShared(id) && keys.has(id.split('/')[1] ?? '')) cells.tell(id, { type: 'SECRET_OBSERVED' });
  }

  /** Delivers the object's pending changes at once. Call before sending it anything that may depend on them. */
  settle(id: ActorId): void {
    this.#ofPolicies.now(id);
    this.#ofProviders.now(id);
  }

  #tellPolicy(id: ActorId): void {
    const { cells, isStarted } = this.#ports;
    this.#observe(id);
    // Nodes that were full under the former limit may not be under this one.
    if (isStarted(id) && isRoutedIP(id)) cells.tellClaims(id, []);
  }

  #tellProvider(id: ActorId): void {
    const { cells, lists, providers, isStarted } = this.#ports;
    const pool = this.#observe(id);
    const key = pool ? lists.providerOf(pool) : '';
    const provider = providers.all[key]?.provider ?? null;
    if (!provider || !isStarted(id)) return;
    for (const actor of cells.recordsOf(id)?.keys() ?? []) cells.tell(actor, { type: 'SECRET_OBSERVED' });
    // Other credentials may mean another account. One that only DNS records use is not asked for addresses.
    if (pool && isPool(id) && this.#unread.delete(lists.listOf(pool))) lists.readFor(pool, provider, 'again');
  }

  /** The object may have become valid or invalid. */
  #observe(id: ActorId): PoolObject | undefined {
    const { pools, observe } = this.#ports;
    const pool = pools.all.get(id);
    const others = pool ? pools.put(pool) : [];
    if (pool) observe(pool);
    for (const other of others.flatMap((each) => pools.all.get(each) ?? [])) observe(other);
    return pool;
  }
}
