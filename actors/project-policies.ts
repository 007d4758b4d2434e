import { isPrivate } from '../machines/provider-key.ts';
import { type ActorId, type Condition, FINALIZER } from '../machines/types.ts';
import { coalesced } from './coalesced.ts';
import { isRoutedIP, type ObservedPools } from './pools.ts';
import type { ClusterWriter, PoolObject } from './ports/cluster.ts';
import type { ProviderDirectory } from './ports/directory.ts';
import type { Log } from './ports/observers.ts';
import type { Clock, Json } from './ports.ts';

/** Changes of one moment are shown as one. */
const COALESCE_MS = 50;
/** While much changes: of thousands of RoutedIPs it takes a while to say whose each is. */
const EVERY_MS = 1000;

export interface PolicyProjectorPorts {
  readonly writer: ClusterWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly pools: ObservedPools;
  readonly providers: ProviderDirectory;
  readonly isLeading: () => boolean;
}

/** Shows in classes and issuers whether they are used as they are, and by whom; a class that is used is kept from going. */
export class PolicyProjector {
  readonly #ports: PolicyProjectorPorts;
  /** Something changed that they may show. */
  readonly request: () => void;

  constructor(ports: PolicyProjectorPorts) {
    this.#ports = ports;
    this.request = coalesced(ports.clock, COALESCE_MS, () => this.#showAll(), EVERY_MS);
  }

  #showAll(): void {
    const { isLeading, pools } = this.#ports;
    if (!isLeading()) return;
    const users = this.#usersByPolicy();
    for (const policy of pools.policies.all) this.#show(policy, users.get(policy.ref.uid) ?? []);
  }

  #show(policy: PoolObject, users: readonly User[]): void {
    const { writer, log } = this.#ports;
    const trouble = this.#ports.pools.policies.troubleOf(policy) ?? this.#missing(policy);
    writer.project({
      ref: policy.ref,
      generation: policy.generation,
      status: {
        routedIPs: users as unknown as Json,
        observedGeneration: policy.generation,
        ...(trouble && { error: trouble.message }),
      },
      conditions: conditionsOf(trouble),
      annotated: {},
      addresses: [],
      events: [],
    });
    const isGuarded = policy.marks?.finalizers.includes(FINALIZER) ?? false;
    const guards = users.length > 0 && !policy.deleting;
    if (guards === isGuarded || (users.length > 0 && isGuarded)) return;
    const done = guards ? writer.guard(policy.ref) : writer.unguard(policy.ref);
    done.catch((error) => log.warn('a class could not be guarded, or let go', { name: policy.ref.name, error: String(error) }));
  }

  /** By uid of a class or an issuer: the RoutedIPs that it serves, sorted, and those for which an address is still being made as it says: without it nobody could be
   *  asked what became of that. */
  #usersByPolicy(): ReadonlyMap<string, readonly User[]> {
    const { pools } = this.#ports;
    const users = [...pools.all]
      .filter(([id]) => isRoutedIP(id))
      .flatMap(([id, object]) => {
        const { namespace, name } = object.ref;
        return this.#policiesOf(id, object).map((uid) => ({ uid, namespace, name }));
      });
    const byPolicy = Map.groupBy(users, ({ uid }) => uid);
    return new Map([...byPolicy].map(([uid, all]) => [uid, all.map(({ namespace, name }) => ({ namespace, name })).sort(byName)]));
  }

  #policiesOf(id: ActorId, object: PoolObject): readonly string[] {
    const { policies } = this.#ports.pools;
    const uid = policies.servesFor(object)?.ref.uid;
    const key = this.#ports.pools.createsAt(id);
    const former = key === null || !isPrivate(key) ? [] : [...policies.all].filter((policy) => policies.keyOf(policy) === key);
    return [...new Set([...(uid === undefined ? [] : [uid]), ...former.map(({ ref }) => ref.uid)])];
  }

  #missing(policy: PoolObject): Trouble | null {
    const { providers, pools } = this.#ports;
    const key = pools.policies.keyOf(policy);
    const missing = key === '' ? null : (providers.all[key]?.facts.missing ?? null);
    return missing === null ? null : { reason: 'SecretNotFound', message: missing };
  }
}

interface User {
  readonly namespace: string;
  readonly name: string;
}

const byName = (a: User, b: User): number => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1);

interface Trouble {
  readonly reason: string;
  readonly message: string;
}

const conditionsOf = (trouble: Trouble | null): readonly Condition[] => [
  {
    type: 'Ready',
    status: trouble ? 'False' : 'True',
    reason: trouble?.reason ?? 'AsExpected',
    message: trouble?.message ?? 'RoutedIPs are served as it says',
  },
];
