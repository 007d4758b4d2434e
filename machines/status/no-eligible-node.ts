import type { ClusterFact } from '../events.ts';
import { compile, ineligible, type Rules, servingSet } from '../model/matching.ts';
import { nodesFull } from '../model/node-claim.ts';
import { selects } from '../model/selector.ts';
import type { Address, ObservedNode } from '../model/types.ts';
import { whyLeaving } from '../policy/drain.ts';
import type { Member } from '../pool/assignment.ts';
import { familyServed, queryIn, regionOf } from '../pool/context.ts';
import { servingNodesOf, unfit } from '../pool/service-nodes.ts';
import { leftAlone, type PoolView } from '../pool/view.ts';
import type { PoolSpec } from '../spec/pool.ts';

/** How many nodes are named; of the others only the number is shown. */
const NAMED = 5;

/** Why none of the nodes may take any of the waiting addresses, node by node, by name: `a (the Node is not Ready), b (the Node is cordoned) and 3 more`. Null while the nodes
 *  are not known under the current selectors. */
export function whyNoNode(view: PoolView, waiting: readonly Address[]): string | null {
  const { context, observed } = view;
  const { spec } = context;
  if (!spec || !observed || observed.query !== queryIn(spec)) return null;
  const why = judge(observed, spec);
  const nodes = observed.nodes.filter(why.concerns).sort((a, b) => (a.name < b.name ? -1 : 1));
  if (nodes.length === 0) return spec.exposes ? 'the Service has no endpoint on any node' : 'no node has the labels of spec.match';
  const named = nodes.slice(0, NAMED).map((node) => `${node.name} (${why.unfit(node) ?? notFree(view, node, waiting)})`);
  const more = nodes.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

interface Judgement {
  /** Nodes without the pool's labels are not its nodes. */
  readonly concerns: (node: ObservedNode) => boolean;
  /** Null when it may hold an address. */
  readonly unfit: (node: ObservedNode) => string | null;
}

function judge(observed: ClusterFact, spec: PoolSpec): Judgement {
  const rules = { ...spec, tolerations: spec.match.tolerations ?? [] };
  if (spec.exposes) {
    const serving = servingNodesOf(observed.service ?? null);
    return { concerns: () => true, unfit: (node) => unfit(node, serving, rules) ?? whyLeaving(node, 'OnCordon') };
  }
  const compiled: Rules = compile(spec.match);
  const serving = servingSet(observed.serving, spec.match);
  return {
    concerns: ({ labels }) => selects(compiled.nodeLabel, labels),
    unfit: (node) =>
      whyLeaving(node, spec.drainPolicy) ??
      ineligible(node, compiled, serving) ??
      (node.providerID.startsWith(spec.providerIDPrefix) ? null : `its providerID does not begin with ${spec.providerIDPrefix}`),
  };
}

/** Why an otherwise eligible node takes none of these now. */
function notFree({ context, at }: PoolView, { name, region }: ObservedNode, waiting: readonly Address[]): string {
  const { members, backOff, fullNodes } = context;
  const regionIn = (member: Member | undefined): string => (member ? regionOf(context, member) : '');
  const holder = Object.entries(members).find(([, member]) => (member.node ?? member.stands)?.name === name)?.[0];
  if (holder !== undefined) return `${holder} is on it, or on its way to it`;
  if (nodesFull(fullNodes, familyServed(context)).includes(name)) return 'it has as many addresses as it may hold';
  const failed = leftAlone(backOff[name], at);
  if (failed !== null) return failed;
  // An address that is still to be created will be in the region of the spec.
  const regions = waiting.length > 0 ? waiting.map((address) => regionIn(members[address])) : [context.spec?.region ?? ''];
  const elsewhere = regions.filter((wanted) => wanted !== '' && region !== '' && wanted !== region);
  return elsewhere.length === regions.length ? `it is in region ${region}, not in ${elsewhere[0]}` : 'it is not free';
}
