import { isDeepStrictEqual } from 'node:util';
import type { ClusterListener, ClusterSource, PoolObject } from '../../../actors/ports/cluster.ts';
import { inSlices } from '../../../actors/ports/in-slices.ts';
import { objectName } from '../../../actors/ports/observers.ts';
import type { EvacuatedNode, ObjectRef } from '../../../machines/model/types.ts';
import { type CacheState, cacheStates } from '../cache/cache-state.ts';
import { KindWatches } from '../cache/kind-watches.ts';
import { type Controller, kindOf, kindsOf } from '../cache/kinds.ts';
import type { SeenNode, SeenObject } from '../cache/trim.ts';
import { messageOf } from '../client/api-error.ts';
import { type Cause, Pace } from '../client/pace.ts';
import { ClusterWatches, type ClusterWatchesOptions } from './cluster-watches.ts';
import type { Follower } from './follower.ts';

export interface SourceOptions extends ClusterWatchesOptions {
  /** Controllers whose kinds are watched. */
  readonly controllers: readonly Controller[];
  /** Whether the server serves any kind that the operator works for. Called when that becomes known and on every change. */
  served?(served: boolean): void;
}

/** The last observed state, for the writer: never older than the last event. */
export interface Seen {
  object(ref: ObjectRef): SeenObject | null;
  /** All observed nodes. */
  nodes(): Iterable<SeenNode>;
  node(name: string): SeenNode | null;
  /** The names of the nodes annotated with the address. */
  nodesBearing(address: string): Iterable<string>;
}

/** Changes for one object within this time, ms, are reported together. Decisions about thousands of nodes take longer: Pod changes that concern no address
 *  wait this much longer, ms, for every thousand nodes that serve. */
const COALESCE_MS = 30;
const COALESCE_MS_A_THOUSAND = 20;

/** One object with its follower. */
interface Watched {
  readonly object: PoolObject;
  readonly follower: Follower;
}

const isPolicy = ({ ref }: PoolObject): boolean => kindOf(ref.kind).role === 'policy';

/** The cluster as seen through watches: the objects of its controllers' kinds in all namespaces and, where these need them, nodes, pods, Services and endpoints. */
export class KubernetesSource implements ClusterSource, Seen {
  readonly #options: SourceOptions;
  readonly #kinds: KindWatches;
  readonly #cluster: ClusterWatches;
  readonly #watched = new Map<string, Watched>();
  /** Schedules when the fact of each object is reported. */
  readonly #facts: Pace;
  /** Objects with a watch that failed, or works again, since the last flush. */
  readonly #troubled = new Set<string>();
  /** The last reported obstacle of each object. */
  readonly #hindrances = new Map<string, string>();
  /** The last reported nodes to evacuate. */
  #evacuations: readonly EvacuatedNode[] = [];
  /** The last reported machines of all nodes. */
  #machines: ReadonlyMap<string, string> | null = null;
  #flushing = false;
  #served: boolean | null = null;
  #listener: ClusterListener | null = null;
  #ready: (() => void) | null = null;

  constructor(options: SourceOptions) {
    this.#options = options;
    this.#cluster = new ClusterWatches(options);
    this.#facts = new Pace(options.clock, () => this.#schedule());
    this.#kinds = new KindWatches(options, kindsOf(options.controllers), {
      set: (object) => this.#objectSet(object),
      gone: (object) => this.#objectGone(object),
      changed: () => this.#schedule(),
    });
  }

  start(listener: ClusterListener): Promise<void> {
    if (this.#listener !== null) throw new Error('the source was started already');
    this.#listener = listener;
    this.#kinds.start();
    this.#schedule();
    return new Promise((resolve) => {
      this.#ready = resolve;
    });
  }

  async resync(restMs = 0): Promise<void> {
    this.#cluster.review();
    for (const policy of this.#kinds.policies()) this.#tell((listener) => listener.policyObserved?.(policy));
    await inSlices(
      this.#watched,
      this.#options.clock,
      () => this.#listener === null,
      ([name, { object }]) => {
        const present = this.#kinds.get(object.ref)?.object ?? object;
        const watched = this.#watched.get(name);
        if (watched) this.#watched.set(name, { ...watched, object: present });
        this.#tell((listener) => listener.poolObserved(present));
        this.#facts.now(name);
      },
      restMs,
    );
  }

  async close(): Promise<void> {
    this.#listener = null;
    this.#kinds.stop();
    for (const { follower } of this.#watched.values()) follower.release();
    this.#watched.clear();
  }

  /** Whether the server serves other kinds that the operator works for: then none of these need to be served. */
  othersServed(served: boolean): void {
    this.#kinds.othersServed(served);
    this.#schedule();
  }

  object(ref: ObjectRef): SeenObject | null {
    return this.#kinds.get(ref);
  }

  nodes(): Iterable<SeenNode> {
    return this.#cluster.nodes();
  }

  node(name: string): SeenNode | null {
    return this.#cluster.node(name);
  }

  nodesBearing(address: string): Iterable<string> {
    return this.#cluster.nodesBearing(address);
  }

  /** Whether all objects of this kind are known: only then does an unreported object count as deleted. */
  knows(kind: string): boolean {
    return this.#kinds.knows(kind);
  }

  /** State of the caches by kind of object; without kinds that are not used or not served. */
  caches(): readonly CacheState[] {
    return cacheStates([...this.#kinds.reflectors(), ...this.#cluster.caches()]);
  }

  /** Human-readable reasons why something is not yet known; empty when everything is synced. */
  missing(): readonly string[] {
    const troubles = [...[...this.#watched.values()].flatMap(({ follower }) => follower.troubles()), ...this.#kinds.missing()];
    return [...new Set(troubles.map((trouble) => (trouble === null ? 'a first list is not complete' : messageOf(trouble))))];
  }

  #objectSet(object: PoolObject): void {
    if (isPolicy(object)) {
      this.#tell((listener) => listener.policyObserved?.(object));
      return;
    }
    const name = objectName(object.ref);
    const follower = this.#watched.get(name)?.follower ?? this.#follow(name, object);
    follower.follow(object);
    this.#watched.set(name, { object, follower });
    this.#tell((listener) => listener.poolObserved(object));
    // Facts under new selectors are reported as soon as they are known, and repeated for a new spec.
    this.#facts.now(name);
    this.#troubled.add(name);
  }

  #follow(name: string, object: PoolObject): Follower {
    const changed = (cause: Cause): void => this.#facts.news(name, cause);
    const troubled = (): void => {
      this.#troubled.add(name);
      this.#schedule();
    };
    const news = { changed, troubled };
    return this.#cluster.follower(object.ref, news, () => this.#kinds.get(object.ref)?.object.status ?? null);
  }

  #objectGone(object: PoolObject): void {
    const { ref } = object;
    if (isPolicy(object)) {
      this.#tell((listener) => listener.policyGone?.(ref));
      return;
    }
    const name = objectName(ref);
    this.#watched.get(name)?.follower.release();
    this.#watched.delete(name);
    this.#facts.forget(name);
    this.#hindrances.delete(name);
    this.#tell((listener) => listener.poolGone(ref));
  }

  /** Facts are reported once everything that arrived together is in the caches. */
  #schedule(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    let rest: Promise<void> | null = null;
    const isLate = (): boolean => {
      rest = this.#options.clock.yieldToEventLoop?.() ?? null;
      return rest !== null;
    };
    this.#tellMachines();
    const isAllTold = this.#facts.flush((name, cause) => this.#tellFact(this.#watched.get(name), cause), isLate);
    for (const name of this.#troubled) this.#tellHindrance(name);
    this.#troubled.clear();
    this.#tellEvacuations();
    this.#tellServed();
    if (rest) void (rest as Promise<void>).then(() => this.#schedule());
    if (isAllTold) this.#checkReady();
  }

  /** Returns for how long further changes are coalesced, ms; null when there is nothing to report. */
  #tellFact(watched: Watched | undefined, cause: Cause): number | null {
    const fact = watched?.follower.fact() ?? null;
    if (watched === undefined || fact === null) return null;
    this.#tell((listener) => listener.clusterObserved(watched.object.ref, fact));
    return COALESCE_MS + (cause === 'node' ? 0 : COALESCE_MS_A_THOUSAND * Math.floor((fact.serving?.length ?? 0) / 1_000));
  }

  #tellHindrance(name: string): void {
    const watched = this.#watched.get(name);
    const why = watched?.follower.forbidden() ?? null;
    if (watched === undefined || why === (this.#hindrances.get(name) ?? null)) return;
    if (why === null) this.#hindrances.delete(name);
    else this.#hindrances.set(name, why);
    this.#tell((listener) => listener.hindered?.(watched.object.ref, why));
  }

  #tellMachines(): void {
    const machines = this.#cluster.machines();
    if (machines === null || machines === this.#machines) return;
    this.#machines = machines;
    this.#tell((listener) => listener.machinesObserved?.(machines));
  }

  #tellEvacuations(): void {
    const nodes = this.#cluster.evacuating();
    if (nodes === this.#evacuations || isDeepStrictEqual(nodes, this.#evacuations)) return;
    this.#evacuations = nodes;
    this.#tell((listener) => listener.evacuationsObserved?.(nodes));
  }

  #checkReady(): void {
    if (this.#ready === null || !this.#kinds.settled) return;
    if (![...this.#watched.values()].every(({ follower }) => follower.settled())) return;
    this.#ready();
    this.#ready = null;
  }

  #tellServed(): void {
    const { served } = this.#kinds;
    if (served === null || this.#served === served) return;
    this.#served = served;
    this.#options.served?.(served);
  }

  #tell(say: (listener: ClusterListener) => void): void {
    if (this.#listener === null) return;
    try {
      say(this.#listener);
    } catch (error) {
      this.#options.log.error('a listener of the cluster failed', { error: messageOf(error) });
    }
  }
}
