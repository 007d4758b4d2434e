import type { ActorId, NodeRef, ProviderID } from '../model/types.ts';
import { type Held, openable, pendingAmong } from './claims.ts';
import type { AnyFirewallEvent, Ask, FirewallContext } from './context.ts';

/** A provider accepts a change of a firewall first and applies it on each machine later: usually within seconds, and never on a machine that hangs. */

/** How long it may take on a node before the claimant is refused because of that node, ms. */
const APPLY_MS = 30_000;
/** Limit on the remembered nodes that hung; some may be gone. */
const MOST_REMEMBERED = 50;
/** Interval between reads while a claimant waits, ms. */
export const LOOK_EVERY_MS = 2000;

/** The node for which the claim was made: a claim lists the newest node last, and the former ones serve as before. */
const nodeOf = (context: FirewallContext, { claimant }: Pick<Ask, 'claimant'>): NodeRef | null =>
  openable(context)[claimant]?.nodes.at(-1) ?? null;

/** Both are for the same node. */
export const isSameNode = (before: Held | undefined, after: Held | null): boolean =>
  before?.nodes.at(-1)?.providerID === after?.nodes.at(-1)?.providerID;

/** A claimant that is refused because of its node, and is not on it, goes elsewhere: it no longer needs anything there. */
export function withoutGivenUp(claims: Readonly<Record<ActorId, Held>>, overdue: readonly Ask[]): Readonly<Record<ActorId, Held>> {
  const left = new Set(overdue.filter(({ holder }) => holder === null).map(({ claimant }) => claimant));
  if (left.size === 0) return claims;
  return Object.fromEntries(
    Object.entries(claims).flatMap(([id, held]) => {
      const nodes = left.has(id) ? held.nodes.slice(0, -1) : held.nodes;
      return nodes.length === 0 ? [] : [[id, { ...held, nodes }] as const];
    }),
  );
}

/** The nodes of the claimants that wait for the job under way. */
export const nodesAwaited = (context: FirewallContext): readonly ProviderID[] =>
  [...new Set(context.working.flatMap((ask) => nodeOf(context, ask)?.providerID ?? []))].sort();

interface NotApplied {
  /** Waiting for a node on which the change is not applied yet. */
  readonly late: readonly Ask[];
  /** The same, but this claimant, or another one on that node, has waited too long. */
  readonly overdue: readonly Ask[];
  readonly context: FirewallContext;
}

/** Among the claimants covered by the job or the read, those that wait for a node on which the change is not applied yet, and those that have waited too long. */
export function notApplied(context: FirewallContext, asks: readonly Ask[], event: AnyFirewallEvent): NotApplied {
  const { found, hanging = [] } = context;
  const awaited = nodesAwaited(context);
  const seen = found === null ? [] : pendingAmong(found, awaited);
  const pending = event.type === 'xstate.done.actor.open' ? (event.output.pendingOn ?? []) : seen;
  const nodeIn = (ask: Ask): ProviderID => nodeOf(context, ask)?.providerID ?? ('' as ProviderID);
  const waits = asks.filter((ask) => pending.includes(nodeIn(ask)));
  const isOverdue = (ask: Ask): boolean => hanging.includes(nodeIn(ask)) || event.at - (ask.since ?? event.at) >= APPLY_MS;
  const overdue = waits.filter(isOverdue);
  const still = hanging.filter((node) => pending.includes(node) || !awaited.includes(node));
  const now = [...new Set([...still, ...overdue.map(nodeIn)])].slice(-MOST_REMEMBERED);
  const noted = now.length + hanging.length > 0 ? { ...context, hanging: now } : context;
  return { late: waits.filter((ask) => !overdue.includes(ask)), overdue, context: noted };
}

/** A claimant has to keep waiting. */
export const isLate = (context: FirewallContext, event: AnyFirewallEvent): boolean =>
  notApplied(context, covered(context), event).late.length > 0;

/** Claims that the job covered and that were not renewed since. */
export const covered = ({ working, waiting }: FirewallContext): readonly Ask[] =>
  working.filter(({ claimant, claimId }) => waiting[claimant]?.claimId === claimId);

/** Why a claimant stops waiting. */
export function whyNotApplied(context: FirewallContext, ask: Ask): string {
  const { firewall, found } = context;
  const failed = found?.failed ? ': the provider says that it failed' : '';
  return `firewall ${firewall}: its changes were not applied on ${nodeOf(context, ask)?.name} within ${APPLY_MS / 1000} s${failed}`;
}

/** All waiting claimants were covered by the last read: no other read is needed. */
export const onlyApplies = ({ waiting, working }: FirewallContext): boolean => {
  const unopened = Object.values(waiting).filter(({ isOpen }) => !isOpen);
  return unopened.length > 0 && unopened.every(({ claimId }) => working.some((ask) => ask.claimId === claimId));
};
