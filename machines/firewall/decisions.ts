import type { Decision, Effect, Opened, Pruned, Refused } from '../events.ts';
import type { FindFirewallInput, FirewallInput, FirewallOwned } from '../jobs.ts';
import { type BackoffTables, backoffMs } from '../model/backoff.ts';
import { parsePort } from '../model/port.ts';
import type { ActorId, JobFailure, NodeRef, PortClaim } from '../model/types.ts';
import { alsoOpen, type Held, heldAfter, isWithin, needs, openable, unionOf } from './claims.ts';
import type { AnyFirewallEvent, Ask, FirewallContext, FirewallMachineInput } from './context.ts';
import { isNothing, mended, stillLost } from './drift.ts';
import type { DoubtSettings } from './in-doubt.ts';
import { covered, isSameNode, nodesAwaited, notApplied, whyNotApplied, withoutGivenUp } from './pending.ts';
import { freedFor, withinShares } from './share.ts';

/** Settings of the operator. */
export interface FirewallSettings extends DoubtSettings {
  readonly backoff: BackoffTables;
}

const NOTHING: FirewallOwned = { ports: [], nodes: [] };

export const firewallContext = ({
  id,
  provider,
  firewall,
  owned = NOTHING,
  claims = {},
  doubt = null,
}: FirewallMachineInput): FirewallContext => ({
  id,
  provider,
  firewall,
  claims,
  waiting: {},
  owned,
  found: null,
  working: [],
  byJobs: false,
  hasShrunk: Object.keys(claims).length > 0,
  ...(doubt && { doubt }),
  failure: null,
  attempts: 0,
});

type Next = Decision<FirewallContext>;
const next = (context: FirewallContext, effects: readonly Effect[] = []): Next => ({ context, effects });

// ---------------------------------------------------------------- claims about the firewall

export const mustOpen = ({ waiting }: FirewallContext): boolean => Object.values(waiting).some(({ isOpen }) => !isOpen);

/** Something of ours is open and unclaimed, or something foreign is open in an exclusive firewall. */
const hasLeftovers = (context: FirewallContext): boolean => {
  const { ports, nodes } = claimedIn(context);
  const { owned, deferred = null } = context;
  const isLess = context.byJobs && context.hasShrunk;
  const hasPorts = deferred === null && owned.ports.some((port) => !ports.has(port));
  return hasPorts || owned.nodes.some((node) => !nodes.has(node)) || isLess || isExclusive(context);
};

/** The firewall has no claims, no waiting claimants, and nothing of ours: nothing is lost with its record. */
export const isUnused = (context: FirewallContext): boolean =>
  Object.keys(context.claims).length + Object.keys(context.waiting).length === 0 &&
  context.owned.ports.length + context.owned.nodes.length === 0 &&
  !hasLeftovers(context);

/** Claimants that wait for a pruning are answered at once when nothing has to be removed. */
export const isPruned = (context: FirewallContext): boolean => !hasLeftovers(context) && Object.values(context.waiting).some(readyToPrune);

/** A claimant waits for a pruning, or something unclaimed is left. */
export const mustPrune = (context: FirewallContext): boolean =>
  hasLeftovers(context) && (Object.values(context.waiting).some(readyToPrune) || (context.failure === null && !isExclusive(context)));

/** Something has to be removed or put back for which no claimant waits, and the last try failed. */
export const mustRest = (context: FirewallContext): boolean =>
  context.failure !== null && Object.keys(context.waiting).length === 0 && (hasLeftovers(context) || !isNothing(stillLost(context)));

/** Everything required is there already, applied or not. */
export const isOpen = (context: FirewallContext): boolean => context.found !== null && isNothing(missing(context));

const readyToPrune = ({ mode, isOpen: opened }: Ask): boolean => mode === 'prune' && opened;
const isExclusive = ({ claims }: FirewallContext): boolean => Object.values(claims).some(({ exclusive }) => exclusive);

/** The union of all claims. */
const claimedIn = ({ claims }: FirewallContext): ReturnType<typeof unionOf> => unionOf(Object.values(claims));

/** What is required and was missing at the last reading. */
function missing(context: FirewallContext): FirewallOwned {
  const { ports, nodes } = unionOf(Object.values(openable(context)));
  const { found } = context;
  return {
    ports: [...ports].filter((port) => !found?.ports.includes(port)).sort(),
    nodes: [...nodes].filter((node) => !found?.nodes.includes(node)).sort(),
  };
}

/** Claimants that need something missing: the next job opens it for them. */
export const opensFor = (context: FirewallContext): readonly ActorId[] => {
  const lacking = missing(context);
  return Object.entries(context.claims).flatMap(([claimant, held]) => (needs(held, lacking) ? [claimant] : []));
};

/** A Job is slow to close what is left: what has to be opened does not wait for it. */
export const opensMeanwhile = ({ byJobs }: FirewallContext, event: AnyFirewallEvent): boolean =>
  byJobs && event.type === 'CLAIM' && event.mode === 'open';

// ---------------------------------------------------------------- decisions

/** Replaces the claimant's claim. Opening adds the node to the claimant's nodes; pruning leaves only that one. */
export function noteClaim(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (event.type !== 'CLAIM') return next(context);
  const { claimant, claimId, node, mode, holds, byJobs = context.byJobs } = event;
  const before = context.claims[claimant];
  const held = heldAfter(before, event);
  const { since } = isSameNode(before, held) ? (context.waiting[claimant] ?? {}) : {};
  const { [claimant]: _, ...others } = context.claims;
  const holder = holds && node ? { address: holds, node } : null;
  const isOpen = mode === 'prune' && (held === null || held.isOpen);
  return next({
    ...context,
    claims: held ? { ...others, [claimant]: held } : others,
    waiting: { ...context.waiting, [claimant]: { claimant, claimId, mode, holder, isOpen, ...(since !== undefined && { since }) } },
    byJobs,
    hasShrunk: context.hasShrunk || !isWithin(before, held),
    ...(context.deferred && { deferred: null }),
    ...(context.refused && { refused: context.refused.filter((id) => id !== claimant) }),
  });
}

export const lookInput = ({ provider, firewall, waiting }: FirewallContext): FindFirewallInput => ({
  provider,
  firewall,
  claimants: Object.keys(waiting),
});

/** The union of all claims, as input of a job that removes. */
export const pruneInput = (context: FirewallContext): FirewallInput => jobInput(context, Object.values(context.claims));

/** The union of the claims for which something may be added. */
export const openInput = (context: FirewallContext): FirewallInput => ({
  ...jobInput(context, Object.values(openable(context))),
  ...(context.hanging?.length && { waitsFor: nodesAwaited(context) }),
});

function jobInput({ provider, firewall, owned, working, found, attempts }: FirewallContext, held: readonly Held[]): FirewallInput {
  const union = held.flatMap(({ nodes, ports }) =>
    ports.flatMap((port) => nodes.map((node) => [`${port} ${node.name} ${node.providerID}`, portClaim(port, node)] as const)),
  );
  const holders = working.flatMap(({ mode, holder }) =>
    mode === 'prune' && holder ? [{ address: holder.address, providerID: holder.node.providerID }] : [],
  );
  return {
    provider,
    firewall,
    owned,
    found,
    attempt: attempts + 1,
    claimants: working.map(({ claimant }) => claimant),
    holders,
    exclusive: held.some(({ exclusive }) => exclusive),
    claims: [...new Map(union)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, claim]) => claim),
  };
}

const portClaim = (text: string, { name, providerID }: NodeRef): PortClaim => ({ ...parsePort(text), node: { name, providerID } });

/** A job starts: it covers everything claimed up to here. */
export const begin = (context: FirewallContext): Next => next({ ...context, working: Object.values(context.waiting) });

/** A job starts that removes what is left of claims: claims that shrink from here on are for the next one. */
export const beginPruning = (context: FirewallContext): Next => next({ ...begin(context).context, hasShrunk: false });

/** The pruning under way is abandoned. */
export const leavePruning = (context: FirewallContext): Next => next({ ...context, hasShrunk: true });

/** What is missing will be added: it counts as ours from here on, whatever the outcome of the call. */
export function plan(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (event.type !== 'xstate.done.actor.look') return next(context);
  const { context: looked, effects } = keepToShares({ ...context, found: event.output });
  return next({ ...looked, owned: union(context.owned, missing(looked)), working: Object.values(looked.waiting) }, effects);
}

/** A claimant that requests more rules than the share of its namespace is refused at once. */
function keepToShares(context: FirewallContext): Next {
  const { claims, refusals } = withinShares(context);
  const told = Object.values(context.waiting).filter(({ claimant }) => refusals.has(claimant));
  if (refusals.size === 0) return next(context);
  return answer({ ...context, claims }, told, ({ claimant, claimId }) => ({
    type: 'REFUSED',
    claimId,
    kind: 'Invalid',
    reason: refusals.get(claimant) ?? '',
  }));
}

export const union = (a: FirewallOwned, b: FirewallOwned): FirewallOwned => ({
  ports: [...new Set([...a.ports, ...b.ports])].sort(),
  nodes: [...new Set([...a.nodes, ...b.nodes])].sort(),
});

/** Everything that the job covered is open, except what the provider rejected or has not applied yet. Claimants that only opened are answered, the others wait for the pruning,
 *  or for the provider. */
export function opened(context: FirewallContext, event: AnyFirewallEvent): Next {
  const lacking = event.type === 'xstate.done.actor.open' ? (event.output.refused ?? null) : null;
  const asks = covered(context);
  const refused = asks.filter(({ claimant }) => lacking !== null && needs(context.claims[claimant], lacking));
  const rest = asks.filter((ask) => !refused.includes(ask));
  const { late, overdue, context: noted } = notApplied(context, rest, event);
  const served = rest.filter((ask) => !late.includes(ask) && !overdue.includes(ask));
  // The clock may have been set back.
  const waits = late.map(({ since = event.at, ...ask }) => [ask.claimant, { ...ask, since: Math.min(since, event.at) }] as const);
  const open = Object.fromEntries(served.filter(({ mode }) => mode === 'prune').map((ask) => [ask.claimant, { ...ask, isOpen: true }]));
  const isServed = (claimant: string): boolean => served.some((ask) => ask.claimant === claimant);
  const back = mended(context, lacking);
  const claims = Object.fromEntries(Object.entries(back.claims).map(([id, held]) => [id, isServed(id) ? { ...held, isOpen: true } : held]));
  const answered = answer(
    {
      ...noted,
      ...back,
      claims: withoutGivenUp(claims, overdue),
      found: null,
      waiting: { ...context.waiting, ...open, ...Object.fromEntries(waits) },
    },
    [...served.filter(({ mode }) => mode === 'open'), ...overdue],
    (ask) =>
      overdue.includes(ask)
        ? { type: 'REFUSED', claimId: ask.claimId, kind: 'NodeInUse', reason: whyNotApplied(context, ask), about: 'FirewallNotReady' }
        : { type: 'OPENED', claimId: ask.claimId, ...alsoOpen(context.claims, ask.claimant) },
  );
  if (lacking === null) return answered;
  const told = answer(answered.context, refused, ({ claimId }) => ({ type: 'REFUSED', claimId, kind: 'Invalid', reason: lacking.why }));
  const owned = { ports: without(context.owned.ports, lacking.ports), nodes: without(context.owned.nodes, lacking.nodes) };
  const left = [...new Set([...(context.refused ?? []), ...refused.map(({ claimant }) => claimant)])].sort();
  const tried = { ...told.context, owned, refused: left };
  // What no claimant waits for is retried after a wait.
  const isLeft = !isNothing(stillLost(tried));
  const failure: JobFailure | null = isLeft ? { kind: 'Invalid', message: lacking.why, retryAfterMs: null, unknownOutcome: false } : null;
  const failed = { failure, attempts: context.attempts + 1 };
  return next({ ...tried, ...(isLeft && failed) }, [...answered.effects, ...told.effects]);
}

const without = <T>(all: readonly T[], some: readonly T[]): readonly T[] => all.filter((each) => !some.includes(each));

/** Everything unclaimed is closed as well; nothing can have been added meanwhile, because one job runs at a time. What had to stay does so until the claims change. */
export function pruned(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (event.type !== 'xstate.done.actor.prune') return next(context);
  const { owned, deferred, freeRules } = event.output;
  const told = answer(
    { ...context, owned, ...(deferred !== null && { deferred }) },
    covered(context).filter(readyToPrune),
    prunedAnswer(deferred),
  );
  if (freeRules === undefined || owned.ports.length === context.owned.ports.length) return told;
  const freed = freedFor(context, freeRules).map((to): Effect => ({ type: 'tell', params: { to, event: { type: 'RULES_FREED' } } }));
  return next(told.context, [...told.effects, ...freed]);
}

const prunedAnswer =
  (deferred: string | null) =>
  ({ claimId }: Ask): Answer => ({ type: 'PRUNED', claimId, ...(deferred !== null && { deferred }) });

/** Nothing has to be removed. */
export const answerPruned = (context: FirewallContext): Next =>
  answer(context, Object.values(context.waiting).filter(readyToPrune), prunedAnswer(null));

type Answer = Untimed<Opened> | Untimed<Pruned> | Untimed<Refused>;
type Untimed<T> = Omit<T, 'at'>;

const answer = (context: FirewallContext, asks: readonly Ask[], told: (ask: Ask) => Answer): Next => {
  const names = new Set(asks.map(({ claimant }) => claimant));
  const waiting = Object.fromEntries(Object.entries(context.waiting).filter(([claimant]) => !names.has(claimant)));
  return next(
    { ...context, waiting, failure: null, attempts: 0 },
    asks.map((ask) => ({ type: 'tell', params: { to: ask.claimant, event: told(ask) } })),
  );
};

/** Refuses all waiting claimants: each address waits out its own back-off and claims again. */
export function refuse(context: FirewallContext, event: AnyFirewallEvent): Next {
  if (!('error' in event)) return next(context);
  const { kind, message, reason } = event.error;
  const about = reason && { about: reason };
  const told = answer(context, Object.values(context.waiting), ({ claimId }) => ({
    type: 'REFUSED',
    claimId,
    kind,
    reason: message,
    ...about,
  }));
  return next({ ...told.context, found: null, failure: event.error, attempts: context.attempts + 1 }, told.effects);
}

/** Retries what was left. */
export const retry = (context: FirewallContext): Next => next({ ...context, failure: null });

/** Back-off before what was left is retried, ms. */
export const restLeft =
  ({ backoff }: FirewallSettings) =>
  ({ failure, attempts }: FirewallContext): number =>
    failure ? backoffMs(backoff, failure, attempts) : 0;
