import type { FirewallInput, FirewallOwned } from '../../machines/jobs.ts';
import { parsePort, portText } from '../../machines/model/port.ts';
import type { NodeRef, Port, ProviderID } from '../../machines/model/types.ts';
import type { JobRequest } from '../ports/job-driver.ts';
import type { Json } from '../ports/records.ts';
import { confirmHolders } from './firewall.ts';
import { done, type JobBodies, type JobBody } from './job.ts';
import { failureOfJob, follow, progressOf } from './kubernetes-job.ts';
import { firewallRequest, instanceOf } from './kubernetes-job-request.ts';

/** The firewall cannot be read: it is unknown what is open, and everything claimed has to be opened. */
const findFirewall: JobBody<'findFirewall'> = async () => done({ ports: [], nodes: [], pending: false });

/** A Job opens what is claimed and closes nothing. */
const openFirewall: JobBody<'openFirewall'> = async (context) => {
  const { input } = context;
  const request = firewallRequest(context, 'open', mapOf(input, true));
  const followed = await follow(context, request, 'open');
  if (followed.kind === 'again') return followed;
  if (followed.ended.kind !== 'succeeded') throw failureOfJob(request, followed.ended);
  const wanted = wantedOf(input);
  return done({ owned: { ports: union(input.owned.ports, wanted.ports), nodes: union(input.owned.nodes, wanted.nodes) }, deferred: null });
};

/** A Job closes what was opened for us and is no longer claimed. Where an API can locate addresses, it is queried first. */
const prune: JobBody<'prune'> = async (context) => {
  const { input } = context;
  // The success of a Job that assigned is its confirmation; an API is queried again.
  if (progressOf(context).slots.prune === undefined && !context.provider.jobs?.addresses) await confirmHolders(context);
  const request = firewallRequest(context, 'prune', mapOf(input, false));
  const followed = await follow(context, request, 'prune');
  if (followed.kind === 'again') return followed;
  if (followed.ended.kind !== 'succeeded') throw failureOfJob(request, followed.ended);
  const wanted = wantedOf(input);
  const owned: FirewallOwned = {
    ports: input.owned.ports.filter((port) => wanted.ports.includes(port)),
    nodes: input.owned.nodes.filter((node) => wanted.nodes.includes(node)),
  };
  return done({ owned, deferred: null });
};

const wantedOf = ({ claims }: FirewallInput): FirewallOwned => ({
  ports: [...new Set(claims.map(portText))].sort(),
  nodes: [...new Set(claims.map(({ node }) => node.providerID))].sort(),
});

const union = <T extends string>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])].sort();

/** Everything that has to be open, for all that share the firewall, and what was opened for them earlier. */
function mapOf(input: FirewallInput, addOnly: boolean): JobRequest['request'] {
  const nodesOf = new Map<string, Map<string, NodeRef>>();
  for (const claim of input.claims) {
    const text = portText(claim);
    nodesOf.set(text, (nodesOf.get(text) ?? new Map()).set(claim.node.providerID, claim.node));
  }
  const names = new Map(input.claims.map(({ node }) => [node.providerID, node.name]));
  const ownedNodes = [...input.owned.nodes].sort().map((providerID) => nodeJson({ providerID, name: names.get(providerID) ?? '' }));
  return {
    ports: [...nodesOf].sort(([a], [b]) => (a < b ? -1 : 1)).map(([text, nodes]) => portJson(parsePort(text), sorted(nodes).map(nodeJson))),
    addOnly,
    owned: [...input.owned.ports].sort().map((text) => portJson(parsePort(text), ownedNodes)),
    ...(input.exclusive && { exclusive: true }),
  };
}

const sorted = (nodes: ReadonlyMap<string, NodeRef>): readonly NodeRef[] => [...nodes.values()].sort((a, b) => (a.name < b.name ? -1 : 1));

const nodeJson = ({ name, providerID }: { readonly name: string; readonly providerID: ProviderID }): Json => ({
  name,
  providerID,
  instanceID: instanceOf(providerID),
});

const portJson = ({ port, protocol, sources }: Port, nodes: readonly Json[]): Json => ({
  port,
  protocol,
  ...(sources && { sources }),
  nodes,
});

/** What the Jobs of a class do in place of a provider's verbs for firewalls. */
export const firewallJobs: Partial<JobBodies> = { findFirewall, openFirewall, prune };
