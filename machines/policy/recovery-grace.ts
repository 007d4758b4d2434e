import { restMs } from '../model/backoff.ts';
import { memo } from '../model/memo.ts';
import type { Address, Candidate, NodeRef, ObservedNode, ProviderID } from '../model/types.ts';

/** Time for a node to come back: `spec.recoveryGraceSeconds`. */

/** A node that matched, no longer does, and may come back. */
export interface Absence {
  /** The node as last observed. */
  readonly node: Candidate;
  /** When it stopped matching, ms since the epoch. */
  readonly since: number;
  /** It fails only because it, or its pod, is not Ready: only then it has the grace. */
  readonly failing: boolean;
  /** When its machine is next looked up at the provider, ms since the epoch; null for never again. */
  readonly askAt: number | null;
  /** How often its machine was looked up. */
  readonly asks: number;
}

/** Identifies the machine behind a node: another machine with the same node name has another key. */
export const nodeKey = ({ name, providerID }: NodeRef): string => `${name} ${providerID}`;

const byNode = memo((absent: readonly Absence[]) => new Map(absent.map((absence) => [nodeKey(absence.node), absence])));

/** The absence of this node: of this machine, not of another one with the same node name. */
export const absenceOf = (absent: readonly Absence[], node: NodeRef): Absence | null => byNode(absent).get(nodeKey(node)) ?? null;

/** Taints that Kubernetes itself puts on nodes that are not Ready. */
const UNREADY: ReadonlySet<string> = new Set(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']);

/** The node as if it were Ready. All other reasons against it stay: labels and other taints are set deliberately and get no grace. */
export const asReady = (node: ObservedNode): ObservedNode => ({
  ...node,
  ready: true,
  taints: node.taints.filter(({ key }) => !UNREADY.has(key)),
});

/** The rest of a node's grace, ms: never more than the whole grace, even after the clock was set back. */
export const graceLeft = ({ since, failing }: Pick<Absence, 'since' | 'failing'>, graceMs: number, at: number): number =>
  failing ? restMs(since + graceMs, at, graceMs) : 0;

/** The machines on which addresses served according to the status, after the records were lost. */
export function stoodIn(addresses: Readonly<Record<Address, { readonly servedOn?: ProviderID }>>): {
  readonly stood?: Readonly<Record<Address, ProviderID>>;
} {
  const all = Object.entries(addresses).flatMap(([address, { servedOn }]) => (servedOn ? [[address, servedOn] as const] : []));
  return all.length > 0 ? { stood: Object.fromEntries(all) } : {};
}
