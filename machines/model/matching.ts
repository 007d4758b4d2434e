import { parseSelector, type Requirement, selects } from './selector.ts';
import type { Candidate, ObservedNode, ObservedPod, ProviderID, Taint, Toleration } from './types.ts';

/** Which nodes of the cluster may hold an address: `spec.match` of a FloatingIPPool. */
export interface Match {
  readonly nodeLabel?: string;
  readonly podLabel?: string;
  readonly podNamespace?: string;
  readonly tolerations?: readonly Toleration[];
}

/** Identifies what has to be watched for these rules: the same text for the same selectors. */
export const queryOf = (match: Match): string =>
  JSON.stringify([match.nodeLabel ?? '', match.podLabel ?? null, match.podNamespace ?? null]);

/** Whether the rules select pods at all. */
export const wantsPods = (match: Match): boolean => Boolean(match.podLabel) || Boolean(match.podNamespace);

/** Kubernetes' rule: an empty key with `Exists` tolerates every taint, an empty effect means every effect, the operator defaults to `Equal`;
 *  an operator that is neither tolerates nothing. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  const exists = toleration.operator === 'Exists';
  if (!toleration.key) return exists;
  if (toleration.key !== taint.key) return false;
  return exists || ((toleration.operator || 'Equal') === 'Equal' && (toleration.value ?? '') === (taint.value ?? ''));
}

/** A match with its selectors parsed. */
export interface Rules {
  readonly match: Match;
  readonly nodeLabel: readonly Requirement[];
  readonly podLabel: readonly Requirement[];
}

/** @throws SyntaxError when a selector cannot be parsed */
export const compile = (match: Match): Rules => ({
  match,
  nodeLabel: parseSelector(match.nodeLabel ?? ''),
  podLabel: parseSelector(match.podLabel ?? ''),
});

/** Why a node may not hold an address, or null when it may. Checked in the order in which a user would look. `serving` is null when the rules select no pods. */
export function ineligible(node: ObservedNode, rules: Rules, serving: ReadonlySet<string> | null): string | null {
  if (node.deleting) return 'the Node is being deleted';
  if (!node.ready) return 'the Node is not Ready';
  if (!selects(rules.nodeLabel, node.labels)) return `its labels do not match ${rules.match.nodeLabel}`;
  const taint = node.taints.find((candidate) => !(rules.match.tolerations ?? []).some((toleration) => tolerates(toleration, candidate)));
  if (taint) return `its taint ${taint.key}:${taint.effect} is not tolerated`;
  if (!node.providerID) return 'the Node has no spec.providerID yet';
  if (serving && !serving.has(node.name)) return 'no matching Pod is Ready on it';
  return null;
}

/** The matching nodes, sorted by name. Same answer for any order of the nodes. `serving` as in ClusterFact. */
export function matching(nodes: readonly ObservedNode[], serving: readonly string[] | null, match: Match): readonly Candidate[] {
  const rules = compile(match);
  const named = servingSet(serving, match);
  return candidatesAmong(nodes, (node) => ineligible(node, rules, named) === null);
}

/** The admitted nodes, sorted by name. A node without providerID is identified by its name: it is admitted only where the provider needs none. */
export const candidatesAmong = (nodes: readonly ObservedNode[], admits: (node: ObservedNode) => boolean): readonly Candidate[] =>
  nodes
    .filter(admits)
    .map(({ name, providerID, region, createdAt }) => ({ name, providerID: (providerID || name) as ProviderID, region, createdAt }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

/** The nodes that a fact names as serving; null when the rules select no pods, whatever the fact names. */
export const servingSet = (serving: readonly string[] | null, match: Match): ReadonlySet<string> | null =>
  wantsPods(match) ? new Set(serving) : null;

/** Names of the nodes on which at least one pod selected by the rules is serving, sorted; null when they select none. */
export function servingNodes(pods: readonly ObservedPod[], { match, podLabel }: Rules): readonly string[] | null {
  if (!wantsPods(match)) return null;
  const names = new Set<string>();
  for (const pod of pods) {
    if (!pod.serving || !pod.nodeName) continue;
    if (match.podNamespace && pod.namespace !== match.podNamespace) continue;
    if (selects(podLabel, pod.labels)) names.add(pod.nodeName);
  }
  return [...names].sort();
}
