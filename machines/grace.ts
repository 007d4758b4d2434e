import { restMs } from './backoff.ts';
import type { Candidate, NodeRef, ObservedNode } from './types.ts';

/** Time for a node to come back: `spec.recoveryGraceSeconds`. */

/** A node that matched, does not any more, and may be back in a moment. */
export interface Absence {
  /** As it was last observed. */
  readonly node: Candidate;
  /** When it stopped matching, ms since the epoch. */
  readonly since: number;
  /** When the provider is to be asked for the machine behind it, ms since the epoch; null for not again. */
  readonly askAt: number | null;
}

/** What is known of this node's absence: of this machine, not of another one by the same name. */
export const absenceOf = (absent: readonly Absence[], { name, providerID }: NodeRef): Absence | null =>
  absent.find(({ node }) => node.name === name && node.providerID === providerID) ?? null;

/** Taints by which Kubernetes itself repeats that a node is not Ready. */
const UNREADY: ReadonlySet<string> = new Set(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']);

/** The node as if it were Ready. Whatever else speaks against it stays: labels and other taints are somebody's decision and get no grace. */
export const asReady = (node: ObservedNode): ObservedNode => ({
  ...node,
  ready: true,
  taints: node.taints.filter(({ key }) => !UNREADY.has(key)),
});

/** How much longer a node has to come back, ms: never more than the whole grace, even after the clock was set back. */
export const graceLeft = ({ since }: Pick<Absence, 'since'>, graceMs: number, at: number): number => restMs(since + graceMs, at, graceMs);
