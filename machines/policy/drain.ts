import { candidatesAmong } from '../model/matching.ts';
import { EVACUATE, type Leaving, type ObservedNode } from '../model/types.ts';

/** Nodes that go away while they still work: `spec.drainPolicy`, and nodes with the evacuation annotation. */

/** OnNotReady: an address leaves a node that no longer matches. OnCordon: it leaves a node that is cordoned or about to go as soon as another node is free, and stays until
 *  then. Evacuated nodes are treated like that by both policies. */
export type DrainPolicy = 'OnNotReady' | 'OnCordon';

/** Taints that Kubernetes and its cluster autoscaler put on nodes that are cordoned, or about to go. */
const LEAVING: ReadonlySet<string> = new Set(['node.kubernetes.io/unschedulable', 'ToBeDeletedByClusterAutoscaler']);

/** The node is cordoned, being deleted, or selected for removal by the autoscaler. Whether those taints are tolerated does not matter. */
const isGoing = ({ deleting, unschedulable, taints }: ObservedNode): boolean =>
  deleting || unschedulable || taints.some(({ key }) => LEAVING.has(key));

/** Why addresses leave a working node as soon as another one is free; null when they do not. */
export function whyLeaving(node: ObservedNode, policy: DrainPolicy): string | null {
  if (node.evacuating) return `the Node is to be evacuated (${EVACUATE})`;
  return policy === 'OnCordon' && isGoing(node) ? 'the Node is cordoned or about to go' : null;
}

export const isLeaving = (node: ObservedNode, policy: DrainPolicy): boolean => whyLeaving(node, policy) !== null;

/** The node as if it were not leaving. */
export const asStaying = (node: ObservedNode, policy: DrainPolicy): ObservedNode =>
  policy === 'OnCordon'
    ? { ...node, deleting: false, unschedulable: false, taints: node.taints.filter(({ key }) => !LEAVING.has(key)) }
    : node;

/** The nodes that are about to go and would otherwise be admitted, sorted by name. */
export function leavingAmong(
  nodes: readonly ObservedNode[],
  policy: DrainPolicy,
  admits: (node: ObservedNode) => boolean,
): readonly Leaving[] {
  const evacuating = new Set(nodes.flatMap((node) => (node.evacuating ? [node.name] : [])));
  const leaving = candidatesAmong(nodes, (node) => isLeaving(node, policy) && admits(asStaying(node, policy)));
  return leaving.map((node) => (evacuating.has(node.name) ? { ...node, evacuating: true } : node));
}
