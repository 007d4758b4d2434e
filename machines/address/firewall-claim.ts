import type { Decision, Effect } from '../events.ts';
import { portsOn, sameOn } from '../firewall/policy.ts';
import { isUntilChanged } from '../model/backoff.ts';
import type { ActorId, JobFailure } from '../model/types.ts';
import type { AddressContext, AnyAddressEvent, OpenPorts } from './context.ts';
import { confirmedHere, goesOn, isRetiring } from './decisions.ts';

/** The firewalls of an address, when it has any: what it claims of them, and when. */

type Next = Decision<AddressContext>;
const next = (context: AddressContext, ...effects: Effect[]): Next => ({ context, effects });

/** There is a firewall, and something is to be open in it for the granted node. */
export const opens = ({ policy, elected }: AddressContext): boolean =>
  policy.firewall !== null && elected !== null && portsOn(policy, elected.name).length > 0;
export const opensFirst = (context: AddressContext): boolean => opens(context) && !context.policy.postAllow && !assignsFirst(context);
/** After so many nodes it is not the nodes. */
const MOST_UNOPENED = 2;

/** The firewall did not come into effect on this node, or on several others, and the address serves nowhere: it may as well wait where it is to be. */
const assignsFirst = ({ unopened, elected, serves }: AddressContext): boolean =>
  !serves && elected !== null && unopened != null && (unopened.includes(elected.name) || unopened.length >= MOST_UNOPENED);
/** There is something to open in a firewall on which nothing is claimed yet: the policy was changed while something else was under way. */
const hasUnclaimed = (context: AddressContext): boolean => opens(context) && !context.claimed.includes(context.policy.firewall ?? '');
/** Now that the address is where it should be there is something to open for it: as its policy says, or because that was changed meanwhile. */
export const opensAfter = (context: AddressContext): boolean =>
  hasUnclaimed(context) || (opens(context) && (context.policy.postAllow || assignsFirst(context)));
/** There is something to open, and its time has come: at once, or once the assignment is confirmed. */
export const opensNow = (context: AddressContext): boolean => opensFirst(context) || (opens(context) && confirmedHere(context));
/** The same, of an address that is where it should be and stays there. */
export const opensUnclaimed = (context: AddressContext): boolean => !isRetiring(context) && confirmedHere(context) && hasUnclaimed(context);
/** The granted node is to bear our mark. */
export const marks = ({ policy, elected }: AddressContext): boolean => elected !== null && Boolean(policy.taint);

/** The policy asks for another mark, and the address is not on the granted node yet: the mark comes before the address. */
export const marksOtherwise = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'POLICY_OBSERVED' &&
  !confirmedHere(context) &&
  Boolean(event.policy.taint) &&
  event.policy.taint !== (context.policy.taint ?? null);

/** Firewalls that are to be left: others than the present one, or all of them when the address leaves or nothing is to be open any more. */
const firewallsLeft = (context: AddressContext): readonly ActorId[] =>
  context.claimed.filter((firewall) => isRetiring(context) || !opens(context) || firewall !== context.policy.firewall);
const firewallsPruned = (context: AddressContext): readonly ActorId[] => {
  const left = firewallsLeft(context);
  return [...left, ...context.claimed.filter((firewall) => !left.includes(firewall))];
};
/** Nothing may be open in any firewall for the address that is not to be. */
export const prunesNothing = (context: AddressContext): boolean => context.claimed.length === 0;
/** After the firewall that is being pruned there is another one. */
export const prunesMore = (context: AddressContext): boolean => firewallsPruned(context).length > 1;

/** The policy asks for something else on the granted node than before. */
export const policyMatters = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'POLICY_OBSERVED' && context.elected !== null && !sameOn(context.elected.name, context.policy, event.policy);
/** The wait is for a firewall, of which the policy now says something else. */
export const endsFirewallWait = (context: AddressContext, event: AnyAddressEvent): boolean =>
  policyMatters(context, event) && isOfFirewall(context.failure) && context.retiring === null && goesOn(context);
/** The same, once its node may hold it again: the policy was changed while it could not. */
export const regainsNodeAndOpens = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'NODE_OBSERVED' &&
  event.name === context.elected?.name &&
  event.eligible &&
  !context.eligible &&
  isOfFirewall(context.failure) &&
  context.retiring === null &&
  context.known &&
  lacksPorts(context);
/** Something is needed that is not known to be open. */
const lacksPorts = ({ policy, open, elected }: AddressContext): boolean =>
  elected !== null && portsOn(policy, elected.name).some((port) => open?.firewall !== policy.firewall || !open?.ports.includes(port));
const isOfFirewall = (failure: JobFailure | null): boolean => failure?.reason !== undefined && failure.reason !== 'RoutedIPJobFailed';
/** A Job said that what it was asked for can never work; the templates or the RoutedIP are others since. */
export const endsJobWait = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'POLICY_OBSERVED' &&
  context.failure !== null &&
  isUntilChanged(context.failure) &&
  event.policy.revision !== context.policy.revision;
/** Its firewall had no room for what it needs. */
export const awaitsRules = ({ failure }: AddressContext): boolean => failure?.reason === 'FirewallLimit';
/** After a wait the firewall of an address that is where it should be comes first: its ports may have changed meanwhile, and what is open is answered at once. */
export const resumesOpening = (context: AddressContext): boolean =>
  goesOn(context) &&
  ((context.resume === 'FirewallOpening' && confirmedHere(context)) || (context.resume === 'Pruning' && opensUnclaimed(context)));
/** After a wait an address that is to come to its node begins as it did with the grant: with the mark and the firewall, which may be to be others by now. */
export const resumesAssigning = (context: AddressContext): boolean =>
  goesOn(context) && (context.resume === 'Assigning' || (context.resume === 'FirewallOpening' && !confirmedHere(context)));

// ---------------------------------------------------------------- decisions

/** On the way to another node only what was open before, where the firewall has no room for more: the rest is claimed once the address is there. */
function portsToOpen(context: AddressContext, node: string): readonly string[] {
  const { policy, open } = context;
  const wanted = portsOn(policy, node);
  if (!open || open.firewall !== policy.firewall || !awaitsRules(context) || confirmedHere(context)) return wanted;
  const had = wanted.filter((port) => open.ports.includes(port));
  return had.length > 0 ? had : wanted;
}

/** Nodes that it was granted before may have been refused one after the other: nothing of that is needed. */
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

/** Claims what is to be open on the granted node, beside what was claimed for former ones. */
export function claimOpen(context: AddressContext): Next {
  const { firewall } = context.policy;
  const cleared = context.deferred ? { ...context, deferred: null } : context;
  if (firewall === null || !opensNow(context)) return next(cleared);
  const claimed = context.claimed.includes(firewall) ? context.claimed : [...context.claimed, firewall];
  return next({ ...cleared, claimed }, claimOn(context, firewall, 'open', false));
}

/** All that was claimed is open. */
export function noteOpened(context: AddressContext, event: AnyAddressEvent): Next {
  const { policy, elected } = context;
  if (event.type !== 'OPENED' || policy.firewall === null || !elected) return next(context);
  const { also = [] } = event;
  const open = { firewall: policy.firewall, node: elected.name, ports: portsToOpen(context, elected.name), also };
  return next({ ...context, open, ...(context.unopened && { unopened: null }) });
}

/** The firewall did not come into effect on the granted node in time: another node may be had. */
export const noteUnopened = (context: AddressContext): Next =>
  next(context.elected ? { ...context, unopened: [...new Set([...(context.unopened ?? []), context.elected.name])].sort() } : context);

/** Gives up, one firewall after the other, what is not needed any more: those that are left first. */
export function claimPrune(context: AddressContext): Next {
  const [firewall] = firewallsPruned(context);
  // What is to be open in another firewall comes first.
  if (firewall === undefined || opensUnclaimed(context)) return next(context);
  return next(context, claimOn(context, firewall, 'prune', firewallsLeft(context).includes(firewall)));
}

/** A firewall is pruned: it is done with when it was to be left. */
export function notePruned(context: AddressContext, event: AnyAddressEvent): Next {
  const [firewall] = firewallsPruned(context);
  const isLeft = firewall !== undefined && firewallsLeft(context).includes(firewall);
  const deferred = event.type === 'PRUNED' && event.deferred ? { deferred: event.deferred } : {};
  const open = context.open ? { open: isLeft && context.open.firewall === firewall ? null : openNow(context, context.open) } : {};
  // The one that stays comes last: after it, everything is pruned.
  const claimed = isLeft ? context.claimed.filter((each) => each !== firewall) : context.claimed;
  return next({ ...context, claimed, ...open, ...deferred });
}

/** Nothing was closed, since the address is not where it was thought to be. */
export const noteDeferral = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(event.type === 'REFUSED' ? { ...context, deferred: event.reason } : context);

/** What is needed is open where it was claimed last; of what is open in another firewall, what is needed. */
function openNow({ policy }: AddressContext, open: OpenPorts): OpenPorts {
  const needed = portsOn(policy, open.node);
  return { ...open, ports: open.firewall === policy.firewall ? needed : open.ports.filter((port) => needed.includes(port)) };
}

/** A person wants the address let go without another call: its claims are given back, and nobody waits for that. */
export const abandon = (context: AddressContext): Next =>
  next(
    { ...context, elected: null, eligible: false, claimed: [] },
    ...context.claimed.map((to): Effect => {
      const event = { type: 'CLAIM', claimant: context.id, claimId: '', node: null, ports: [], mode: 'prune' };
      return { type: 'tell', params: { to, event } };
    }),
  );
