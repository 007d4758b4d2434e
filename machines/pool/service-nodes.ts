import { candidatesAmong, tolerates } from '../model/matching.ts';
import { HOLDER_TAINT, type ObservedNode, type ObservedService, type Toleration } from '../model/types.ts';
import { isLeaving, leavingAmong } from '../policy/drain.ts';
import { asReady } from '../policy/recovery-grace.ts';
import type { Standings } from './eligibility.ts';

/** Nodes that serve a Service and may hold its address. */

/** Excludes a node from external load balancing. Its value does not matter. */
export const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

const REPELLING: ReadonlySet<string> = new Set(['NoSchedule', 'NoExecute']);

export interface ServingRules {
  /** Required prefix of a node's providerID; empty where the provider needs none. */
  readonly providerIDPrefix: string;
  readonly tolerations: readonly Toleration[];
  readonly graceMs: number;
}

/** Why an address cannot serve this kind of Service; null when it can. */
export function unsupported({ type, hasSelector }: ObservedService): string | null {
  if (type === 'ExternalName') return 'it is of type ExternalName, which has no nodes';
  return hasSelector ? null : 'it has no selector, so that no Pods tell which nodes serve it';
}

/** Why a node may not hold the address, or null when it may. Checked in the order in which a user would look. */
export function unfit(node: ObservedNode, serving: ReadonlySet<string>, { providerIDPrefix, tolerations }: ServingRules): string | null {
  if (node.deleting) return 'the Node is being deleted';
  if (!node.ready) return 'the Node is not Ready';
  if (node.unschedulable) return 'the Node is cordoned';
  const taint = node.taints.find(
    (each) => REPELLING.has(each.effect) && each.key !== HOLDER_TAINT && !tolerations.some((toleration) => tolerates(toleration, each)),
  );
  if (taint) return `its taint ${taint.key}:${taint.effect} is not tolerated`;
  if (Object.hasOwn(node.labels, EXCLUDED)) return `its label ${EXCLUDED} keeps it out`;
  if (providerIDPrefix !== '' && !node.providerID) return 'the Node has no spec.providerID yet';
  if (!node.providerID.startsWith(providerIDPrefix)) return `its providerID does not begin with ${providerIDPrefix}`;
  if (!serving.has(node.name)) return 'no ready endpoint of the Service is on it';
  return null;
}

/** Nodes with ready endpoints. */
export const servingNodesOf = (service: ObservedService | null): ReadonlySet<string> =>
  new Set(service && unsupported(service) === null ? service.endpoints.filter(({ ready }) => ready).map(({ node }) => node) : []);

/** The eligibility of the nodes for the Service. A node that is cordoned or about to go keeps the address until another node is free. */
export function servingStandings(nodes: readonly ObservedNode[], service: ObservedService | null, rules: ServingRules): Standings {
  const serving = servingNodesOf(service);
  const everywhere = new Set(nodes.map(({ name }) => name));
  const fits = (node: ObservedNode): boolean => unfit(node, serving, rules) === null;
  const staying = nodes.filter((node) => !isLeaving(node, 'OnCordon'));
  return {
    matching: candidatesAmong(staying, fits),
    leaving: leavingAmong(nodes, 'OnCordon', fits),
    failing: rules.graceMs > 0 ? candidatesAmong(staying, (node) => !fits(node) && unfit(asReady(node), everywhere, rules) === null) : [],
  };
}
