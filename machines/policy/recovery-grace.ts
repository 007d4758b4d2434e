import { restMs } from '../model/backoff.ts';
import { memo } from '../model/memo.ts';
import type { Address, Candidate, NodeRef, ObservedNode, ProviderID } from '../model/types.ts';

/** Time for a node to come back: `spec.recoveryGraceSeconds`. */

/** A node that matched, does not any more, and may be back. */
export interface Absence {
  /** As it was last observed. */
  readonly node: Candidate;
  /** When it stopped matching, ms since the epoch. */
  readonly since: number;
  /** It fails in nothing but that it, or its pod, is not Ready: only then it has the grace. */
  readonly failing: boolean;
  /** When the provider is to be asked for the machine behind it, ms since the epoch; null for not again. */
  readonly askAt: number | null;
  /** How often the provider was asked. */
  readonly asks: number;
}

/** Names a machine behind a node: another one by the same name has another key. */
export const nodeKey = ({ name, providerID }: NodeRef): string => `${name} ${providerID}`;

const byNode = memo((absent: readonly Absence[]) => new Map(absent.map((absence) => [nodeKey(absence.node), absence])));

/** What is known of this node's absence: of this machine, not of another one by the same name. */
export const absenceOf = (absent: readonly Absence[], node: NodeRef): Absence | null => byNode(absent).get(nodeKey(node)) ?? null;

/** Taints by which Kubernetes itself repeats that a node is not Ready. */
const UNREADY: ReadonlySet<string> = new Set(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']);

/** The node as if it were Ready. Whatever else speaks against it stays: labels and other taints are somebody's decision and get no grace. */
export const asReady = (node: ObservedNode): ObservedNode => ({
  ...node,
  ready: true,
  taints: node.taints.filter(({ key }) => !UNREADY.has(key)),
});

/** How much longer a node has to come back, ms: never more than the whole grace, even after the clock was set back. */
export const graceLeft = ({ since, failing }: Pick<Absence, 'since' | 'failing'>, graceMs: number, at: number): number =>
  failing ? restMs(since + graceMs, at, graceMs) : 0;

/** Where the status shows that addresses served when the records were lost. */
export function stoodIn(addresses: Readonly<Record<Address, { readonly servedOn?: ProviderID }>>): {
  readonly stood?: Readonly<Record<Address, ProviderID>>;
} {
  const all = Object.entries(addresses).flatMap(([address, { servedOn }]) => (servedOn ? [[address, servedOn] as const] : []));
  return all.length > 0 ? { stood: Object.fromEntries(all) } : {};
}
