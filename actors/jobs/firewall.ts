import { pendingAmong } from '../../machines/firewall/claims.ts';
import type { FirewallFound, FirewallInput, FirewallOwned, FirewallRefused } from '../../machines/jobs.ts';
import { parsePort, portText } from '../../machines/model/port.ts';
import type { ProviderID } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { Firewall } from '../ports/provider.ts';
import type { Json } from '../ports/records.ts';
import { again, done, type JobBody, type JobContext, pollStep, read, write } from './job.ts';

type FirewallJob = 'findFirewall' | 'openFirewall';

/** Up to this many addresses are read one by one; for more, all are listed. */
const READ_SINGLY = 2;

/** FindRoutedIPFirewall. @throws ProviderError NotFound */
export const findFirewall: JobBody<'findFirewall'> = async (context) => {
  const { ports, nodes, pending, pendingOn, failed, freeRules } = await found(context);
  return done({ ports, nodes, pending, ...(pendingOn && { pendingOn }), ...(failed && { failed }), freeRules });
};

/** The progress of an opening. */
interface Opening {
  readonly polls: number;
  readonly refused: FirewallRefused;
  /** Nodes whose machines no longer exist. */
  readonly gone: readonly ProviderID[];
  /** A run of it followed one whose outcome was lost. */
  readonly rerun?: boolean;
}

/** This many looks in quick succession suffice for a healthy provider; a longer wait must not keep others from the firewall. */
const QUICK_LOOKS = 9;

const NOTHING_REFUSED: FirewallRefused = { ports: [], nodes: [], why: '' };

/** AddRoutedIPFirewallPort, AddRoutedIPFirewallNode for what is missing, then waits briefly for the changes to be applied where they are waited for. Ports before nodes: a
 *  node that is added finds its ports open. What the provider refuses keeps nothing else out: one address's rule too many must not affect other addresses. A node whose
 *  machine is gone is left out: an address that leaves it, or has not learnt of it yet, delays no other. */
export const openFirewall: JobBody<'openFirewall'> = async (context) => {
  const { input, provider } = context;
  const { polls, refused: tried, gone, rerun: wasRerun = false } = openingIn(context.progress);
  const rerun = wasRerun || context.rerun;
  const isFirst = context.progress === null && !context.rerun && input.found !== null;
  const present: FirewallFound = isFirst && input.found ? input.found : await found(context);
  const before = absentOf(tried, present);
  const name = input.firewall;
  const missing = wantedPorts(input).filter((port) => !present.ports.includes(port) && !before.ports.includes(port));
  const ports = await added(missing, (some) => provider.addRoutedIPFirewallPort(name, some.map(parsePort), write(context, 'firewall')));
  const left = [...before.ports, ...ports.refused];
  const closed = (node: ProviderID): boolean => !present.nodes.includes(node) && !before.nodes.includes(node) && !gone.includes(node);
  const absent = nodesFor(input, left).filter(closed);
  const why = ports.why ?? before.why;
  const nodes = await added(absent, (some) => provider.addRoutedIPFirewallNode(name, some, write(context, 'firewall'))).catch(
    (error: unknown) => goneAmong(context, absent, error),
  );
  if ('gone' in nodes) return again(0, { polls, refused: { ...before, ports: left, why }, gone: [...gone, ...nodes.gone], rerun });
  const refused = { ports: left, nodes: [...before.nodes, ...nodes.refused], why: ports.why ?? nodes.why ?? before.why };
  const pendingOn = pendingAmong(present, input.waitsFor ?? wantedNodes(input));
  if (missing.length + absent.length > 0 || (pendingOn.length > 0 && polls < QUICK_LOOKS))
    return again(pollStep(context.settings.pollSteps, polls), { polls: polls + 1, refused: { ...refused }, gone, rerun });
  const isWhole = refused.ports.length + refused.nodes.length === 0;
  const waits = pendingOn.length > 0 && { pendingOn };
  return done({ owned: input.owned, deferred: null, ...(!isWhole && { refused }), ...waits, ...(rerun && { rerun }) });
};

const openingIn = (progress: Json): Opening =>
  typeof progress === 'object' && progress !== null ? (progress as unknown as Opening) : { polls: 0, refused: NOTHING_REFUSED, gone: [] };

/** What was refused and is still missing: an earlier try that was cut off by another error may have added it. */
const absentOf = ({ ports, nodes, why }: FirewallRefused, present: FirewallFound): FirewallRefused => ({
  ports: ports.filter((port) => !present.ports.includes(port)),
  nodes: nodes.filter((node) => !present.nodes.includes(node)),
  why,
});

/** Adds all at once or, when the provider refuses that, one by one: then those that it accepts. */
async function added<T>(
  items: readonly T[],
  add: (some: readonly T[]) => Promise<void>,
): Promise<{ readonly refused: readonly T[]; readonly why: string | null }> {
  if (items.length === 0) return { refused: [], why: null };
  try {
    await add(items);
    return { refused: [], why: null };
  } catch (error) {
    if (!(error instanceof ProviderError) || error.kind !== 'Invalid' || error.unknownOutcome) throw error;
    if (items.length === 1) return { refused: items, why: error.message };
  }
  const refused: T[] = [];
  let why: string | null = null;
  for (const item of items) {
    const one = await added([item], add);
    refused.push(...one.refused);
    why ??= one.why;
  }
  return { refused, why };
}

/** Nodes with a claimed port that was not refused. */
const nodesFor = ({ claims }: FirewallInput, refused: readonly string[]): readonly ProviderID[] =>
  [...new Set(claims.filter((claim) => !refused.includes(portText(claim))).map(({ node }) => node.providerID))].sort();

/** The nodes whose machines are gone: the provider refuses the whole call for one that it does not know. @throws ProviderError when it refused for another reason */
async function goneAmong(
  context: JobContext<'openFirewall'>,
  nodes: readonly ProviderID[],
  error: unknown,
): Promise<{ readonly gone: readonly ProviderID[] }> {
  if (!(error instanceof ProviderError) || (error.kind !== 'NotFound' && error.kind !== 'Unavailable')) throw error;
  const call = read(context, 'firewall');
  const looked = await Promise.all(nodes.map((node) => context.provider.findNode(node, call))).catch(() => []);
  const gone = nodes.filter((_, index) => looked[index] === 'gone');
  if (gone.length > 0) return { gone };
  // The firewall exists: the provider does not know one of the nodes, whose machine may have just gone.
  throw error.kind === 'NotFound' ? new ProviderError('Unavailable', error.message, { cause: error }) : error;
}

/** DeleteRoutedIPFirewallPort, DeleteRoutedIPFirewallNode for what we added and is no longer claimed, once the addresses that left it are seen where they should be. The
 *  last rule stays: the provider requires one. */
export const prune: JobBody<'prune'> = async (context) => {
  const { input, provider, rerun } = context;
  const firewall = await provider.findRoutedIPFirewall(input.firewall, read(context, 'firewall'));
  // The firewall was deleted: nothing of what was added is left, and no actor is kept waiting for that.
  if (!firewall) return done({ owned: { ports: [], nodes: [] }, deferred: null });
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
  const deferred = keepsOne ? `the last rule of firewall ${name} stays: a firewall needs one` : null;
  return done({ owned, deferred, freeRules: firewall.freeRules + ports.length, ...(rerun && { rerun }) });
};

/** What may be removed from the firewall: whatever is not claimed, and is ours unless the firewall is exclusive. */
function removable({ claims, owned, exclusive }: FirewallInput, { ports, nodes }: FirewallFound): FirewallOwned {
  const claimedPorts = new Set(claims.map(portText));
  const claimedNodes = new Set(claims.map(({ node }) => node.providerID));
  return {
    ports: ports.filter((port) => !claimedPorts.has(port) && (exclusive || owned.ports.includes(port))),
    nodes: nodes.filter((node) => !claimedNodes.has(node) && (exclusive || owned.nodes.includes(node))),
  };
}

/** An address that was moved meanwhile may need what is about to be closed. @throws ProviderError Conflict */
export async function confirmHolders(context: JobContext<'prune'>): Promise<void> {
  const { input, provider } = context;
  const { holders } = input;
  const call = read(context, 'firewall');
  const all =
    holders.length > READ_SINGLY
      ? await provider.listRoutedIPs({ ...call, family: 4 })
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
