import { isDeepStrictEqual } from 'node:util';
import type { ClusterListener, ClusterSource, PoolObject } from '../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { ObservedNode, ObservedPod } from '../../machines/types.ts';
import { isInvalid, isNotFound, messageOf } from './api-error.ts';
import { intern } from './intern.ts';
import { Reflector, type Surroundings } from './reflector.ts';
import { keysOf, type MatchSelectors, POOLS, type Selection, selectionOf } from './selection.ts';
import { SharedWatches, type Use, type WatchUser } from './shared-watches.ts';
import { keyOf, type SeenNode, type SeenPool, trimNode, trimPod, trimPool } from './trim.ts';

export interface SourceOptions extends Surroundings {
  /** The name of a pool's selectors that its facts bear: the pool machine's own function. */
  queryOf(match: MatchSelectors): string;
  /** Whether the server knows FloatingIPPools. Told when it becomes known and whenever it changes. */
  served?(served: boolean): void;
}

/** What was seen last, for the writer: facts, never older than the last event. */
export interface Seen {
  pool(ref: ObjectRef): SeenPool | null;
  /** Every node in some cache; one that is in two is there twice. */
  nodes(): Iterable<SeenNode>;
}

interface Progress {
  readonly reflector: { readonly synced: boolean; readonly trouble: Error | null };
}

/** One pool and the watches that its selectors ask for. */
interface Watched {
  readonly pool: PoolObject;
  readonly selection: Selection | null;
  readonly nodes: Use<SeenNode> | null;
  readonly pods: Use<ObservedPod> | null;
}

/** Status is the operator's own writing: a change of it alone is no news. `resync` tells it. */
const samePool = (before: SeenPool, after: SeenPool): boolean =>
  before.pool.generation === after.pool.generation &&
  before.pool.deleting === after.pool.deleting &&
  isDeepStrictEqual(before.pool.spec, after.pool.spec);

/** Our annotations are for the writer; a change of them alone is no news. */
const sameNode = (before: SeenNode, after: SeenNode): boolean => isDeepStrictEqual(before.node, after.node);

/** Whether a query has told all that it will: synced, or refused by the server as no selector. */
const settled = (use: Progress | null): boolean => use === null || use.reflector.synced || isInvalid(use.reflector.trouble);

/** The cluster as seen through watches: FloatingIPPools of all namespaces and, for each distinct selector of theirs, nodes and pods. */
export class KubernetesSource implements ClusterSource, Seen {
  readonly #options: SourceOptions;
  readonly #pools: Reflector<SeenPool>;
  readonly #nodes: SharedWatches<SeenNode>;
  readonly #pods: SharedWatches<ObservedPod>;
  readonly #watched = new Map<string, Watched>();
  /** Pools whose facts changed in this turn of the event loop. */
  readonly #changed = new Set<string>();
  readonly #bare = new WeakMap<readonly SeenNode[], readonly ObservedNode[]>();
  #flushing = false;
  #served: boolean | null = null;
  #listener: ClusterListener | null = null;
  #ready: (() => void) | null = null;

  constructor(options: SourceOptions) {
    this.#options = options;
    const shared = intern();
    this.#nodes = new SharedWatches(options, (query) => {
      const keys = keysOf(query.labelSelector);
      return { query, trim: (object) => trimNode(object, keys, shared), same: sameNode };
    });
    this.#pods = new SharedWatches<ObservedPod>(options, (query) => {
      const keys = keysOf(query.labelSelector);
      return { query, trim: (object) => trimPod(object, keys, shared), same: isDeepStrictEqual };
    });
    this.#pools = new Reflector(
      options,
      { query: POOLS, trim: trimPool, same: samePool },
      {
        set: ({ pool }) => this.#poolSet(pool),
        gone: ({ pool }) => this.#poolGone(pool),
        synced: () => this.#schedule(),
        troubled: (error) => this.#poolsTroubled(error),
      },
    );
  }

  start(listener: ClusterListener): Promise<void> {
    if (this.#listener !== null) throw new Error('the source was started already');
    this.#listener = listener;
    this.#pools.start();
    return new Promise((resolve) => {
      this.#ready = resolve;
    });
  }

  resync(): void {
    for (const [key, { pool }] of this.#watched) {
      this.#tell((listener) => listener.poolObserved(this.#pools.get(key)?.pool ?? pool));
      this.#changed.add(key);
    }
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#listener = null;
    this.#pools.stop();
    for (const { nodes, pods } of this.#watched.values()) {
      nodes?.release();
      pods?.release();
    }
    this.#watched.clear();
  }

  pool({ namespace, name, uid }: ObjectRef): SeenPool | null {
    const seen = this.#pools.get(keyOf(namespace, name));
    return seen?.pool.ref.uid === uid ? seen : null;
  }

  *nodes(): Iterable<SeenNode> {
    for (const reflector of this.#nodes.reflectors()) yield* reflector.values();
  }

  /** What is not yet known, and why, for people; empty when everything is synced. */
  missing(): readonly string[] {
    const uses = [...this.#watched.values()].flatMap(({ nodes, pods }) => [nodes, pods]).filter((use) => !settled(use));
    const troubles = uses.map((use) => use?.reflector.trouble ?? null);
    if (!this.#pools.synced) troubles.push(this.#pools.trouble);
    return [...new Set(troubles.map((trouble) => (trouble === null ? 'a first list is not complete' : messageOf(trouble))))];
  }

  #poolSet(pool: PoolObject): void {
    const key = keyOf(pool.ref.namespace, pool.ref.name);
    const before = this.#watched.get(key) ?? null;
    const watched = this.#rewatch(key, pool, before);
    this.#watched.set(key, watched);
    this.#tell((listener) => listener.poolObserved(pool));
    // Facts under new selectors are told as soon as they are known, and repeated for a new spec.
    this.#changed.add(key);
    this.#schedule();
  }

  /** The pool's watches under its present selectors. New ones are taken before old ones are given back, so that common ones go on. */
  #rewatch(key: string, pool: PoolObject, before: Watched | null): Watched {
    const selection = selectionOf(pool.spec);
    if (before !== null && isDeepStrictEqual(before.selection, selection)) return { ...before, pool };
    const user = (): WatchUser => ({
      changed: () => {
        this.#changed.add(key);
        this.#schedule();
      },
      troubled: () => this.#schedule(),
    });
    const nodes = selection === null ? null : this.#nodes.use(selection.nodes, user());
    const pods = selection?.pods ? this.#pods.use(selection.pods, user()) : null;
    before?.nodes?.release();
    before?.pods?.release();
    return { pool, selection, nodes, pods };
  }

  #poolGone({ ref }: PoolObject): void {
    const key = keyOf(ref.namespace, ref.name);
    const before = this.#watched.get(key);
    before?.nodes?.release();
    before?.pods?.release();
    this.#watched.delete(key);
    this.#changed.delete(key);
    this.#tell((listener) => listener.poolGone(ref));
  }

  #poolsTroubled(error: Error | null): void {
    if (error === null) this.#tellServed(true);
    else if (isNotFound(error)) this.#tellServed(false);
  }

  /** Facts are told once all that arrived together is in the caches. */
  #schedule(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const keys = [...this.#changed];
    this.#changed.clear();
    for (const key of keys) {
      const watched = this.#watched.get(key);
      if (watched !== undefined) this.#tellFact(watched);
    }
    if (this.#pools.synced && this.#pools.trouble === null) this.#tellServed(true);
    this.#checkReady();
  }

  #tellFact({ pool, selection, nodes, pods }: Watched): void {
    if (selection === null || !nodes?.reflector.synced || (pods !== null && !pods.reflector.synced)) return;
    const fact = {
      query: this.#options.queryOf(selection.match),
      nodes: this.#bareNodes(nodes.reflector.values()),
      pods: pods?.reflector.values() ?? null,
    };
    this.#tell((listener) => listener.clusterObserved(pool.ref, fact));
  }

  /** One array for all pools that see the same nodes. */
  #bareNodes(seen: readonly SeenNode[]): readonly ObservedNode[] {
    const known = this.#bare.get(seen);
    if (known !== undefined) return known;
    const bare = seen.map(({ node }) => node);
    this.#bare.set(seen, bare);
    return bare;
  }

  #checkReady(): void {
    if (this.#ready === null || !this.#pools.synced) return;
    const all = [...this.#watched.values()].every(({ nodes, pods }) => settled(nodes) && settled(pods));
    if (!all) return;
    this.#ready();
    this.#ready = null;
  }

  #tellServed(served: boolean): void {
    if (this.#served === served) return;
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
