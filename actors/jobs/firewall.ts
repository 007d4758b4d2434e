import type { FirewallInput, FirewallOwned } from '../../machines/jobs.ts';
import type { Port, ProviderID } from '../../machines/types.ts';
import { ProviderError } from '../errors.ts';
import type { Firewall } from '../ports.ts';
import { again, done, type JobBody, type JobContext, pollStep, read, write } from './body.ts';

/** FindRoutedIPFirewall, AddRoutedIPFirewallPort, AddRoutedIPFirewallNode, then waits until the changes are applied. Adds only what is missing. */
export const openFirewall: JobBody<'openFirewall'> = async (context) => {
  const { input, provider } = context;
  const firewall = await findFirewall(context);
  const ports = wantedPorts(input).filter((port) => !firewall.ports.includes(port));
  const nodes = wantedNodes(input).filter((node) => !firewall.nodes.includes(node));
  if (ports.length > 0) await provider.addRoutedIPFirewallPort(firewall.id, ports.map(parsePort), write(context, 'firewall'));
  if (nodes.length > 0) await provider.addRoutedIPFirewallNode(firewall.id, nodes, write(context, 'firewall'));
  const kept = (context.progress as { owned?: FirewallOwned } | null)?.owned ?? input.owned;
  const owned: FirewallOwned = { ports: union(kept.ports, ports), nodes: union(kept.nodes, nodes) };
  const polls = (context.progress as { polls?: number } | null)?.polls ?? 0;
  if (ports.length + nodes.length > 0 || firewall.pending) {
    return again(pollStep(context.settings.pollSteps, polls), { owned: owned as unknown as { [key: string]: never }, polls: polls + 1 });
  }
  return done({ owned, deferred: null });
};

/** DeleteRoutedIPFirewallPort, DeleteRoutedIPFirewallNode for what we added and nobody claims. The last rule stays: the provider wants one. */
export const prune: JobBody<'prune'> = async (context) => {
  const { input, provider } = context;
  const firewall = await findFirewall(context);
  const claimedPorts = new Set(wantedPorts(input));
  const claimedNodes = new Set(wantedNodes(input));
  const unclaimed = input.owned.ports.filter((port) => !claimedPorts.has(port) && firewall.ports.includes(port));
  const keepsOne = unclaimed.length > 0 && unclaimed.length === firewall.ports.length;
  const ports = keepsOne ? unclaimed.slice(1) : unclaimed;
  const nodes = input.owned.nodes.filter((node) => !claimedNodes.has(node) && firewall.nodes.includes(node));
  if (ports.length > 0) await provider.deleteRoutedIPFirewallPort(firewall.id, ports.map(parsePort), write(context, 'firewall'));
  if (nodes.length > 0) await provider.deleteRoutedIPFirewallNode(firewall.id, nodes, write(context, 'firewall'));
  const owned: FirewallOwned = {
    ports: input.owned.ports.filter((port) => claimedPorts.has(port) || (keepsOne && port === unclaimed[0])),
    nodes: input.owned.nodes.filter((node) => claimedNodes.has(node)),
  };
  return done({ owned, deferred: keepsOne ? `the last rule of firewall ${input.firewall} stays: a firewall needs one` : null });
};

async function findFirewall(context: JobContext<'openFirewall'> | JobContext<'prune'>): Promise<Firewall> {
  const { input, provider } = context;
  const firewall = await provider.findRoutedIPFirewall(input.firewall, read(context, 'firewall'));
  if (!firewall) throw new ProviderError('NotFound', `firewall "${input.firewall}" does not exist at ${input.provider}`);
  return firewall;
}

const wantedPorts = ({ claims }: FirewallInput): readonly string[] =>
  [...new Set(claims.map(({ port, protocol }) => `${protocol.toLowerCase()}/${port}`))].sort();

const wantedNodes = ({ claims }: FirewallInput): readonly ProviderID[] => [...new Set(claims.map(({ node }) => node.providerID))].sort();

const union = <T extends string>(a: readonly T[], b: readonly T[]): readonly T[] => [...new Set([...a, ...b])].sort();

const parsePort = (text: string): Port => {
  const [protocol, port] = text.split('/');
  return { port: Number(port), protocol: protocol === 'udp' ? 'UDP' : 'TCP' };
};
