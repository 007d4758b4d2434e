import type { ClusterRoutedIPClass } from '../crds/generated/clusterroutedipclass.ts';
import type { FloatingIPPool } from '../crds/generated/floatingippool.ts';
import type { RoutedIP } from '../crds/generated/routedip.ts';
import { compile, ineligible, servingNodes, servingSet, wantsPods } from '../machines/model/matching.ts';
import { selects } from '../machines/model/selector.ts';
import { serviceOf } from '../machines/model/service-ref.ts';
import type { ObservedNode } from '../machines/model/types.ts';
import { whyLeaving } from '../machines/policy/drain.ts';
import { servingNodesOf, unfit } from '../machines/pool/service-nodes.ts';
import { isBuiltIn } from '../machines/spec/class.ts';
import { matchOf } from '../machines/spec/pool.ts';
import { nodeLimits } from './node-limits.ts';
import type { Objects } from './objects.ts';
import type { Owner } from './owners.ts';
import type { ClusterFacts } from './ports.ts';
import { CLOUD_PREFIX } from './stage-accounts.ts';

/** A node and its verdict for an address. */
export interface Candidate {
  readonly node: string;
  readonly verdict: 'holds it' | 'elected' | 'free' | 'refused';
  /** Why it is refused, in the operator's words; empty for the others. */
  readonly why: string;
}

/** Every node that the owner's rules concern, by name. Decided by the operator's own functions from the present state.
 *  @throws Refused | Error when the nodes or what else decides cannot be read */
export async function candidatesOf(owner: Owner, address: string, objects: Objects, facts: ClusterFacts): Promise<readonly Candidate[]> {
  const nodes = await facts.nodes();
  const policy = await classOf(owner, facts);
  const judge = owner.kind === 'routedip' ? await judgeOfRoutedIP(owner.object, policy, facts) : await judgeOfPool(owner.object, facts);
  const { holder, elected } = placesOf(owner, address, nodes);
  const limits = nodeLimits(owner, address, objects, policy?.perNodeIPLimit ?? 1);
  const region = regionOf(
    owner,
    policy,
    nodes.find(({ name }) => name === holder),
  );
  return nodes
    .filter((node) => judge.concerns(node) || node.name === holder)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((node) => {
      const why = judge.unfit(node) ?? (node.name === holder ? null : (limits(node.name) ?? notFree(owner, node, region)));
      if (node.name === holder && why === null) return { node: node.name, verdict: 'holds it', why: '' };
      if (node.name === elected && why === null) return { node: node.name, verdict: 'elected', why: '' };
      if (why === null) return { node: node.name, verdict: 'free', why: '' };
      return { node: node.name, verdict: 'refused', why: node.name === holder ? `holds it still; ${why}` : why };
    });
}

type ClassSpec = ClusterRoutedIPClass['spec'];

/** The class that gives a RoutedIP its address; null for an issuer, and when it does not exist. */
async function classOf(owner: Owner, facts: ClusterFacts): Promise<ClassSpec | null> {
  const by = owner.kind === 'routedip' ? owner.object.status?.class : undefined;
  return by?.kind === 'ClusterRoutedIPClass' ? facts.routedIPClass(by.name) : null;
}

interface Judge {
  readonly concerns: (node: ObservedNode) => boolean;
  readonly unfit: (node: ObservedNode) => string | null;
}

async function judgeOfPool({ spec }: FloatingIPPool, facts: ClusterFacts): Promise<Judge> {
  const rules = compile(matchOf((spec?.match ?? {}) as Readonly<Record<string, unknown>>));
  const pods = wantsPods(rules.match) ? await facts.pods(rules.match.podNamespace ?? null) : [];
  const serving = servingSet(servingNodes(pods, rules), rules.match);
  return {
    concerns: ({ labels }) => selects(rules.nodeLabel, labels),
    unfit: (node) => whyLeaving(node, spec?.drainPolicy ?? 'OnNotReady') ?? ineligible(node, rules, serving),
  };
}

async function judgeOfRoutedIP({ metadata, spec }: RoutedIP, policy: ClassSpec | null, facts: ClusterFacts): Promise<Judge> {
  const { namespace, name } = serviceOf(metadata.namespace ?? 'default', spec as never);
  const serving = servingNodesOf(await facts.service(namespace, name));
  const isOfCloud = policy === null || isBuiltIn(policy.className);
  const rules = { providerIDPrefix: isOfCloud ? CLOUD_PREFIX : '', tolerations: policy?.tolerations ?? [], graceMs: 0 };
  return { concerns: () => true, unfit: (node) => unfit(node, serving, rules) ?? whyLeaving(node, 'OnCordon') };
}

function placesOf(
  owner: Owner,
  address: string,
  nodes: readonly ObservedNode[],
): { readonly holder: string | null; readonly elected: string | null } {
  const { assignedNode, electedNode, nodeName, providerID } =
    owner.kind === 'routedip'
      ? { nodeName: undefined, ...owner.object.status }
      : { assignedNode: undefined, ...owner.object.status?.ips?.[address] };
  // It may have been found there without being confirmed.
  const found = nodes.find((node) => providerID && node.providerID === providerID)?.name;
  return { holder: assignedNode ?? nodeName ?? found ?? null, elected: electedNode ?? null };
}

/** Region to which the address can go, as far as objects show; empty for any. A cloud's address stays in its region, one that Jobs assign goes where its class says. */
function regionOf({ kind, object }: Owner, policy: ClassSpec | null, holder: ObservedNode | undefined): string {
  const named = (kind === 'routedip' ? policy?.region : object.spec?.region) ?? '';
  return policy?.updateRoutedIP ? named : holder?.region || named;
}

function notFree({ object: { status } }: Owner, { name, region }: ObservedNode, wanted: string): string | null {
  if (status?.nodeErrors?.includes(name)) return 'left alone for a while after a failure';
  return wanted && region !== '' && region !== wanted ? `it is in region ${region}, not in ${wanted}` : null;
}
