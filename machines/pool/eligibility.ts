import { candidatesAmong, compile, ineligible, servingSet } from '../model/matching.ts';
import type { Candidate, Leaving, ObservedNode } from '../model/types.ts';
import { isLeaving, leavingAmong } from '../policy/drain.ts';
import { asReady } from '../policy/recovery-grace.ts';
import type { PoolSpec } from '../spec/pool.ts';

/** The eligibility of the cluster's nodes for a pool; each list sorted by name, no node in two of them. */
export interface Standings {
  /** May be granted an address. */
  readonly matching: readonly Candidate[];
  /** Would match, but are about to go, as far as the pool drains nodes, or are being evacuated. */
  readonly leaving: readonly Leaving[];
  /** Would match if they, or a pod on them, were Ready. Filled only when the pool has a grace for them; excludes nodes that are about to go. */
  readonly failing: readonly Candidate[];
}

type Rules = Pick<PoolSpec, 'match' | 'providerIDPrefix' | 'graceMs' | 'drainPolicy'>;

/** Same answer for any order of the nodes. `serving` as in ClusterFact. */
export function standings(nodes: readonly ObservedNode[], serving: readonly string[] | null, spec: Rules): Standings {
  const rules = compile(spec.match);
  const named = servingSet(serving, spec.match);
  const matches = (node: ObservedNode): boolean => ineligible(node, rules, named) === null;
  const fails = (node: ObservedNode): boolean => !matches(node) && ineligible(asReady(node), rules, null) === null;
  const ours = nodes.filter(({ providerID }) => providerID.startsWith(spec.providerIDPrefix));
  const staying = ours.filter((node) => !isLeaving(node, spec.drainPolicy));
  return {
    matching: candidatesAmong(staying, matches),
    leaving: leavingAmong(ours, spec.drainPolicy, matches),
    failing: spec.graceMs > 0 ? candidatesAmong(staying, fails) : [],
  };
}
