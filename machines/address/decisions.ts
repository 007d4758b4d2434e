import type { Decision, Effect, Refused } from '../events.ts';
import { portsOn } from '../firewall/policy.ts';
import type { AssignInput, ElectInput, FindInput } from '../jobs.ts';
import { backoffMs, isUntilChanged, restMs } from '../model/backoff.ts';
import type { RoutedIPSubject } from '../model/firewall-policy.ts';
import { nodeClaim } from '../model/node-claim.ts';
import type { JobFailure, NodeRef, ObservedAddress } from '../model/types.ts';
import type { AddressContext, AddressSettings, AnyAddressEvent, ResumeState } from './context.ts';
import { isOwn } from './context.ts';

type Next = Decision<AddressContext>;
const next = (context: AddressContext, ...effects: Effect[]): Next => ({ context, effects });
export const toPool = (context: AddressContext, event: { readonly type: string; readonly [field: string]: unknown }): Effect => ({
  type: 'tell',
  params: { to: context.pool, event: { ...event, address: context.address } as { type: string } },
});

// ---------------------------------------------------------------- inputs of jobs

/** The subject passed to Jobs, where Jobs drive the address. */
export function subjectOf({ policy, region, epoch, elected, assigned, previous, attempts }: AddressContext): {
  readonly subject?: RoutedIPSubject;
} {
  if (!policy.subject) return {};
  const former = assigned && assigned.name !== elected?.name ? assigned : (previous.at(-1) ?? null);
  const ports = elected ? portsOn(policy, elected.name) : policy.ports;
  // Records of earlier versions lack the region of their class; they have only the one from the creation.
  return { subject: { ...policy.subject, ports, region: policy.subject.region ?? region, epoch, previous: former, attempt: attempts + 1 } };
}

export const findInput = (context: AddressContext): FindInput => ({
  provider: context.provider,
  address: context.address,
  notBefore: context.inDoubtUntil,
  holder: context.holder,
  ...subjectOf(context),
});

export function assignInput(context: AddressContext): AssignInput {
  const { provider, address, holder, elected, inDoubtUntil, looks, vacates } = context;
  if (!elected) throw new Error(`address ${address} is assigned without a node`);
  const flags = { ...(looks && { looksFirst: true as const }), ...(vacates && { vacates }) };
  return { provider, address, holder, node: elected, inDoubtUntil, ...flags, ...subjectOf(context) };
}

export function electInput({ provider, address, elected, policy }: AddressContext): ElectInput {
  if (!elected || !policy.taint) throw new Error(`address ${address} marks no node`);
  return { provider, address, node: elected, effect: policy.taint };
}

// ---------------------------------------------------------------- guards: claims about the context and the event

export const isKnown = ({ known, inDoubtUntil }: AddressContext): boolean => known && inDoubtUntil === null;

/** It may be in use where a Job found it, and is not owned: no list shows when it is free. */
export const isUnlisted = (context: AddressContext): boolean =>
  context.policy.subject !== undefined && !isOwn(context) && context.place !== 'Free';

/** The node to which the assign in doubt may be under way is kept from other addresses. */
export const claimsInDoubt = ({ elected, inDoubtUntil }: AddressContext): boolean => elected !== null && inDoubtUntil !== null;

/** According to the provider's last answer the address is already on the granted node. */
export const holdsAlready = ({ elected, holder, inDoubtUntil }: AddressContext): boolean =>
  elected !== null && holder === elected.providerID && inDoubtUntil === null;

/** The granted node already holds the address, but a Job read that some time ago. Since then it may have been detached, or the machine restarted without it; no list shows that. */
export const wasFoundLongAgo =
  ({ callDeadlineMs }: AddressSettings) =>
  ({ policy, holder, foundAt = 0 }: AddressContext, event: AnyAddressEvent): boolean =>
    event.type === 'NODE_GRANTED' &&
    policy.subject !== undefined &&
    holder === event.node.providerID &&
    Math.abs(event.at - foundAt) > callDeadlineMs;

export const confirmedHere = ({ elected, assigned }: AddressContext): boolean =>
  elected !== null && assigned?.name === elected.name && assigned.providerID === elected.providerID;

/** After a wait: the node is still eligible, the address need not be read first, and it was not requested to be on no node. */
export const goesOn = ({ eligible, known, parked }: AddressContext): boolean => eligible && known && !parked;
export const isRetiring = ({ retiring }: AddressContext): boolean => retiring !== null;
export const isForced = (_: AddressContext, event: AnyAddressEvent): boolean => event.type === 'RETIRE' && event.force === true;

/** The granted node may no longer hold the address, according to the fact. */
export const losesNode = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'NODE_OBSERVED' && event.name === context.elected?.name && !event.eligible;

/** Another node may end the wait: the cause lies neither with the address nor with the credentials, and nothing is in doubt. */
export const mayTryElsewhere = (context: AddressContext): boolean =>
  context.known && context.inDoubtUntil === null && context.failure?.kind !== 'Unauthorized' && context.failure?.kind !== 'NotFound';

/** The fact differs from the recorded state. A locked address is in transit: its next report counts. */
export function differs(context: AddressContext, event: AnyAddressEvent): boolean {
  if (event.type === 'ADDRESS_OBSERVED')
    return event.observed === null || (!event.observed.locked && isSeenOtherwise(context, event.observed));
  return event.type === 'xstate.done.actor.find' && event.output.providerID !== context.holder;
}

/** For an address that is not owned, its place decides whether it may be taken: a machine may have become a node meanwhile. */
export const isSeenOtherwise = (context: AddressContext, { providerID, place }: ObservedAddress): boolean =>
  providerID !== context.holder || (!isOwn(context) && (place ?? 'Free') !== context.place);

export const reappears = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'ADDRESS_OBSERVED' && event.observed !== null && context.failure?.kind === 'NotFound' && context.retiring === null;

const failureIn = (event: AnyAddressEvent): JobFailure | null => {
  if ('error' in event) return event.error;
  return event.type === 'REFUSED' ? refusal(event) : null;
};

/** A firewall's refusal says nothing about the address: NotFound means the firewall. */
function refusal({ kind, reason: message, about }: Pick<Refused, 'kind' | 'reason' | 'about'>): JobFailure {
  const failure = { message, retryAfterMs: null, unknownOutcome: false };
  if (about) return { ...failure, kind, reason: about };
  if (kind === 'Unsupported') return { ...failure, kind, reason: 'FirewallNotSupported' };
  if (kind === 'NotFound') return { ...failure, kind: 'Invalid', reason: 'FirewallNotFound' };
  if (kind === 'Invalid') return { ...failure, kind, reason: 'FirewallLimit' };
  return { ...failure, kind, reason: kind === 'Conflict' ? 'PruneDeferred' : 'FirewallNotReady' };
}

export const failsAs =
  (...kinds: readonly JobFailure['kind'][]) =>
  (_: AddressContext, event: AnyAddressEvent): boolean => {
    const failure = failureIn(event);
    return failure !== null && kinds.includes(failure.kind);
  };

/** After a failure others may have the node first: the addresses whose assignments are spaced with this one's, or any address where its claims exclude no other. */
export const yieldsToOthers = ({ spaced, claimsWithin }: AddressContext): boolean => spaced || claimsWithin !== undefined;

/** The failure leaves nothing in doubt: neither this call nor an earlier one can still take effect. */
export const isSettled = ({ inDoubtUntil }: AddressContext, event: AnyAddressEvent): boolean =>
  inDoubtUntil === null && failureIn(event)?.unknownOutcome === false;

// ---------------------------------------------------------------- decisions: the next context and its effects

/** The address is no longer on its node: what is open there for it has to be pruned. */
export const leaveHolder = ({ assigned, previous }: AddressContext): Pick<AddressContext, 'assigned' | 'previous'> => ({
  assigned: null,
  previous: assigned ? [...previous.filter(({ name }) => name !== assigned.name), assigned] : previous,
});

/** Takes over what the provider reports. A locked address is in transit and must be read again. */
export function learn(context: AddressContext, event: AnyAddressEvent): Next {
  const observed = event.type === 'xstate.done.actor.find' ? event.output : event.type === 'ADDRESS_OBSERVED' ? event.observed : null;
  if (!observed) return next({ ...context, known: false });
  const stays = context.assigned?.providerID === observed.providerID;
  return next({
    ...context,
    known: !observed.locked,
    holder: observed.providerID,
    region: observed.region || context.region,
    ...(!isOwn(context) && { place: observed.place ?? 'Free' }),
    ...(stays ? {} : leaveHolder(context)),
    inDoubtUntil: null,
    ...(context.policy.subject && { foundAt: event.at }),
    ...(context.failure?.kind === 'NotFound' && { failure: null, attempts: 0 }),
  });
}

/** The recorded state may be void: the address is read before anything is decided. */
export const question = (context: AddressContext): Next => next({ ...context, known: false });

/** Waits for a node: any grant is given back. */
export const awaitNode = (context: AddressContext): Next =>
  next(
    {
      ...context,
      elected: null,
      eligible: false,
      coolOffUntil: null,
      ...(context.parked && context.holder === null && { parked: 'done' }),
    },
    toPool(context, {
      type: 'READY',
      holder: context.holder,
      region: context.region,
      ...(!isOwn(context) && { adopts: context.place ?? 'Unseen' }),
    }),
  );

/** Jobs started from here on use the current policy. */
const begins = ({ renewed }: AddressContext): Pick<AddressContext, 'renewed'> => (renewed ? { renewed: false } : {});

/** Takes the pool's grant. The former holder joins the nodes not yet pruned. */
export function elect(context: AddressContext, event: AnyAddressEvent): Next {
  if (event.type !== 'NODE_GRANTED') return next(context);
  const former = context.assigned && context.assigned.name !== event.node.name ? [context.assigned] : [];
  const previous = [...context.previous, ...former].filter(
    (node, index, all) => node.name !== event.node.name && all.findIndex(({ name }) => name === node.name) === index,
  );
  return next({
    ...context,
    elected: event.node,
    eligible: true,
    spaced: event.spaced,
    ...((event.vacates ?? context.vacates) && { vacates: event.vacates ?? null }),
    previous,
    epoch: context.epoch + 1,
    ...(!isOwn(context) && { unconfirmed: true, looks: event.looks === true }),
    ...begins(context),
    ...(context.deferred && { deferred: null }),
    ...((event.serves ?? context.serves) !== undefined && { serves: event.serves === true }),
  });
}

/** A grant that arrives while the address is being read, because the pool did not know: recorded so that READY or FAILED gives it back. */
export const noteGrant = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(
    event.type === 'NODE_GRANTED' && context.retiring === null
      ? { ...context, elected: event.node, eligible: true, spaced: event.spaced }
      : context,
  );

const OWN = { unconfirmed: false, looks: false };

/** The provider confirmed the address on the granted node. */
const confirmed = (context: AddressContext, moved: boolean): Next => {
  const { elected } = context;
  if (!elected) return next(context);
  const held = { ...context, assigned: elected, holder: elected.providerID, known: true, inDoubtUntil: null, failure: null, attempts: 0 };
  const own = { ...(context.unconfirmed && OWN), ...(context.place && { place: null }) };
  return next({ ...held, ...own, coolOffUntil: null }, toPool(context, { type: 'ASSIGNED', node: elected, moved }));
};

export const adopt = (context: AddressContext): Next => confirmed(context, false);
export const confirm = (context: AddressContext): Next => confirmed(context, true);

export const noteNode = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(event.type === 'NODE_OBSERVED' && event.name === context.elected?.name ? { ...context, eligible: event.eligible } : context);

/** The Jobs that drive the address continue until it is released, whatever class or issuer its owner names by then: the policy of another class does not apply to them. */
export function notePolicy(context: AddressContext, event: AnyAddressEvent): Next {
  if (event.type !== 'POLICY_OBSERVED') return next(context);
  const isForOthers = event.provider !== undefined && event.provider !== context.provider;
  const subject = (isForOthers ? undefined : event.policy.subject) ?? context.policy.subject;
  const policy = subject ? { ...event.policy, subject } : event.policy;
  const isRenewed = policy.revision !== context.policy.revision;
  const forgets = context.unopened && policy.firewall !== context.policy.firewall;
  const noted = { ...(isRenewed && { renewed: true }), ...(forgets && { unopened: null }) };
  return next({ ...context, policy, perNode: policy.perNode ?? context.perNode, ...noted });
}

/** No firewall work is left: nothing unclaimed is open for us. */
export const settle = (context: AddressContext): Next =>
  next({ ...context, ...begins(context), previous: [], coolOffUntil: null, failure: null, attempts: 0 });

/** Marks the outcome of an assign that was under way as unknown: it may take effect until the call deadline has passed. */
export const doubt =
  ({ callDeadlineMs }: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next =>
    next({ ...context, inDoubtUntil: event.at + callDeadlineMs });

/** A call of unknown outcome may take effect until the call deadline has passed, unless the provider's answer gives a shorter time or rules it out. An earlier call may take
 *  longer. */
function doubtAfter({ callDeadlineMs }: AddressSettings, { inDoubtUntil }: AddressContext, event: AnyAddressEvent): number | null {
  const { unknownOutcome, effectWithinMs = callDeadlineMs } = failureIn(event) ?? {};
  return unknownOutcome ? Math.max(inDoubtUntil ?? 0, event.at + effectWithinMs) : inDoubtUntil;
}

/** Gives the grant up. A call of unknown outcome may still take effect: until then neither the next owner of the address nor another user of the node may get it. */
export const leave =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const inDoubtUntil = doubtAfter(settings, context, event);
    const left = { ...context, ...begins(context), eligible: false, inDoubtUntil, coolOffUntil: null };
    return next(leavesInDoubt(left, event) ? left : { ...left, elected: null });
  };

/** A call of ours may still take effect on an address that is no longer wanted. */
export const leavesInDoubt = ({ retiring, inDoubtUntil }: AddressContext, { at }: AnyAddressEvent): boolean =>
  retiring !== null && inDoubtUntil !== null && inDoubtUntil > at;

/** Waits until no call of ours can still take effect, then continues to leave. */
export const awaitDoubt = (context: AddressContext): Next => next({ ...context, resume: 'Pruning', coolOffUntil: context.inDoubtUntil });

export const endDoubt = (context: AddressContext): Next =>
  next(isRetiring(context) ? { ...context, elected: null, inDoubtUntil: null } : context);

/** A Job that ends with "try again later" does not say whether its node is the reason: after this many tries the address goes to another node. */
const TRIES_ON_A_NODE = 3;

/** Starts a wait after a failure that continues at `resume`. The grant is kept, unless it yields to others or Jobs have failed on the node too often. It is always kept while
 *  the outcome is in doubt. Once nothing can still take effect, a failed read ends the grant as well: otherwise others that wait for the node would depend on a read that
 *  may never succeed. */
export const fail =
  (settings: AddressSettings, resume: ResumeState, keeps: 'grant' | 'nothing') =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const failure = failureIn(event);
    if (!failure) return next(context);
    const inDoubtUntil = resume === 'Assigning' ? doubtAfter(settings, context, event) : context.inDoubtUntil;
    const isOver = inDoubtUntil === null || (resume === 'Unassigned' && inDoubtUntil <= event.at);
    const isTried = resume === 'Assigning' && context.policy.subject !== undefined && context.attempts + 1 >= TRIES_ON_A_NODE;
    const returned = (keeps === 'nothing' || isTried) && isOver ? context.elected : null;
    const failed: AddressContext = {
      ...context,
      ...begins(context),
      failure,
      inDoubtUntil,
      ...nextTry(settings, context, { failure, at: event.at, resume: returned ? 'Unassigned' : resume }),
      ...(returned && { elected: null, eligible: false }),
    };
    return next(
      failed,
      toPool(context, { type: 'FAILED', kind: failure.kind, returned, ...saidOf(returned, failure), holder: failed.holder }),
    );
  };

/** When and where the next try happens. If no earlier call can still take effect and this one was refused, the address is read first: otherwise the grant would be kept for
 *  as long as its node refuses. If a failure that only a change can end is reported while the address is unread, it is read at once, before a change is awaited. If the policy
 *  changed while the Job ran, such a failure means nothing. */
function nextTry(
  { backoff }: AddressSettings,
  { attempts: before, inDoubtUntil, retiring, renewed }: AddressContext,
  { failure, at, resume }: { readonly failure: JobFailure; readonly at: number; readonly resume: ResumeState },
): Pick<AddressContext, 'attempts' | 'coolOffUntil' | 'resume'> {
  const attempts = before + 1;
  const isUnread = inDoubtUntil !== null && retiring === null && resume !== 'Unassigned';
  const looksNow = isUnread && isUntilChanged(failure);
  const isRefused = !failure.unknownOutcome && failure.kind !== 'InProgress';
  const looksFirst = looksNow || (isUnread && inDoubtUntil <= at && isRefused);
  const isOver = looksNow || (renewed && isUntilChanged(failure));
  return { attempts, coolOffUntil: isOver ? at : at + backoffMs(backoff, failure, attempts), resume: looksFirst ? 'Unassigned' : resume };
}

/** What the provider said about the node that is given back: NotFound concerns the address, not the node. */
const saidOf = (returned: NodeRef | null, { kind, message }: JobFailure): { readonly message?: string } =>
  returned && kind !== 'NotFound' ? { message } : {};

/** Remaining wait after a failure, or of an address that leaves in doubt, ms. */
export const coolOffLeft =
  ({ backoff, callDeadlineMs }: AddressSettings) =>
  ({ failure, attempts, coolOffUntil, retiring, inDoubtUntil }: AddressContext, at: number): number => {
    if (retiring !== null && inDoubtUntil !== null) return restMs(inDoubtUntil, at, callDeadlineMs);
    return failure ? restMs(coolOffUntil, at, backoffMs(backoff, failure, attempts)) : 0;
  };

/** A wait that only a change can end is over: the template, the credentials or the leader changed. */
export const endWait = (context: AddressContext, event: AnyAddressEvent): Next =>
  next({ ...context, ...begins(context), coolOffUntil: event.at });
export const awaitsChange = ({ failure }: AddressContext): boolean => isUntilChanged(failure);

/** The provider does not know the address: it is on no node, and nothing recorded about it holds. */
export const forget =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const without: AddressContext = { ...context, ...leaveHolder(context), known: false, holder: null, inDoubtUntil: null };
    const failed = fail(settings, 'Unassigned', 'nothing')(without, event);
    return next({ ...failed.context, elected: null, eligible: false }, ...failed.effects);
  };

/** Gives the grant back at once because the node cannot take the address. No wait: another node may. While a call is in doubt the grant is kept until a read; NodeInUse is
 *  reported only after such a read. */
export const giveBack =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const failure = failureIn(event);
    if (!failure) return next(context);
    const inDoubtUntil = failure.kind === 'NodeInUse' ? null : doubtAfter(settings, context, event);
    const returned = inDoubtUntil === null ? context.elected : null;
    const told = toPool(context, { type: 'FAILED', kind: failure.kind, returned, ...saidOf(returned, failure), holder: context.holder });
    const given = { ...context, failure, attempts: context.attempts + 1, inDoubtUntil };
    return next(returned ? { ...given, elected: null, eligible: false } : given, told);
  };

/** Gives up the node to which an assign in doubt was under way. The assign can no longer take effect, but the address could not be read: it stays in doubt, and others may have
 *  the node. */
export function yieldNode(context: AddressContext): Next {
  const told = toPool(context, { type: 'FAILED', kind: 'Unavailable', returned: context.elected, holder: context.holder });
  return next({ ...context, elected: null, eligible: false }, told);
}

/** How long the node stays kept from others while the address is in doubt, ms: until nothing can still take effect, plus the maximum duration of a read. An address that has
 *  just been started has no event time: it was put in doubt at that moment. */
export const doubtLeft =
  ({ callDeadlineMs }: AddressSettings) =>
  ({ inDoubtUntil }: AddressContext, at: number | undefined): number =>
    (at === undefined ? callDeadlineMs : restMs(inDoubtUntil, at, callDeadlineMs)) + callDeadlineMs;

/** Claims on the nodes where this address is or may end up: no other address of its family may be granted one of them. */
export function claimedNodes({ address, elected, assigned, claimsWithin }: AddressContext): readonly string[] {
  const names = [elected?.name, assigned?.name].filter((name) => name !== undefined);
  return [...new Set(names.map((name) => nodeClaim(name, address, claimsWithin)))].sort();
}
