import type { Decision, Effect } from '../events.ts';
import { portsOn, sameOn } from '../firewall/policy.ts';
import { isUntilChanged } from '../model/backoff.ts';
import type { ActorId, JobFailure } from '../model/types.ts';
import type { AddressContext, AnyAddressEvent, OpenPorts } from './context.ts';
import { confirmedHere, goesOn, isRetiring } from './decisions.ts';

/** The firewalls of an address, if any: what it claims of them, and when. */

type Next = Decision<AddressContext>;
const next = (context: AddressContext, ...effects: Effect[]): Next => ({ context, effects });

/** There is a firewall, and something must be open in it for the granted node. */
export const opens = ({ policy, elected }: AddressContext): boolean =>
  policy.firewall !== null && elected !== null && portsOn(policy, elected.name).length > 0;
export const opensFirst = (context: AddressContext): boolean => opens(context) && !context.policy.postAllow && !assignsFirst(context);
/** After this many nodes the cause is not the nodes. */
const MOST_UNOPENED = 2;

/** The firewall did not come into effect on this node, or on several others, and the address serves nowhere: it may as well wait on its new node. */
const assignsFirst = ({ unopened, elected, serves }: AddressContext): boolean =>
  !serves && elected !== null && unopened != null && (unopened.includes(elected.name) || unopened.length >= MOST_UNOPENED);
/** There is something to open in a firewall on which nothing is claimed yet: the policy changed during another step. */
const hasUnclaimed = (context: AddressContext): boolean => opens(context) && !context.claimed.includes(context.policy.firewall ?? '');
/** Now that the address is on its node there is something to open for it: as its policy says, or because the policy changed meanwhile. */
export const opensAfter = (context: AddressContext): boolean =>
  hasUnclaimed(context) || (opens(context) && (context.policy.postAllow || assignsFirst(context)));
/** There is something to open now: at once, or once the assignment is confirmed. */
export const opensNow = (context: AddressContext): boolean => opensFirst(context) || (opens(context) && confirmedHere(context));
/** There is something unclaimed to open for an address that is on its node and stays there. */
export const opensUnclaimed = (context: AddressContext): boolean => !isRetiring(context) && confirmedHere(context) && hasUnclaimed(context);
/** The granted node must carry our mark. */
export const marks = ({ policy, elected }: AddressContext): boolean => elected !== null && Boolean(policy.taint);

/** The policy requests another mark, and the address is not on the granted node yet: the mark comes before the address. */
export const marksOtherwise = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'POLICY_OBSERVED' &&
  !confirmedHere(context) &&
  Boolean(event.policy.taint) &&
  event.policy.taint !== (context.policy.taint ?? null);

/** Firewalls to leave: all but the current one, or all of them when the address leaves or no longer needs anything open. */
const firewallsLeft = (context: AddressContext): readonly ActorId[] =>
  context.claimed.filter((firewall) => isRetiring(context) || !opens(context) || firewall !== context.policy.firewall);
const firewallsPruned = (context: AddressContext): readonly ActorId[] => {
  const left = firewallsLeft(context);
  return [...left, ...context.claimed.filter((firewall) => !left.includes(firewall))];
};
/** No firewall can have anything open for the address that should be closed. */
export const prunesNothing = (context: AddressContext): boolean => context.claimed.length === 0;
/** Another firewall follows the one that is being pruned. */
export const prunesMore = (context: AddressContext): boolean => firewallsPruned(context).length > 1;

/** The policy now requests something else on the granted node. */
export const policyMatters = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'POLICY_OBSERVED' && context.elected !== null && !sameOn(context.elected.name, context.policy, event.policy);
/** The wait is for a firewall, and the policy has changed for it. */
export const endsFirewallWait = (context: AddressContext, event: AnyAddressEvent): boolean =>
  policyMatters(context, event) && isOfFirewall(context.failure) && context.retiring === null && goesOn(context);
/** As `endsFirewallWait`, once the node may hold the address again: the policy changed while it could not. */
export const regainsNodeAndOpens = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'NODE_OBSERVED' &&
  event.name === context.elected?.name &&
  event.eligible &&
  !context.eligible &&
  isOfFirewall(context.failure) &&
  context.retiring === null &&
  context.known &&
  lacksPorts(context);
/** A needed port is not known to be open. */
const lacksPorts = ({ policy, open, elected }: AddressContext): boolean =>
  elected !== null && portsOn(policy, elected.name).some((port) => open?.firewall !== policy.firewall || !open?.ports.includes(port));
const isOfFirewall = (failure: JobFailure | null): boolean => failure?.reason !== undefined && failure.reason !== 'RoutedIPJobFailed';
/** A Job reported that its request can never succeed; the templates or the RoutedIP have changed since. */
export const endsJobWait = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'POLICY_OBSERVED' &&
  context.failure !== null &&
  isUntilChanged(context.failure) &&
  event.policy.revision !== context.policy.revision;
/** Its firewall had no room for the rules it needs. */
export const awaitsRules = ({ failure }: AddressContext): boolean => failure?.reason === 'FirewallLimit';
/** After a wait the firewall of an address that is on its node comes first: its ports may have changed meanwhile, and for what is already open the answer comes at once. */
export const resumesOpening = (context: AddressContext): boolean =>
  goesOn(context) &&
  ((context.resume === 'FirewallOpening' && confirmedHere(context)) || (context.resume === 'Pruning' && opensUnclaimed(context)));
/** After a wait an address on its way to a node starts over as after the grant, with the mark and the firewall, which may have changed. */
export const resumesAssigning = (context: AddressContext): boolean =>
  goesOn(context) && (context.resume === 'Assigning' || (context.resume === 'FirewallOpening' && !confirmedHere(context)));

// ---------------------------------------------------------------- decisions

/** On the way to another node, only what was open before if the firewall has no room for more: the rest is claimed once the address is there. */
function portsToOpen(context: AddressContext, node: string): readonly string[] {
  const { policy, open } = context;
  const wanted = portsOn(policy, node);
  if (!open || open.firewall !== policy.firewall || !awaitsRules(context) || confirmedHere(context)) return wanted;
  const had = wanted.filter((port) => open.ports.includes(port));
  return had.length > 0 ? had : wanted;
}

/** Nodes granted earlier may have been refused one after the other: none of that is needed. */
const isNowhere = ({ known, holder, inDoubtUntil }: AddressContext): boolean => known && holder === null && inDoubtUntil === null;

const claimOn = (context: AddressContext, firewall: ActorId, mode: 'open' | 'prune', leaves: boolean): Effect => {
  const { policy, elected, address } = context;
  const node = leaves ? null : elected;
  const event = {
    type: 'CLAIM' as const,
    claimant: context.id,
    node,
    ports: node ? portsToOpen(context, node.name) : [],
    mode,
    ...(node && confirmedHere(context) && { holds: address }),
    ...(mode === 'open' && awaitsRules(context) && isNowhere(context) && { only: true as const }),
    ...(policy.exclusive && { exclusive: true }),
    ...(policy.byJobs && { byJobs: true }),
  };
  return { type: 'claim', params: { to: firewall, event } };
};

/** Claims what must be open on the granted node, in addition to what was claimed for former ones. */
export function claimOpen(context: AddressContext): Next {
  const { firewall } = context.policy;
  const cleared = context.deferred ? { ...context, deferred: null } : context;
  if (firewall === null || !opensNow(context)) return next(cleared);
  const claimed = context.claimed.includes(firewall) ? context.claimed : [...context.claimed, firewall];
  return next({ ...cleared, claimed }, claimOn(context, firewall, 'open', false));
}

/** Everything claimed is open. */
export function noteOpened(context: AddressContext, event: AnyAddressEvent): Next {
  const { policy, elected } = context;
  if (event.type !== 'OPENED' || policy.firewall === null || !elected) return next(context);
  const { also = [] } = event;
  const open = { firewall: policy.firewall, node: elected.name, ports: portsToOpen(context, elected.name), also };
  return next({ ...context, open, ...(context.unopened && { unopened: null }) });
}

/** The firewall did not come into effect on the granted node in time: another node may be granted. */
export const noteUnopened = (context: AddressContext): Next =>
  next(context.elected ? { ...context, unopened: [...new Set([...(context.unopened ?? []), context.elected.name])].sort() } : context);

/** Gives up what is no longer needed, one firewall after the other, starting with those to leave. */
export function claimPrune(context: AddressContext): Next {
  const [firewall] = firewallsPruned(context);
  // What must be open in another firewall comes first.
  if (firewall === undefined || opensUnclaimed(context)) return next(context);
  return next(context, claimOn(context, firewall, 'prune', firewallsLeft(context).includes(firewall)));
}

/** A firewall is pruned. An address that was leaving it is done with it. */
export function notePruned(context: AddressContext, event: AnyAddressEvent): Next {
  const [firewall] = firewallsPruned(context);
  const isLeft = firewall !== undefined && firewallsLeft(context).includes(firewall);
  const deferred = event.type === 'PRUNED' && event.deferred ? { deferred: event.deferred } : {};
  const open = context.open ? { open: isLeft && context.open.firewall === firewall ? null : openNow(context, context.open) } : {};
  // The firewall that stays comes last: after it, everything is pruned.
  const claimed = isLeft ? context.claimed.filter((each) => each !== firewall) : context.claimed;
  return next({ ...context, claimed, ...open, ...deferred });
}

/** Nothing was closed, because the address is not where it was believed to be. */
export const noteDeferral = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(event.type === 'REFUSED' ? { ...context, deferred: event.reason } : context);

/** In the firewall of the last claim everything needed is open; in another firewall, only the part of it that was open before. */
function openNow({ policy }: AddressContext, open: OpenPorts): OpenPorts {
  const needed = portsOn(policy, open.node);
  return { ...open, ports: open.firewall === policy.firewall ? needed : open.ports.filter((port) => needed.includes(port)) };
}

/** A user wants the address released without another call: its claims are given back, and no answer is awaited. */
export const abandon = (context: AddressContext): Next =>
  next(
    { ...context, elected: null, eligible: false, claimed: [] },
    ...context.claimed.map((to): Effect => {
      const event = { type: 'CLAIM', claimant: context.id, claimId: '', node: null, ports: [], mode: 'prune' };
      return { type: 'tell', params: { to, event } };
    }),
  );
