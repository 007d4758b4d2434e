import type { FirewallFound, FirewallInput, FirewallOwned } from '../../machines/jobs.ts';
import { parsePort, portText } from '../../machines/port.ts';
import type { ProviderID } from '../../machines/types.ts';
import { ProviderError } from '../errors.ts';
import type { Firewall } from '../ports.ts';
import { again, done, type JobBody, type JobContext, pollStep, read, write } from './body.ts';

type FirewallJob = 'findFirewall' | 'openFirewall' | 'prune';

/** So many addresses are read one by one; of more than that all are listed. */
const READ_SINGLY = 2;

/** FindRoutedIPFirewall. @throws ProviderError NotFound */
export const findFirewall: JobBody<'findFirewall'> = async (context) => {
  const { ports, nodes, pending } = await found(context);
  return done({ ports, nodes, pending });
};

/** AddRoutedIPFirewallPort, AddRoutedIPFirewallNode for what is missing, then waits until the changes are applied. Ports before nodes: a node that comes
 *  in finds its ports open. */
export const openFirewall: JobBody<'openFirewall'> = async (context) => {
  const { input, provider } = context;
  const isFirst = context.progress === null && !context.rerun && input.found !== null;
  const present: FirewallFound = isFirst && input.found ? input.found : await found(context);
  const ports = wantedPorts(input).filter((port) => !present.ports.includes(port));
  const nodes = wantedNodes(input).filter((node) => !present.nodes.includes(node));
  const name = input.firewall;
  if (ports.length > 0) await provider.addRoutedIPFirewallPort(name, ports.map(parsePort), write(context, 'firewall'));
  if (nodes.length > 0) await provider.addRoutedIPFirewallNode(name, nodes, write(context, 'firewall')).catch(asTrouble);
  if (ports.length + nodes.length === 0 && !present.pending) return done({ owned: input.owned, deferred: null });
  const polls = typeof context.progress === 'number' ? context.progress : 0;
  return again(pollStep(context.settings.pollSteps, polls), polls + 1);
};

/** The firewall is there: what is not known is one of the nodes, whose machine may have just gone. */
const asTrouble = (error: unknown): never => {
  if (error instanceof ProviderError && error.kind === 'NotFound') throw new ProviderError('Unavailable', error.message, { cause: error });
  throw error;
};

/** DeleteRoutedIPFirewallPort, DeleteRoutedIPFirewallNode for what we added and nobody claims, once the addresses that left it are seen where they should be.
 *  The last rule stays: the provider wants one. */
export const prune: JobBody<'prune'> = async (context) => {
  const { input, provider } = context;
  const firewall = await found(context);
  const ours = removable(input, firewall);
  const keepsOne = ours.ports.length > 0 && ours.ports.length === firewall.ports.length && firewall.otherRules === 0;
  const ports = keepsOne ? ours.ports.slice(1) : ours.ports;
  if (ports.length + ours.nodes.length > 0) await confirmHolders(context);
  const name = input.firewall;
  if (ports.length > 0) await provider.deleteRoutedIPFirewallPort(name, ports.map(parsePort), write(context, 'firewall'));
  if (ours.nodes.length > 0) await provider.deleteRoutedIPFirewallNode(name, ours.nodes, write(context, 'firewall'));
  const kept = new Set([...wantedPorts(input), ...(keepsOne ? ours.ports.slice(0, 1) : [])]);
  const nodes = new Set(wantedNodes(input));
  const owned: FirewallOwned = {
    ports: input.owned.ports.filter((port) => kept.has(port)),
    nodes: input.owned.nodes.filter((node) => nodes.has(node)),
  };
  return done({ owned, deferred: keepsOne ? `the last rule of firewall ${name} stays: a firewall needs one` : null });
};

/** What may be taken out of the firewall: of ours what nobody claims; of everything when it is for us alone. */
function removable({ claims, owned, exclusive }: FirewallInput, { ports, nodes }: FirewallFound): FirewallOwned {
  const claimedPorts = new Set(claims.map(portText));
  const claimedNodes = new Set(claims.map(({ node }) => node.providerID));
  return {
    ports: ports.filter((port) => !claimedPorts.has(port) && (exclusive || owned.ports.includes(port))),
    nodes: nodes.filter((node) => !claimedNodes.has(node) && (exclusive || owned.nodes.includes(node))),
  };
}

/** An address that was moved meanwhile may need what is about to be closed. @throws ProviderError Conflict */
async function confirmHolders(context: JobContext<'prune'>): Promise<void> {
  const { input, provider } = context;
  const { holders } = input;
  const call = read(context, 'firewall');
  const all =
    holders.length > READ_SINGLY
      ? await provider.listRoutedIPs(call)
      : await Promise.all(holders.map(({ address }) => provider.findRoutedIP(address, call)));
  for (const { address, providerID } of holders) {
    const now = all.find((observed) => observed.address === address)?.providerID ?? null;
    if (now !== providerID)
      throw new ProviderError(
        'Conflict',
        `nothing is removed from firewall ${input.firewall}: ${address} is not on ${providerID} any more`,
      );
  }
}

async function found(context: JobContext<FirewallJob>): Promise<Firewall> {
  const { input, provider } = context;
  const firewall = await provider.findRoutedIPFirewall(input.firewall, read(context, 'firewall'));
  if (!firewall) throw new ProviderError('NotFound', `firewall "${input.firewall}" does not exist at ${input.provider}`);
  return firewall;
}

const wantedPorts = ({ claims }: FirewallInput): readonly string[] => [...new Set(claims.map(portText))].sort();

const wantedNodes = ({ claims }: FirewallInput): readonly ProviderID[] => [...new Set(claims.map(({ node }) => node.providerID))].sort();
