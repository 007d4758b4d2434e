import { isDeepStrictEqual } from 'node:util';
import type { ClusterEvent, PoolObject, PoolProjection } from '../../actors/ports/cluster.ts';
import type { Json } from '../../actors/ports/records.ts';
import type { Address, Condition, Evacuation, ObjectRef, ObservedNode, ObservedPod, ObservedService } from '../../machines/model/types.ts';
import { ClusterWorld, keyOf, type MemoryClusterOptions, ROUTED_IP } from './cluster-world.ts';
import { type ProcessCluster, processCluster } from './process-cluster.ts';

/** Pools, NodeDNSRecordSets, nodes and pods in memory. Both kinds are called pools here, as in the port. Node selectors are left to them: facts contain
 *  all nodes, and the names of those with pods that the pool selects. */
export interface MemoryCluster {
  process(): ProcessCluster;
  /** Creates or changes a pool, or an object of another `kind`; a changed spec increments the generation. Returns its reference. `status` and `annotations` are for an
   *  object that predates the operator, or was restored; an existing object keeps its own. */
  setPool(pool: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name: string;
    readonly spec: Json;
    readonly status?: Json;
    readonly annotations?: Readonly<Record<string, string>>;
  }): ObjectRef;
  markDeleting(ref: ObjectRef): void;
  removePool(ref: ObjectRef): void;
  setNode(...nodes: readonly ObservedNode[]): void;
  removeNode(name: string): void;
  /** The machines of all nodes. */
  machines(): readonly string[];
  setPod(...pods: readonly ObservedPod[]): void;
  removePod(namespace: string, name: string): void;
  /** Replaces the object's annotations of the group routedip.io. */
  annotate(ref: ObjectRef, annotations: Readonly<Record<string, string>>): void;
  /** Creates or changes a ClusterRoutedIPClass or a RoutedIPIssuer. */
  setPolicy(policy: { readonly kind: string; readonly namespace?: string; readonly name: string; readonly spec: Json }): ObjectRef;
  removePolicy(ref: ObjectRef): void;
  /** Null removes it. */
  setService(namespace: string, name: string, service: ObservedService | null): void;
  /** Node → effect of its holder taint. */
  holders(): Readonly<Record<string, string>>;
  /** The evacuation condition by node. */
  evacuations(): Readonly<Record<string, Evacuation>>;
  /** Removes the holder taint of a node, as an administrator may. */
  untaint(node: string): void;
  pool(ref: ObjectRef): PoolObject | null;
  /** Every projection that was written, oldest first. */
  readonly projections: readonly PoolProjection[];
  /** Every announced Event, without duplicates, oldest first; including those of deleted pools. */
  readonly announced: readonly { readonly about: ObjectRef; readonly event: ClusterEvent }[];
  conditions(ref: ObjectRef): readonly Condition[];
  /** Node → address, as annotated; of IPv4 when no family is named. */
  annotations(family?: 4 | 6): Readonly<Record<string, Address>>;
  /** Writes fail until `mendWrites`: projections wait, the others throw `Unreachable`. */
  failWrites(): void;
  mendWrites(): void;
  /** Projections wait until `catchUp`, all else is written. */
  lag(): void;
  catchUp(): void;
}

export const memoryCluster = (options: MemoryClusterOptions): MemoryCluster => {
  const world = new ClusterWorld(options);
  const { pools, policies, nodes, pods, services, holders, annotations, projections, announced } = world;
  const newObject = ({
    spec,
    status = {},
    ...named
  }: Omit<ObjectRef, 'uid'> & { readonly spec: Json; readonly status?: Json }): PoolObject => {
    const { uid, createdAt } = world.nextObject();
    return { ref: { ...named, uid }, generation: 1, createdAt, deleting: false, spec, status };
  };
  return {
    process: () => processCluster(world),
    setPool: ({ kind = 'FloatingIPPool', namespace = 'default', name, spec, status = {}, annotations }) => {
      const before = pools.get(keyOf({ kind, namespace, name }));
      if (before !== undefined && isDeepStrictEqual(before.spec, spec)) return before.ref;
      const marks = annotations && { marks: { finalizers: [], annotations } };
      const pool =
        before === undefined
          ? { ...newObject({ kind, namespace, name, spec, status }), ...marks }
          : { ...before, generation: before.generation + 1, spec };
      world.store(pool);
      world.poolChanged(pool);
      return pool.ref;
    },
    markDeleting: (ref) => {
      const pool = world.stored(ref);
      if (pool === null) return;
      const deleting = { ...pool, deleting: true };
      if (pool.ref.kind === ROUTED_IP && !pool.marks?.finalizers.length) {
        world.remove(ref);
        return;
      }
      world.store(deleting);
      world.poolChanged(deleting);
    },
    removePool: (ref) => {
      if (world.stored(ref) !== null) world.remove(ref);
    },
    annotate: (ref, annotations) => {
      const pool = world.stored(ref);
      if (pool === null) return;
      const next = { ...pool, marks: { finalizers: pool.marks?.finalizers ?? [], annotations } };
      world.store(next);
      world.poolChanged(next);
    },
    setPolicy: ({ kind, namespace = '', name, spec }) => {
      const key = keyOf({ kind, namespace, name });
      const before = policies.get(key);
      const policy =
        before === undefined ? newObject({ kind, namespace, name, spec }) : { ...before, generation: before.generation + 1, spec };
      policies.set(key, policy);
      world.changed('policies', (listener) => listener.policyObserved?.(policy));
      return policy.ref;
    },
    removePolicy: (ref) => {
      if (policies.delete(keyOf(ref))) world.changed('policies', (listener) => listener.policyGone?.(ref));
    },
    setService: (namespace, name, service) => {
      if (service === null) services.delete(`${namespace}/${name}`);
      else services.set(`${namespace}/${name}`, service);
      world.changed('services', world.tellFacts);
    },
    holders: () => holders.all(),
    evacuations: () => world.evacuations,
    untaint: (node) => holders.drop(node),
    setNode: (...added) => {
      for (const node of added) nodes.set(node.name, node);
      world.changed('nodes', world.tellFacts);
    },
    removeNode: (name) => {
      nodes.delete(name);
      annotations.drop(name);
      holders.drop(name);
      world.changed('nodes', world.tellFacts);
    },
    machines: () => [...nodes.values()].map(({ providerID, name }) => providerID || name),
    setPod: (...added) => {
      for (const pod of added) pods.set(`${pod.namespace}/${pod.name}`, pod);
      world.changed('services', world.tellFacts);
    },
    removePod: (namespace, name) => {
      pods.delete(`${namespace}/${name}`);
      world.changed('services', world.tellFacts);
    },
    pool: world.stored,
    projections,
    announced,
    conditions: (ref) => world.conditions.get(keyOf(ref)) ?? [],
    annotations: (family = 4) => annotations.all(family),
    failWrites: () => {
      world.failing = true;
    },
    mendWrites: () => {
      world.failing = false;
      for (const { write } of world.processes) write();
    },
    lag: () => {
      world.lagging = true;
    },
    catchUp: () => {
      world.lagging = false;
      for (const { write } of world.processes) write();
    },
  };
};
