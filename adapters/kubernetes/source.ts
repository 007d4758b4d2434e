import { isDeepStrictEqual } from 'node:util';
import type { ClusterListener, ClusterSource, PoolObject } from '../../actors/ports/cluster.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import type { ObservedNode, ObservedPod } from '../../machines/types.ts';
import { isInvalid, messageOf } from './api-error.ts';
import { type CacheState, cacheStates } from './cache-state.ts';
import { intern } from './intern.ts';
import { KindWatches } from './kind-watches.ts';
import { kindOf } from './kinds.ts';
import type { Surroundings } from './reflector.ts';
import { keysOf, type MatchSelectors, type Selection, selectionOf } from './selection.ts';
import { type Detail, SharedWatches, type Use, type WatchUser } from './shared-watches.ts';
import { keyOf, type SeenNode, type SeenObject, trimNode, trimNodeWithAddresses, trimPod } from './trim.ts';

export interface SourceOptions extends Surroundings {
  /** The name of an object's selectors that its facts bear: the machines' own function. */
  queryOf(match: MatchSelectors): string;
  /** Whether the server knows any of the kinds that select nodes. Told when it becomes known and whenever it changes. */
  served?(served: boolean): void;
}

/** What was seen last, for the writer: facts, never older than the last event. */
export interface Seen {
  object(ref: ObjectRef): SeenObject | null;
  /** Every node in some cache; one that is in two is there twice. */
  nodes(): Iterable<SeenNode>;
}

/** One object and the watches that its selectors ask for. */
interface Watched {
  readonly object: PoolObject;
  readonly selection: Selection | null;
  readonly nodes: Use<SeenNode> | null;
  readonly pods: Use<ObservedPod> | null;
}

const TRIM_NODE = { plain: trimNode, full: trimNodeWithAddresses } as const;

/** A change of annotations alone is for the writer; what is read of them is among the addresses. */
const sameNode = (before: SeenNode, after: SeenNode): boolean => isDeepStrictEqual(before.node, after.node);

const withoutAddresses = ({ node }: SeenNode): ObservedNode => ({ ...node, externalIPs: [], internalIPs: [], reservedIPs: [] });

/** What a watch keeps for others is no news to who does not read it: the operator's own annotations would come back to every pool. */
const IGNORES: Readonly<Record<Detail, (before: SeenNode, after: SeenNode) => boolean>> = {
  plain: (before, after) => isDeepStrictEqual(withoutAddresses(before), withoutAddresses(after)),
  full: () => false,
};

/** Whether a query has told all that it will: complete, or refused by the server as no selector. */
const settled = (use: Use<unknown> | null): boolean => use === null || use.values() !== null || isInvalid(use.trouble());

const nameOf = ({ kind, namespace, name }: ObjectRef): string => `${kind} ${keyOf(namespace, name)}`;

/** The cluster as seen through watches: FloatingIPPools and NodeDNSRecordSets of all namespaces and, for each distinct selector of theirs, nodes and pods. */
export class KubernetesSource implements ClusterSource, Seen {
  readonly #options: SourceOptions;
  readonly #kinds: KindWatches;
  readonly #nodes: SharedWatches<SeenNode>;
  readonly #pods: SharedWatches<ObservedPod>;
  readonly #watched = new Map<string, Watched>();
  /** Objects whose facts changed in this turn of the event loop. */
  readonly #changed = new Set<string>();
  readonly #bare = new WeakMap<readonly SeenNode[], readonly ObservedNode[]>();
  #flushing = false;
  #served: boolean | null = null;
  #listener: ClusterListener | null = null;
  #ready: (() => void) | null = null;

  constructor(options: SourceOptions) {
    this.#options = options;
    const shared = intern();
    this.#nodes = new SharedWatches(options, (query, detail) => {
      const keys = keysOf(query.labelSelector);
      return { query, trim: (object) => TRIM_NODE[detail](object, keys, shared), same: sameNode };
    });
    this.#pods = new SharedWatches<ObservedPod>(options, (query) => {
      const keys = keysOf(query.labelSelector);
      return { query, trim: (object) => trimPod(object, keys, shared), same: isDeepStrictEqual };
    });
    this.#kinds = new KindWatches(options, {
      set: (object) => this.#objectSet(object),
      gone: (object) => this.#objectGone(object),
      changed: () => this.#schedule(),
    });
  }

  start(listener: ClusterListener): Promise<void> {
    if (this.#listener !== null) throw new Error('the source was started already');
    this.#listener = listener;
    this.#kinds.start();
    return new Promise((resolve) => {
      this.#ready = resolve;
    });
  }

  resync(): void {
    for (const [name, { object }] of this.#watched) {
      this.#tell((listener) => listener.poolObserved(this.#kinds.get(object.ref)?.object ?? object));
      this.#changed.add(name);
    }
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#listener = null;
    this.#kinds.stop();
    for (const { nodes, pods } of this.#watched.values()) {
      nodes?.release();
      pods?.release();
    }
    this.#watched.clear();
  }

  object(ref: ObjectRef): SeenObject | null {
    return this.#kinds.get(ref);
  }

  nodes(): Iterable<SeenNode> {
    return this.#nodes.values();
  }

  /** Whether all objects of this kind are known: only then is one that was not told a deleted one. */
  knows(kind: string): boolean {
    return this.#kinds.knows(kind);
  }

  /** How the caches stand, by kind of object; nothing of kinds that nobody asks for or that are not served. */
  caches(): readonly CacheState[] {
    const nodes = this.#nodes.reflectors().map((reflector) => ({ kind: 'Node', reflector }));
    const pods = this.#pods.reflectors().map((reflector) => ({ kind: 'Pod', reflector }));
    return cacheStates([...this.#kinds.reflectors(), ...nodes, ...pods]);
  }

  /** What is not yet known, and why, for people; empty when everything is synced. */
  missing(): readonly string[] {
    const uses = [...this.#watched.values()].flatMap(({ nodes, pods }) => [nodes, pods]).filter((use) => !settled(use));
    const troubles = [...uses.map((use) => use?.trouble() ?? null), ...this.#kinds.missing()];
    return [...new Set(troubles.map((trouble) => (trouble === null ? 'a first list is not complete' : messageOf(trouble))))];
  }

  #objectSet(object: PoolObject): void {
    const name = nameOf(object.ref);
    this.#watched.set(name, this.#rewatch(name, object, this.#watched.get(name) ?? null));
    this.#tell((listener) => listener.poolObserved(object));
    // Facts under new selectors are told as soon as they are known, and repeated for a new spec.
    this.#changed.add(name);
    this.#schedule();
  }

  /** The object's watches under its present selectors. New ones are taken before old ones are given back, so that common ones go on. */
  #rewatch(name: string, object: PoolObject, before: Watched | null): Watched {
    const selection = selectionOf(object.spec);
    if (before !== null && isDeepStrictEqual(before.selection, selection)) return { ...before, object };
    const { detail } = kindOf(object.ref.kind);
    const nodes = selection === null ? null : this.#nodes.use(selection.nodes, this.#user(name, detail, IGNORES[detail]));
    const pods = selection?.pods
      ? this.#pods.use(
          selection.pods,
          this.#user(name, 'plain', () => false),
        )
      : null;
    before?.nodes?.release();
    before?.pods?.release();
    return { object, selection, nodes, pods };
  }

  #user<T>(name: string, detail: Detail, ignores: WatchUser<T>['ignores']): WatchUser<T> {
    const changed = (): void => {
      this.#changed.add(name);
      this.#schedule();
    };
    return { detail, ignores, changed, troubled: () => this.#schedule() };
  }

  #objectGone({ ref }: PoolObject): void {
    const name = nameOf(ref);
    const before = this.#watched.get(name);
    before?.nodes?.release();
    before?.pods?.release();
    this.#watched.delete(name);
    this.#changed.delete(name);
    this.#tell((listener) => listener.poolGone(ref));
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
    const names = [...this.#changed];
    this.#changed.clear();
    for (const name of names) {
      const watched = this.#watched.get(name);
      if (watched !== undefined) this.#tellFact(watched);
    }
    this.#tellServed();
    this.#checkReady();
  }

  #tellFact({ object, selection, nodes, pods }: Watched): void {
    const seenNodes = nodes?.values() ?? null;
    const seenPods = pods?.values() ?? null;
    if (selection === null || seenNodes === null || (pods !== null && seenPods === null)) return;
    const fact = { query: this.#options.queryOf(selection.match), nodes: this.#bareNodes(seenNodes), pods: seenPods };
    this.#tell((listener) => listener.clusterObserved(object.ref, fact));
  }

  /** One array for all objects that see the same nodes. */
  #bareNodes(seen: readonly SeenNode[]): readonly ObservedNode[] {
    const known = this.#bare.get(seen);
    if (known !== undefined) return known;
    const bare = seen.map(({ node }) => node);
    this.#bare.set(seen, bare);
    return bare;
  }

  #checkReady(): void {
    if (this.#ready === null || !this.#kinds.settled) return;
    const all = [...this.#watched.values()].every(({ nodes, pods }) => settled(nodes) && settled(pods));
    if (!all) return;
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
