import { candidatesAmong } from '../model/matching.ts';
import { EVACUATE, type Leaving, type ObservedNode } from '../model/types.ts';

/** Nodes that go away while they still work: `spec.drainPolicy`, and those that somebody has evacuated. */

/** OnNotReady: an address leaves a node that does not match any more. OnCordon: it leaves one that is cordoned or about to go as soon as another node is
 *  free, and stays on it until then. Of a node that is to be evacuated both do that. */
export type DrainPolicy = 'OnNotReady' | 'OnCordon';

/** Taints by which Kubernetes and its cluster autoscaler say that a node is cordoned, or about to go. */
const LEAVING: ReadonlySet<string> = new Set(['node.kubernetes.io/unschedulable', 'ToBeDeletedByClusterAutoscaler']);

/** The node is cordoned, is being deleted, or is to be taken away by the autoscaler. Whether those taints are tolerated does not matter. */
const isGoing = ({ deleting, unschedulable, taints }: ObservedNode): boolean =>
  deleting || unschedulable || taints.some(({ key }) => LEAVING.has(key));

/** Why addresses leave a node that works as soon as another one is free; null when they do not. */
export function whyLeaving(node: ObservedNode, policy: DrainPolicy): string | null {
  if (node.evacuating) return `the Node is to be evacuated (${EVACUATE})`;
  return policy === 'OnCordon' && isGoing(node) ? 'the Node is cordoned or about to go' : null;
}

export const isLeaving = (node: ObservedNode, policy: DrainPolicy): boolean => whyLeaving(node, policy) !== null;

/** The node as if it were to stay. */
export const asStaying = (node: ObservedNode, policy: DrainPolicy): ObservedNode =>
  policy === 'OnCordon'
    ? { ...node, deleting: false, unschedulable: false, taints: node.taints.filter(({ key }) => !LEAVING.has(key)) }
    : node;

/** Those of the nodes that are about to go and are admitted as if they were not, sorted by name. */
export function leavingAmong(
  nodes: readonly ObservedNode[],
  policy: DrainPolicy,
  admits: (node: ObservedNode) => boolean,
): readonly Leaving[] {
  const evacuating = new Set(nodes.flatMap((node) => (node.evacuating ? [node.name] : [])));
  const leaving = candidatesAmong(nodes, (node) => isLeaving(node, policy) && admits(asStaying(node, policy)));
  return leaving.map((node) => (evacuating.has(node.name) ? { ...node, evacuating: true } : node));
}
