import type { ClusterListener, ClusterSource } from '../actors/ports/cluster.ts';
import { queryOf } from '../machines/model/matching.ts';
import type { ObjectRef, ObservedNode } from '../machines/model/types.ts';

const MATCH = { nodeLabel: 'pool=work' };

/** A pool with one address, and the nodes that it sees. */
export interface Facts {
  readonly ref: ObjectRef;
  readonly address: string;
  readonly nodes: Map<string, ObservedNode>;
}

export const readyNode = (name: string, providerIDPrefix: string): ObservedNode => ({
  name,
  uid: `uid-${name}`,
  labels: { pool: 'work' },
  taints: [],
  ready: true,
  deleting: false,
  unschedulable: false,
  providerID: `${providerIDPrefix}${name}`,
  region: 'nyc3',
  createdAt: 0,
});

/** As little of a cluster as the runtime takes: every pool is told of its own nodes alone. */
export interface FactSource extends ClusterSource {
  setReady(facts: Facts, node: string, ready: boolean): void;
}

export function factSource(pools: readonly Facts[], provider: string): FactSource {
  let listener: ClusterListener | null = null;
  const tell = ({ ref, nodes }: Facts): void =>
    listener?.clusterObserved(ref, { query: queryOf(MATCH), nodes: [...nodes.values()], serving: null });
  const resync = (): void => {
    for (const pool of pools) {
      const spec = { provider, region: 'nyc3', ips: [pool.address], match: MATCH };
      listener?.poolObserved({ ref: pool.ref, generation: 1, createdAt: 0, deleting: false, spec, status: null });
      tell(pool);
    }
  };
  return {
    start: async (told) => {
      listener = told;
      resync();
    },
    resync: async () => resync(),
    knows: () => true,
    close: async () => {
      listener = null;
    },
    setReady: (pool, name, ready) => {
      const node = pool.nodes.get(name);
      if (node !== undefined) pool.nodes.set(name, { ...node, ready });
      tell(pool);
    },
  };
}
