import type { FloatingIPPool } from '../crds/generated/floatingippool.ts';
import type { RoutedIP } from '../crds/generated/routedip.ts';
import { familyOf } from '../machines/address.ts';
import { whyLeaving } from '../machines/drain.ts';
import { compile, ineligible, servingNodes, servingSet, wantsPods } from '../machines/match.ts';
import { isBuiltIn } from '../machines/policy.ts';
import { selects } from '../machines/selector.ts';
import { serviceOf } from '../machines/service.ts';
import { servingNodesOf, unfit } from '../machines/serving-nodes.ts';
import type { Address, ObservedNode } from '../machines/types.ts';
import { matchOf } from '../machines/validate.ts';
import type { Objects } from './objects.ts';
import type { Owner } from './owners.ts';
import type { ClusterFacts } from './ports.ts';
import { CLOUD_PREFIX } from './stage-accounts.ts';

/** A node, and how it stands to an address. */
export interface Candidate {
  readonly node: string;
  readonly verdict: 'holds it' | 'elected' | 'free' | 'refused';
  /** Why it is refused, in the operator's words; empty for the others. */
  readonly why: string;
}

/** Every node that the owner's rules are about, in the order of their names. Decided by the operator's own functions from what is seen now.
 *  @throws Refused | Error when the nodes or what else decides cannot be read */
export async function candidatesOf(owner: Owner, address: string, objects: Objects, facts: ClusterFacts): Promise<readonly Candidate[]> {
  const nodes = await facts.nodes();
  const judge = owner.kind === 'routedip' ? await judgeOfRoutedIP(owner.object, facts) : await judgeOfPool(owner.object, facts);
  const { holder, elected } = placesOf(owner, address);
  const busy = busyNodes(objects, address);
  return nodes
    .filter((node) => judge.concerns(node) || node.name === holder)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((node) => {
      const why = judge.unfit(node) ?? (node.name === holder ? null : notFree(owner, node, busy));
      if (node.name === holder && why === null) return { node: node.name, verdict: 'holds it', why: '' };
      if (node.name === elected && why === null) return { node: node.name, verdict: 'elected', why: '' };
      if (why === null) return { node: node.name, verdict: 'free', why: '' };
      return { node: node.name, verdict: 'refused', why: node.name === holder ? `holds it still; ${why}` : why };
    });
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

async function judgeOfRoutedIP({ metadata, spec, status }: RoutedIP, facts: ClusterFacts): Promise<Judge> {
  const { namespace, name } = serviceOf(metadata.namespace ?? 'default', spec as never);
  const serving = servingNodesOf(await facts.service(namespace, name));
  const policy = status?.class?.kind === 'ClusterRoutedIPClass' ? await facts.routedIPClass(status.class.name) : null;
  const isOfCloud = policy === null || isBuiltIn(policy.className);
  const rules = { providerIDPrefix: isOfCloud ? CLOUD_PREFIX : '', tolerations: policy?.tolerations ?? [], graceMs: 0 };
  return { concerns: () => true, unfit: (node) => unfit(node, serving, rules) ?? whyLeaving(node, 'OnCordon') };
}

function placesOf(owner: Owner, address: string): { readonly holder: string | null; readonly elected: string | null } {
  const { assignedNode, electedNode, nodeName } =
    owner.kind === 'routedip'
      ? { nodeName: undefined, ...owner.object.status }
      : { assignedNode: undefined, electedNode: undefined, nodeName: undefined, ...owner.object.status?.ips?.[address] };
  return { holder: assignedNode ?? nodeName ?? null, elected: electedNode ?? null };
}

/** Node → an address of the same family that is on it, or on its way to it. */
function busyNodes({ pools }: Objects, address: string): ReadonlyMap<string, string> {
  const same = familyOf(address as Address);
  const entries = pools.flatMap(({ status }) => Object.entries(status?.ips ?? {}));
  const others = entries.filter(([other]) => other !== address && familyOf(other as Address) === same);
  return new Map(
    others.flatMap(([other, { electedNode, nodeName }]) =>
      [electedNode, nodeName].flatMap((node) => (node ? [[node, other] as const] : [])),
    ),
  );
}

/** Of a RoutedIP nodes may hold several: how many, its platform decides. */
function notFree(owner: Owner, { name, region }: ObservedNode, busy: ReadonlyMap<string, string>): string | null {
  const other = owner.kind === 'routedip' ? undefined : busy.get(name);
  if (other !== undefined) return `${other} is on it, or on its way to it`;
  if (owner.object.status?.nodeErrors?.includes(name)) return 'left alone for a while after a failure';
  if (owner.kind === 'routedip') return null;
  const wanted = owner.object.spec?.region;
  return wanted && region !== '' && region !== wanted ? `it is in region ${region}, not in ${wanted}` : null;
}
