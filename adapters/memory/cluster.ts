import { isDeepStrictEqual } from 'node:util';
import { Fenced, Unreachable } from '../../actors/errors.ts';
import type {
  ClusterEvent,
  ClusterListener,
  ClusterSource,
  ClusterWriter,
  Condition,
  PoolObject,
  PoolProjection,
} from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports.ts';
import type { ObjectRef } from '../../machines/jobs.ts';
import { serviceOf, serviceQueryOf } from '../../machines/service.ts';
import { type Address, FINALIZER, type ObservedNode, type ObservedPod, type ObservedService } from '../../machines/types.ts';
import { Annotations } from './annotations.ts';
import { Holders, wishes } from './holders.ts';

/** The selectors of a pool. */
export interface MatchSelectors {
  readonly nodeLabel?: string;
  readonly podLabel?: string;
  readonly podNamespace?: string;
}

export interface MemoryClusterOptions {
  /** The name of a pool's selectors that its facts bear: the pool machine's own function. */
  queryOf(match: MatchSelectors): string;
  /** Tells that an object is gone, at once unless given. */
  readonly goes?: (tell: () => void) => void;
}

/** The cluster as one process watches and writes it. */
export interface ProcessCluster extends ClusterSource, ClusterWriter {
  /** The process dies: it is told nothing more and writes nothing more. */
  end(): void;
}

/** Pools, NodeDNSRecordSets, nodes and pods in memory. Both kinds are called pools here, as in the port. Selectors are left to them: facts bear all
 *  nodes, and all pods when the pool selects any. */
export interface MemoryCluster {
  process(): ProcessCluster;
  /** Creates or changes a pool, or an object of another `kind`; a changed spec is another generation. Answers its reference. */
  setPool(pool: { readonly kind?: string; readonly namespace?: string; readonly name: string; readonly spec: Json }): ObjectRef;
  markDeleting(ref: ObjectRef): void;
  removePool(ref: ObjectRef): void;
  setNode(...nodes: readonly ObservedNode[]): void;
  removeNode(name: string): void;
  setPod(...pods: readonly ObservedPod[]): void;
  removePod(namespace: string, name: string): void;
  /** Puts annotations of the group routedip.io in the place of those that the object has. */
  annotate(ref: ObjectRef, annotations: Readonly<Record<string, string>>): void;
  /** Creates or changes a ClusterRoutedIPClass or a RoutedIPIssuer. */
  setPolicy(policy: { readonly kind: string; readonly namespace?: string; readonly name: string; readonly spec: Json }): ObjectRef;
  removePolicy(ref: ObjectRef): void;
  /** Null removes it. */
  setService(namespace: string, name: string, service: ObservedService | null): void;
  /** Node → effect of the holder's taint that it bears. */
  holders(): Readonly<Record<string, string>>;
  /** Takes the holder's taint off a node, as an administrator may. */
  untaint(node: string): void;
  pool(ref: ObjectRef): PoolObject | null;
  /** Every projection that was written, oldest first. */
  readonly projections: readonly PoolProjection[];
  /** Every Event that was announced, once each, oldest first; also of pools that are gone. */
  readonly announced: readonly { readonly about: ObjectRef; readonly event: ClusterEvent }[];
  conditions(ref: ObjectRef): readonly Condition[];
  /** Node → address, as annotated; of IPv4 when no family is named. */
  annotations(family?: 4 | 6): Readonly<Record<string, Address>>;
  /** Writes fail until `mendWrites`: projections wait, the others throw `Unreachable`. */
  failWrites(): void;
  mendWrites(): void;
}

interface Listening {
  readonly tell: (what: (listener: ClusterListener) => void) => void;
  readonly write: () => void;
}

type Fields = { readonly [key: string]: Json };

const fieldsOf = (json: Json | undefined): Fields =>
  typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Fields) : {};

/** The term under which a status was written; 0 for none. */
const termOf = (status: Json | undefined): number => Number(fieldsOf(status).term ?? 0);

const keyOf = ({ kind, namespace, name }: Omit<ObjectRef, 'uid'>): string => `${kind} ${namespace}/${name}`;

const ROUTED_IP = 'RoutedIP';

/** The kind whose facts bear the addresses that pools have annotated. */
const RECORD_SET = 'NodeDNSRecordSet';

export const memoryCluster = ({ queryOf, goes = (tell) => tell() }: MemoryClusterOptions): MemoryCluster => {
  const pools = new Map<string, PoolObject>();
  const nodes = new Map<string, ObservedNode>();
  const pods = new Map<string, ObservedPod>();
  const conditions = new Map<string, readonly Condition[]>();
  const projections: PoolProjection[] = [];
  const announced: { about: ObjectRef; event: ClusterEvent }[] = [];
  const processes = new Set<Listening>();
  const policies = new Map<string, PoolObject>();
  const services = new Map<string, ObservedService>();
  const holders = new Holders((name) => nodes.has(name));
  let created = 0;
  let failing = false;

  // ---- facts

  const tellAll = (what: (listener: ClusterListener) => void): void => {
    for (const { tell } of processes) tell(what);
  };
  const factOf = ({ ref, spec }: PoolObject) => {
    if (ref.kind === ROUTED_IP) {
      const { namespace, name } = serviceOf(ref.namespace, spec);
      const service = services.get(`${namespace}/${name}`) ?? null;
      return { query: serviceQueryOf(namespace, name), nodes: [...nodes.values()], pods: null, service };
    }
    const match = fieldsOf(fieldsOf(spec).match) as MatchSelectors;
    const wantsPods = Boolean(match.podLabel) || Boolean(match.podNamespace);
    return { query: queryOf(match), nodes: [...nodes.values()], pods: wantsPods ? [...pods.values()] : null };
  };
  /** A node as the watch shows it once pools have annotated it; what a test says of its annotations stands. */
  const annotatedNode = (node: ObservedNode): ObservedNode => {
    const reservedIPs = annotations.of(node.name);
    return reservedIPs.length === 0 ? node : { reservedIPs, ...node };
  };
  const tellFact = (listener: ClusterListener, pool: PoolObject): void => {
    const fact = factOf(pool);
    const bare = pool.ref.kind !== RECORD_SET;
    listener.clusterObserved(pool.ref, bare ? fact : { ...fact, nodes: fact.nodes.map(annotatedNode) });
  };
  const tellFacts = (listener: ClusterListener): void => {
    for (const pool of pools.values()) tellFact(listener, pool);
  };
  let annotationsTold = true;
  /** Told after the write. Pools do not read annotations: a change of them alone is no news to them. */
  const annotations = new Annotations(() => {
    if (annotationsTold) queueMicrotask(tellAnnotations);
    annotationsTold = false;
  });
  const tellAnnotations = (): void => {
    annotationsTold = true;
    for (const pool of pools.values()) if (pool.ref.kind === RECORD_SET) tellAll((listener) => tellFact(listener, pool));
  };
  const tellPool = (pool: PoolObject): void => {
    tellAll((listener) => {
      listener.poolObserved(pool);
      tellFact(listener, pool);
    });
  };
  const store = (pool: PoolObject): void => void pools.set(keyOf(pool.ref), pool);
  /** The pool of this very object; one that was deleted and made again is another. */
  const stored = (ref: ObjectRef): PoolObject | null => {
    const pool = pools.get(keyOf(ref));
    return pool !== undefined && pool.ref.uid === ref.uid ? pool : null;
  };

  // ---- writes

  const write = (projection: PoolProjection): void => {
    const pool = stored(projection.ref);
    const policy = policies.get(keyOf(projection.ref));
    if (policy?.ref.uid === projection.ref.uid) {
      projections.push(projection);
      policies.set(keyOf(policy.ref), { ...policy, status: structuredClone(projection.status) as Json });
      conditions.set(keyOf(policy.ref), projection.conditions);
    }
    // A leader that was overtaken does not put its older view over the newer one.
    if (pool === null || termOf(pool.status) > termOf(projection.status)) return;
    projections.push(projection);
    // A change of status alone is no news to the watches.
    store({ ...pool, status: structuredClone(projection.status) as Json });
    conditions.set(keyOf(pool.ref), projection.conditions);
    annotations.remove(projection.addresses, projection.annotated);
    for (const [node, wanted] of Object.entries(projection.annotated)) if (nodes.has(node)) annotations.set(node, wanted);
  };
  const changed = (ref: ObjectRef, change: (pool: PoolObject) => PoolObject): PoolObject => {
    if (failing) throw new Unreachable('memory cluster: writes fail');
    const pool = stored(ref);
    if (pool === null) throw new Unreachable(`memory cluster: ${keyOf(ref)} is gone`);
    const next = change(pool);
    store(next);
    if (next.generation !== pool.generation || !isDeepStrictEqual(next.marks, pool.marks))
      queueMicrotask(() => stored(ref) && tellPool(next));
    return next;
  };
  /** Our finalizer is put on or taken off; an object that is being deleted goes with it. */
  const guard = (ref: ObjectRef, finalizers: readonly string[]): void => {
    if (stored(ref) === null) return;
    const next = changed(ref, (pool) => ({ ...pool, marks: { annotations: pool.marks?.annotations ?? {}, finalizers } }));
    if (next.deleting && finalizers.length === 0) remove(ref);
  };
  const remove = (ref: ObjectRef): void => {
    pools.delete(keyOf(ref));
    goes(() => tellAll((listener) => listener.poolGone(ref)));
  };

  const process = (): ProcessCluster => {
    const marks = wishes(holders);
    const waiting = new Map<string, () => void>();
    let listener: ClusterListener | null = null;
    let ended = false;
    const writeWaiting = (): void => {
      if (failing || ended) return;
      const all = [...waiting.values()];
      waiting.clear();
      for (const each of all) each();
    };
    const soon = (key: string, run: () => void): void => {
      waiting.set(key, run);
      queueMicrotask(writeWaiting);
    };
    const whileAlive = async <T>(run: () => T): Promise<T> => {
      await Promise.resolve();
      if (ended) return new Promise(() => undefined);
      const result = run();
      await Promise.resolve();
      return ended ? new Promise(() => undefined) : result;
    };
    const self: Listening = {
      tell: (what) => {
        if (listener !== null && !ended) what(listener);
      },
      write: writeWaiting,
    };
    processes.add(self);
    const end = (): void => {
      ended = true;
      processes.delete(self);
    };
    return {
      start: (told) =>
        whileAlive(() => {
          listener = told;
          for (const policy of policies.values()) told.policyObserved?.(policy);
          for (const pool of pools.values()) told.poolObserved(pool);
          tellFacts(told);
        }),
      resync: () => {
        marks.again((mark) => soon('holders', mark));
        self.tell((told) => {
          for (const policy of policies.values()) told.policyObserved?.(policy);
          for (const pool of pools.values()) told.poolObserved(pool);
          tellFacts(told);
        });
      },
      knows: () => true,
      close: async () => {
        listener = null;
      },
      project: (projection) => soon(keyOf(projection.ref), () => write(projection)),
      retract: (ref, addresses) =>
        new Promise((done) =>
          soon(keyOf(ref), () => {
            annotations.remove(addresses, {});
            if (ref.kind === ROUTED_IP) guard(ref, []);
            done();
          }),
        ),
      recordIntent: (owner, { region, knownAddresses, listedAt, term }) =>
        whileAlive(() => {
          const written = termOf(pools.get(keyOf(owner))?.status);
          if (written > term) throw new Fenced(`memory cluster: ${owner.name} was written under term ${written}, not ${term}`);
          const pendingCreate = { region, knownAddresses, startedAt: new Date(listedAt).toISOString() };
          changed(owner, (pool) => ({ ...pool, status: { ...fieldsOf(pool.status), pendingCreate } }));
        }),
      appendAddress: (owner, address) =>
        whileAlive(() => {
          const next = changed(owner, (pool) => {
            const spec = fieldsOf(pool.spec);
            const ips = Array.isArray(spec.ips) ? spec.ips : [];
            return ips.includes(address) ? pool : { ...pool, generation: pool.generation + 1, spec: { ...spec, ips: [...ips, address] } };
          });
          return { ips: fieldsOf(next.spec).ips as unknown as readonly Address[], generation: next.generation };
        }),
      guard: (ref) =>
        whileAlive(() => {
          guard(ref, [FINALIZER]);
        }),
      unguard: (ref) => whileAlive(() => guard(ref, [])),
      bindAddress: (owner, address, origin) =>
        whileAlive(() => {
          changed(owner, (pool) => ({ ...pool, status: { ...fieldsOf(pool.status), routedIP: address, addressOrigin: origin } }));
        }),
      markHolder: (node, effect) =>
        whileAlive(() => {
          if (failing) throw new Unreachable('memory cluster: writes fail');
          holders.mark(node, effect);
        }),
      markHolders: (wanted, complete) => soon('holders', marks.want(wanted, complete)),
      announce: (about, event) =>
        whileAlive(() => {
          if (failing) throw new Unreachable('memory cluster: writes fail');
          if (!announced.some((each) => isDeepStrictEqual(each, { about, event }))) announced.push({ about, event });
        }),
      forget: () => [marks.forget(), waiting.clear()],
      flush: async () => writeWaiting(),
      end,
    };
  };

  return {
    process,
    setPool: ({ kind = 'FloatingIPPool', namespace = 'default', name, spec }) => {
      const before = pools.get(keyOf({ kind, namespace, name }));
      if (before !== undefined && isDeepStrictEqual(before.spec, spec)) return before.ref;
      if (before === undefined) created += 1;
      const ref = before?.ref ?? { kind, namespace, name, uid: `uid-${created}` };
      const pool: PoolObject =
        before === undefined
          ? { ref, generation: 1, createdAt: Date.UTC(2026, 0, 1) + created, deleting: false, spec, status: {} }
          : { ...before, generation: before.generation + 1, spec };
      store(pool);
      tellPool(pool);
      return ref;
    },
    markDeleting: (ref) => {
      const pool = stored(ref);
      if (pool === null) return;
      const deleting = { ...pool, deleting: true };
      if (pool.ref.kind === ROUTED_IP && !pool.marks?.finalizers.length) {
        remove(ref);
        return;
      }
      store(deleting);
      tellPool(deleting);
    },
    removePool: (ref) => {
      if (stored(ref) !== null) remove(ref);
    },
    annotate: (ref, annotations) => {
      const pool = stored(ref);
      if (pool === null) return;
      const next = { ...pool, marks: { finalizers: pool.marks?.finalizers ?? [], annotations } };
      store(next);
      tellPool(next);
    },
    setPolicy: ({ kind, namespace = '', name, spec }) => {
      const key = keyOf({ kind, namespace, name });
      const before = policies.get(key);
      if (before === undefined) created += 1;
      const ref = before?.ref ?? { kind, namespace, name, uid: `uid-${created}` };
      const createdAt = before?.createdAt ?? Date.UTC(2026, 0, 1) + created;
      const policy: PoolObject = {
        ref,
        generation: (before?.generation ?? 0) + 1,
        createdAt,
        deleting: false,
        spec,
        status: before?.status ?? {},
      };
      policies.set(key, policy);
      tellAll((listener) => listener.policyObserved?.(policy));
      return ref;
    },
    removePolicy: (ref) => {
      if (policies.delete(keyOf(ref))) tellAll((listener) => listener.policyGone?.(ref));
    },
    setService: (namespace, name, service) => {
      if (service === null) services.delete(`${namespace}/${name}`);
      else services.set(`${namespace}/${name}`, service);
      tellAll(tellFacts);
    },
    holders: () => holders.all(),
    untaint: (node) => holders.drop(node),
    setNode: (...added) => {
      for (const node of added) nodes.set(node.name, node);
      tellAll(tellFacts);
    },
    removeNode: (name) => {
      nodes.delete(name);
      annotations.drop(name);
      holders.drop(name);
      tellAll(tellFacts);
    },
    setPod: (...added) => {
      for (const pod of added) pods.set(`${pod.namespace}/${pod.name}`, pod);
      tellAll(tellFacts);
    },
    removePod: (namespace, name) => {
      pods.delete(`${namespace}/${name}`);
      tellAll(tellFacts);
    },
    pool: stored,
    projections,
    announced,
    conditions: (ref) => conditions.get(keyOf(ref)) ?? [],
    annotations: (family = 4) => annotations.all(family),
    failWrites: () => {
      failing = true;
    },
    mendWrites: () => {
      failing = false;
      for (const { write: writeNow } of processes) writeNow();
    },
  };
};
