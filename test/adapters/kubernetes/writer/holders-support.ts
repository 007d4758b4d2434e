import { at, type Json } from '../../../../simulator/kubernetes/objects.ts';
import type { KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { nodeRef } from '../support.ts';
import { writing } from './writer-support.ts';

export const HOLDER = 'routedip.io/routed-ip';

/** Somebody else's taint. */
export const FOREIGN = { key: 'dedicated', value: 'ingress', effect: 'NoSchedule' };

export const ours = (effect: string): Json => ({ key: HOLDER, effect });

export const taintsOf = (simulator: KubernetesSimulator, node: string): Json[] =>
  (at(simulator.store.get(nodeRef(node)), 'spec', 'taints') ?? []) as Json[];

/** Puts `taints` in the place of those that the node has, as an administrator may. */
export const setTaints = (simulator: KubernetesSimulator, node: string, taints: readonly Json[]): void => {
  simulator.store.patch(nodeRef(node), { spec: { taints: taints.length === 0 ? null : [...taints] } });
};

export const isPatchOf =
  (node: string) =>
  ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
    method === 'PATCH' && path === `/api/v1/nodes/${node}`;

/** A writer on a cluster with the nodes a and b, and a look at its taints. */
export const marking = async (options: Parameters<typeof writing>[0] = {}) => {
  const world = await writing(options);
  const { simulator, source } = world;
  const taints = (node: string): Json[] => taintsOf(simulator, node);
  const patches = (node: string): number => simulator.requests.filter(isPatchOf(node)).length;
  /** Resolves once the watch shows what effect the node's mark has. */
  const shown = (node: string, effect: string | null): Promise<void> =>
    waitFor(`the watch shows ${node} with ${effect}`, () =>
      [...source.nodes()].some((seen) => seen.node.name === node && seen.holder === effect),
    );
  return { ...world, taints, patches, shown };
};
