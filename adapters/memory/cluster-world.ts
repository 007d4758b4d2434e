import { isDeepStrictEqual } from 'node:util';
import type { Accounted } from '../../actors/ports/accounted.ts';
import type { ClusterEvent, ClusterListener, PoolObject, PoolProjection } from '../../actors/ports/cluster.ts';
import { Unreachable } from '../../actors/ports/errors.ts';
import type { Json } from '../../actors/ports/records.ts';
import { compile, servingNodes } from '../../machines/model/matching.ts';
import { serviceOf, serviceQueryOf } from '../../machines/model/service-ref.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import {
  ADDRESS,
  type Condition,
  type Evacuation,
  fieldsOf,
  MOVE_TO,
  type ObservedNode,
  type ObservedPod,
  type ObservedService,
} from '../../machines/model/types.ts';
import { Annotations } from './annotations.ts';
import type { ClusterWatch, Seen, Tell, Watched } from './cluster-watch.ts';
import { Holders } from './holders.ts';

/** The selectors of a pool. */
export interface MatchSelectors {
  readonly nodeLabel?: string;
  readonly podLabel?: string;
  readonly podNamespace?: string;
}

export interface MemoryClusterOptions {
  /** Derives the query name in a pool's facts from its selectors: the pool machine's own function. */
  queryOf(match: MatchSelectors): string;
  /** Schedules the notification that an object is gone; default: immediately. */
  readonly goes?: (tell: () => void) => void;
  /** Without it creation intents never expire. */
  readonly now?: () => number;
}

/** A watching process. */
interface Listening {
  readonly watch: ClusterWatch;
  readonly write: () => void;
}

/** The term under which a status was written; 0 for none. */
export const termOf = (status: Json | undefined): number => Number(fieldsOf<Json>(status).term ?? 0);

export const keyOf = ({ kind, namespace, name }: Omit<ObjectRef, 'uid'>): string => `${kind} ${namespace}/${name}`;

export const ROUTED_IP = 'RoutedIP';

/** The kind whose facts contain the addresses annotated by pools. */
const RECORD_SET = 'NodeDNSRecordSet';

/** The objects of a cluster in memory, their watchers and their writes: the state that all its processes share. */
export class ClusterWorld {
  readonly pools = new Map<string, PoolObject>();
  readonly policies = new Map<string, PoolObject>();
  readonly nodes = new Map<string, ObservedNode>();
  readonly pods = new Map<string, ObservedPod>();
  readonly services = new Map<string, ObservedService>();
  readonly conditions = new Map<string, readonly Condition[]>();
  readonly projections: PoolProjection[] = [];
  readonly announced: { about: ObjectRef; event: ClusterEvent }[] = [];
  readonly processes = new Set<Listening>();
  readonly holders = new Holders((name) => this.nodes.has(name));
  /** Reported after the write. Pools do not read annotations, so a change of them alone does not notify pools. */
  readonly annotations = new Annotations(() => {
    if (this.#annotationsTold) queueMicrotask(() => this.#tellAnnotations());
    this.#annotationsTold = false;
  });
  /** The evacuation status by node. */
  evacuations: Readonly<Record<string, Evacuation>> = {};
  /** Writes fail. */
  failing = false;
  /** Asynchronous writes (projections, marks) are delayed. */
  lagging = false;
  readonly #options: MemoryClusterOptions;
  #annotationsTold = true;
  #created = 0;

  constructor(options: MemoryClusterOptions) {
    this.#options = options;
  }

  // ---- facts

  /** The current state of everything. */
  get seen(): Seen {
    const { pools, policies, nodes, services, pods } = this;
    return { pools, policies, nodes, services, pods, annotated: (node) => this.annotations.of(node) };
  }

  /** A live view of what one watch sees. */
  live(watched: Watched): Partial<Seen> {
    const { pools, policies, nodes, services, pods, annotated } = this.seen;
    return { objects: { pools }, policies: { policies }, nodes: { nodes, annotated }, services: { services, pods } }[watched];
  }

  /** A snapshot of what one watch sees. */
  copy(watched: Watched): Partial<Seen> {
    const annotated = new Map([...this.nodes.keys()].map((node) => [node, this.annotations.of(node)]));
    return {
      objects: () => ({ pools: new Map(this.pools) }),
      policies: () => ({ policies: new Map(this.policies) }),
      nodes: () => ({ nodes: new Map(this.nodes), annotated: (node: string) => annotated.get(node) ?? [] }),
      services: () => ({ services: new Map(this.services), pods: new Map(this.pods) }),
    }[watched]();
  }

  changed(watched: Watched, tell: Tell): void {
    for (const { watch } of this.processes) watch.changed(watched, tell);
  }

  readonly tellFacts = (listener: ClusterListener, seen: Seen): void => {
    for (const pool of seen.pools.values()) this.#tellFact(listener, seen, pool);
  };

  readonly tellPool = (listener: ClusterListener, seen: Seen, pool: PoolObject): void => {
    listener.poolObserved(pool);
    this.#tellFact(listener, seen, pool);
  };

  poolChanged(pool: PoolObject): void {
    this.changed('objects', (listener, seen) => this.tellPool(listener, seen, pool));
  }

  #tellFact(listener: ClusterListener, seen: Seen, pool: PoolObject): void {
    const fact = this.#factOf(seen, pool);
    const bare = pool.ref.kind !== RECORD_SET;
    listener.clusterObserved(pool.ref, bare ? fact : { ...fact, nodes: fact.nodes.map((node) => annotatedNode(seen, node)) });
  }

  #factOf(seen: Seen, { ref, spec }: PoolObject) {
    const nodes = [...seen.nodes.values()];
    if (ref.kind === ROUTED_IP) {
      const { namespace, name } = serviceOf(ref.namespace, spec);
      const service = seen.services.get(`${namespace}/${name}`) ?? null;
      return { query: serviceQueryOf(namespace, name), nodes, serving: null, service };
    }
    const match = fieldsOf<Json>(fieldsOf<Json>(spec).match) as MatchSelectors;
    return { query: this.#options.queryOf(match), nodes, serving: serving(seen, match) };
  }

  #tellAnnotations(): void {
    this.#annotationsTold = true;
    this.changed('nodes', (listener, seen) => {
      for (const pool of seen.pools.values()) if (pool.ref.kind === RECORD_SET) this.#tellFact(listener, seen, pool);
    });
  }

  // ---- writes

  /** The uid and the creation time, ms since the epoch, of a new object. */
  nextObject(): { readonly uid: string; readonly createdAt: number } {
    this.#created += 1;
    return { uid: `uid-${this.#created}`, createdAt: Date.UTC(2026, 0, 1) + this.#created };
  }

  store(pool: PoolObject): void {
    this.pools.set(keyOf(pool.ref), pool);
  }

  /** The stored object with this uid; a recreated one is a different object. */
  readonly stored = (ref: ObjectRef): PoolObject | null => {
    const pool = this.pools.get(keyOf(ref));
    return pool !== undefined && pool.ref.uid === ref.uid ? pool : null;
  };

  /** `accounted`: what this process's projections of the object have carried. Returns the nodes from which an annotation was removed. */
  write(projection: PoolProjection, accounted: Accounted): ReadonlySet<string> {
    const pool = this.stored(projection.ref);
    const policy = this.policies.get(keyOf(projection.ref));
    if (policy?.ref.uid === projection.ref.uid) {
      this.projections.push(projection);
      this.policies.set(keyOf(policy.ref), { ...policy, status: structuredClone(projection.status) as Json });
      this.conditions.set(keyOf(policy.ref), projection.conditions);
    }
    // A former leader must not overwrite newer state with older.
    if (pool === null || termOf(pool.status) > termOf(projection.status)) return new Set();
    this.projections.push(projection);
    const { now = () => 0 } = this.#options;
    const stays = projection.partial ? pool.status : accounted.left(projection.status, pool.status, now());
    // The watches do not report a change of the status alone.
    this.store({ ...pool, status: { ...fieldsOf<Json>(stays), ...(structuredClone(projection.status) as { [key: string]: Json }) } });
    const kept = projection.partial ? (this.conditions.get(keyOf(pool.ref)) ?? []) : [];
    const others = kept.filter(({ type }) => !projection.conditions.some((condition) => condition.type === type));
    this.conditions.set(keyOf(pool.ref), [...projection.conditions, ...others]);
    this.#annotate(projection);
    const bare = this.annotations.remove(projection.addresses, projection.annotated);
    for (const [node, wanted] of Object.entries(projection.annotated)) if (this.nodes.has(node)) this.annotations.set(node, wanted);
    return bare;
  }

  #annotate({ ref, moveTo, bound }: PoolProjection): void {
    const pool = this.stored(ref);
    const marks = pool?.marks;
    const { [MOVE_TO]: asked, ...others } = marks?.annotations ?? {};
    const left = moveTo?.from === asked ? moveTo?.to : asked;
    const annotations = { ...others, ...(typeof left === 'string' && { [MOVE_TO]: left }), ...(bound && { [ADDRESS]: bound }) };
    if (pool === null || isDeepStrictEqual(annotations, marks?.annotations ?? {})) return;
    this.change(ref, (pool) => ({ ...pool, marks: { finalizers: pool.marks?.finalizers ?? [], annotations } }));
  }

  /** @throws Unreachable while writes fail, and for an object that is gone */
  change(ref: ObjectRef, change: (pool: PoolObject) => PoolObject): PoolObject {
    this.assertWritable();
    const pool = this.stored(ref);
    if (pool === null) throw new Unreachable(`memory cluster: ${keyOf(ref)} is gone`);
    const next = change(pool);
    this.store(next);
    // The address bound to a RoutedIP is stored only in its status.
    const isBound = fieldsOf<Json>(next.status).routedIP !== fieldsOf<Json>(pool.status).routedIP;
    if (isBound || next.generation !== pool.generation || !isDeepStrictEqual(next.marks, pool.marks))
      queueMicrotask(() => this.stored(ref) && this.poolChanged(next));
    return next;
  }

  assertWritable(): void {
    if (this.failing) throw new Unreachable('memory cluster: writes fail');
  }

  /** Sets or removes our finalizer; an object that is being deleted disappears with its last one. */
  guard(ref: ObjectRef, finalizers: readonly string[]): void {
    if (this.stored(ref) === null) return;
    const next = this.change(ref, (pool) => ({ ...pool, marks: { annotations: pool.marks?.annotations ?? {}, finalizers } }));
    if (next.deleting && finalizers.length === 0) this.remove(ref);
  }

  remove(ref: ObjectRef): void {
    const { goes = (tell) => tell() } = this.#options;
    this.pools.delete(keyOf(ref));
    goes(() => this.changed('objects', (listener) => listener.poolGone(ref)));
  }
}

/** Null for selectors that cannot be parsed. */
function serving({ pods }: Seen, match: MatchSelectors): readonly string[] | null {
  try {
    return servingNodes([...pods.values()], compile(match));
  } catch {
    return null;
  }
}

/** A node as the watch shows it with the pools' annotations; annotations set by a test take precedence. */
function annotatedNode({ annotated }: Seen, node: ObservedNode): ObservedNode {
  const reservedIPs = annotated(node.name) ?? [];
  return reservedIPs.length === 0 ? node : { reservedIPs, ...node };
}
