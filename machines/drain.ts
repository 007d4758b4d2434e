import type { ObservedNode } from './types.ts';

/** Nodes that go away while they still work: `spec.drainPolicy`. */

/** OnNotReady: an address leaves a node that does not match any more. OnCordon: it leaves one that is cordoned or about to go as soon as another node is
 *  free, and stays on it until then. */
export type DrainPolicy = 'OnNotReady' | 'OnCordon';

/** Taints by which Kubernetes and its cluster autoscaler say that a node is cordoned, or about to go. */
const LEAVING: ReadonlySet<string> = new Set(['node.kubernetes.io/unschedulable', 'ToBeDeletedByClusterAutoscaler']);

/** The node is cordoned, is being deleted, or is to be taken away by the autoscaler. Whether those taints are tolerated does not matter. */
export const isLeaving = ({ deleting, unschedulable, taints }: ObservedNode): boolean =>
  deleting || unschedulable || taints.some(({ key }) => LEAVING.has(key));

/** The node as if it were to stay. */
export const asStaying = (node: ObservedNode): ObservedNode => ({
  ...node,
  deleting: false,
  unschedulable: false,
  taints: node.taints.filter(({ key }) => !LEAVING.has(key)),
});
