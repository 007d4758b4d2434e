import type { Decision } from '../events.ts';
import type { FirewallFound, FirewallOwned } from '../jobs.ts';
import type { ActorId } from '../model/types.ts';
import { type Held, needs, openable, unionOf } from './claims.ts';
import type { AnyFirewallEvent, FirewallContext } from './context.ts';

/** Rules or nodes that were removed from a firewall by others, or with a deleted machine, while they were needed: a verification detects that, the firewall is read, and they
 *  are put back. */

const NOTHING: FirewallOwned = { ports: [], nodes: [] };

export const isNothing = ({ ports, nodes }: FirewallOwned): boolean => ports.length + nodes.length === 0;

/** What was confirmed as open, or was lost before and is still claimed, and is missing in the firewall according to a list; `found` is null for a firewall that does not exist.
 *  Anything else that is claimed was never open: its claimant has to request it. */
function lacking(context: FirewallContext, found: FirewallFound | null): FirewallOwned {
  const { ports, nodes } = unionOf(Object.values(openable(context)).filter(({ isOpen }) => isOpen));
  const before = stillLost(context);
  return {
    ports: [...new Set([...ports, ...before.ports])].filter((port) => !found?.ports.includes(port)).sort(),
    nodes: [...new Set([...nodes, ...before.nodes])].filter((node) => !found?.nodes.includes(node)).sort(),
  };
}

/** What was lost and is still claimed by a claimant for which something may be added. */
export function stillLost(context: FirewallContext): FirewallOwned {
  const { lost } = context;
  if (!lost) return NOTHING;
  const { ports, nodes } = unionOf(Object.values(openable(context)));
  return { ports: lost.ports.filter((port) => ports.has(port)), nodes: lost.nodes.filter((node) => nodes.has(node)) };
}

/** Something is expected to be open in it. */
export const isWatched = ({ claims, lost }: FirewallContext): boolean =>
  Boolean(lost) || Object.values(claims).some(({ isOpen }) => isOpen);

/** A list shows that something is missing, or that something missing may be back. What Jobs drive has no list. */
export const showsLoss = (context: FirewallContext, found: FirewallFound | null): boolean =>
  !context.byJobs && (!isNothing(lacking(context, found)) || !isNothing(stillLost(context)));

export const observesLoss = (context: FirewallContext, event: AnyFirewallEvent): boolean =>
  event.type === 'FIREWALL_OBSERVED' && showsLoss(context, event.found);

/** Something that was lost has to be put back, and the last try has not failed. */
export const mustMend = (context: FirewallContext): boolean => context.failure === null && !isNothing(stillLost(context));

/** What is missing no longer counts as open. */
export function noteLoss(context: FirewallContext, event: AnyFirewallEvent): Decision<FirewallContext> {
  if (event.type !== 'FIREWALL_OBSERVED') return { context, effects: [] };
  const lost = lacking(context, event.found);
  const claims = Object.fromEntries(
    Object.entries(context.claims).map(([id, held]) => [id, needs(held, lost) ? { ...held, isOpen: false } : held]),
  );
  return { context: { ...context, claims, lost: isNothing(lost) ? (context.lost ?? null) : lost }, effects: [] };
}

/** What a job has put back for claimants that did not request it counts as open again, except what the provider rejected. */
export function mended(context: FirewallContext, refused: FirewallOwned | null): Pick<FirewallContext, 'claims' | 'lost'> {
  const { lost, waiting } = context;
  if (!lost) return { claims: context.claims };
  const isBack = (id: ActorId, held: Held): boolean =>
    !Object.hasOwn(waiting, id) && !context.refused?.includes(id) && needs(held, lost) && !(refused && needs(held, refused));
  const claims = Object.entries(context.claims).map(([id, held]) => [id, isBack(id, held) ? { ...held, isOpen: true } : held] as const);
  const left = {
    ports: lost.ports.filter((port) => refused?.ports.includes(port)),
    nodes: lost.nodes.filter((node) => refused?.nodes.includes(node)),
  };
  return { claims: Object.fromEntries(claims), lost: isNothing(left) ? null : left };
}

/** What the claimant needs and has lost, as text; null for nothing. */
export function lossOf(context: FirewallContext, claimant: ActorId): string | null {
  const held = context.claims[claimant];
  if (!held || !context.lost || !needs(held, context.lost)) return null;
  const ports = context.lost.ports.filter((port) => held.ports.includes(port));
  const nodes = held.nodes.flatMap(({ name, providerID }) => (context.lost?.nodes.includes(providerID) ? [name] : []));
  const what = [...(ports.length > 0 ? [ports.join(', ')] : []), ...(nodes.length > 0 ? [`node ${nodes.join(', ')}`] : [])];
  const why = context.failure ? `: ${context.failure.message}` : '';
  return `${what.join(' and ')} was taken out of ${context.firewall}, and is being put back${why}`;
}
