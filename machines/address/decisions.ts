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

// ---------------------------------------------------------------- what jobs are given

/** What Jobs are told, where Jobs drive the address. */
export function subjectOf({ policy, region, epoch, elected, assigned, previous, attempts }: AddressContext): {
  readonly subject?: RoutedIPSubject;
} {
  if (!policy.subject) return {};
  const former = assigned && assigned.name !== elected?.name ? assigned : (previous.at(-1) ?? null);
  const ports = elected ? portsOn(policy, elected.name) : policy.ports;
  // Records of before have none of their class, but that of the creation.
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

/** It may be in use where a Job found it, and was never its owner's: no list tells when it is free. */
export const isUnlisted = (context: AddressContext): boolean =>
  context.policy.subject !== undefined && !isOwn(context) && context.place !== 'Free';

/** The node to which the assign in doubt may be under way is kept from others. */
export const claimsInDoubt = ({ elected, inDoubtUntil }: AddressContext): boolean => elected !== null && inDoubtUntil !== null;

/** The address sits on the granted node already, as the provider last said. */
export const holdsAlready = ({ elected, holder, inDoubtUntil }: AddressContext): boolean =>
  elected !== null && holder === elected.providerID && inDoubtUntil === null;

/** It is to stay on the node where a Job found it some time ago. Somebody may have taken it off since, or the machine was restarted without it, and no list tells. */
export const wasFoundLongAgo =
  ({ callDeadlineMs }: AddressSettings) =>
  ({ policy, holder, foundAt = 0 }: AddressContext, event: AnyAddressEvent): boolean =>
    event.type === 'NODE_GRANTED' &&
    policy.subject !== undefined &&
    holder === event.node.providerID &&
    Math.abs(event.at - foundAt) > callDeadlineMs;

export const confirmedHere = ({ elected, assigned }: AddressContext): boolean =>
  elected !== null && assigned?.name === elected.name && assigned.providerID === elected.providerID;

/** After a wait the node is still the one, nothing was said of the address that has to be read first, and nobody wants it on no node. */
export const goesOn = ({ eligible, known, parked }: AddressContext): boolean => eligible && known && !parked;
export const isRetiring = ({ retiring }: AddressContext): boolean => retiring !== null;
export const isForced = (_: AddressContext, event: AnyAddressEvent): boolean => event.type === 'RETIRE' && event.force === true;

/** The fact says that the granted node may no longer hold the address. */
export const losesNode = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'NODE_OBSERVED' && event.name === context.elected?.name && !event.eligible;

/** A wait that another node may end: the cause lies neither with the address nor with the credentials, and nothing is in doubt. */
export const mayTryElsewhere = (context: AddressContext): boolean =>
  context.known && context.inDoubtUntil === null && context.failure?.kind !== 'Unauthorized' && context.failure?.kind !== 'NotFound';

/** The fact differs from what we believe. A locked address is on its way: its next report counts. */
export function differs(context: AddressContext, event: AnyAddressEvent): boolean {
  if (event.type === 'ADDRESS_OBSERVED')
    return event.observed === null || (!event.observed.locked && isSeenOtherwise(context, event.observed));
  return event.type === 'xstate.done.actor.find' && event.output.providerID !== context.holder;
}

/** Where one is that was never its owner's says whether it may be taken: a machine may have become a node meanwhile. */
export const isSeenOtherwise = (context: AddressContext, { providerID, place }: ObservedAddress): boolean =>
  providerID !== context.holder || (!isOwn(context) && (place ?? 'Free') !== context.place);

export const reappears = (context: AddressContext, event: AnyAddressEvent): boolean =>
  event.type === 'ADDRESS_OBSERVED' && event.observed !== null && context.failure?.kind === 'NotFound' && context.retiring === null;

const failureIn = (event: AnyAddressEvent): JobFailure | null => {
  if ('error' in event) return event.error;
  return event.type === 'REFUSED' ? refusal(event) : null;
};

/** A firewall's refusal says nothing about the address: what it does not find is the firewall. */
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

/** After a failure others may have the node first: those with whom assignments are spaced, or anybody, where its claims keep nobody else off it. */
export const yieldsToOthers = ({ spaced, claimsWithin }: AddressContext): boolean => spaced || claimsWithin !== undefined;

/** The failure leaves nothing in doubt: neither this call nor an earlier one can still take effect. */
export const isSettled = ({ inDoubtUntil }: AddressContext, event: AnyAddressEvent): boolean =>
  inDoubtUntil === null && failureIn(event)?.unknownOutcome === false;

// ---------------------------------------------------------------- decisions: the next context, and what is told

/** The address is not on its node any more: what is open there for it has to be pruned. */
export const leaveHolder = ({ assigned, previous }: AddressContext): Pick<AddressContext, 'assigned' | 'previous'> => ({
  assigned: null,
  previous: assigned ? [...previous.filter(({ name }) => name !== assigned.name), assigned] : previous,
});

/** Takes over what the provider reports. A locked address is on its way: it is to be read again. */
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

/** What is known of the address may be void: it is read before anything is decided. */
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

/** Jobs go by what is known from here on. */
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

/** A grant that came while the address is read, since the pool did not know: kept in mind, so that READY or FAILED gives it back. */
export const noteGrant = (context: AddressContext, event: AnyAddressEvent): Next =>
  next(
    event.type === 'NODE_GRANTED' && context.retiring === null
      ? { ...context, elected: event.node, eligible: true, spaced: event.spaced }
      : context,
  );

const OWN = { unconfirmed: false, looks: false };

/** The address is on the granted node: the provider said so. */
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

/** The Jobs that drive it do so until it is let go, whatever class or issuer its owner names by then: what another class says is not for them. */
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

/** No firewall work is left: nothing that is not claimed is open for us. */
export const settle = (context: AddressContext): Next =>
  next({ ...context, ...begins(context), previous: [], coolOffUntil: null, failure: null, attempts: 0 });

/** Marks the outcome of an assign that was under way as unknown: it may take effect until the call deadline has passed. */
export const doubt =
  ({ callDeadlineMs }: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next =>
    next({ ...context, inDoubtUntil: event.at + callDeadlineMs });

/** What failed with an unknown outcome may take effect until the call deadline has passed, unless the provider's answer says that it will do so sooner or never. An
 *  earlier call may take longer. */
function doubtAfter({ callDeadlineMs }: AddressSettings, { inDoubtUntil }: AddressContext, event: AnyAddressEvent): number | null {
  const { unknownOutcome, effectWithinMs = callDeadlineMs } = failureIn(event) ?? {};
  return unknownOutcome ? Math.max(inDoubtUntil ?? 0, event.at + effectWithinMs) : inDoubtUntil;
}

/** Gives the grant up. A call whose outcome is unknown may still take effect: until then whoever has the address next, or the node, must not meet it. */
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

/** Waits until no call of ours can have an effect any more, then goes on leaving. */
export const awaitDoubt = (context: AddressContext): Next => next({ ...context, resume: 'Pruning', coolOffUntil: context.inDoubtUntil });

export const endDoubt = (context: AddressContext): Next =>
  next(isRetiring(context) ? { ...context, elected: null, inDoubtUntil: null } : context);

/** A Job that ends with "try again later" does not say whether its node is the reason: after so many tries the address goes to another one. */
const TRIES_ON_A_NODE = 3;

/** Starts a wait after a failure that goes on at `resume`. What is kept of the grant: all of it, unless it yields to others,
 *  or Jobs have failed on the node too often. While the outcome is in doubt all of it is kept. When nothing can take effect
 *  any more a read that fails is the end of the grant, too: whoever waits for the node would else wait for a read that may never come. */
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

/** When the next try comes, and where. Where the address is gets known first when nothing of an earlier call can take effect any more and this one was refused: the grant
 *  would else be kept for as long as its node refuses. That something can never work, said while it is not known where the address is, has that found out before anybody
 *  has to change anything; said of what was changed while the Job ran, it means nothing. */
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

/** What was said of the node that is given back: that the address is not found says nothing of it. */
const saidOf = (returned: NodeRef | null, { kind, message }: JobFailure): { readonly message?: string } =>
  returned && kind !== 'NotFound' ? { message } : {};

/** How long the wait after a failure, or of an address that leaves in doubt, lasts from now on, ms. */
export const coolOffLeft =
  ({ backoff, callDeadlineMs }: AddressSettings) =>
  ({ failure, attempts, coolOffUntil, retiring, inDoubtUntil }: AddressContext, at: number): number => {
    if (retiring !== null && inDoubtUntil !== null) return restMs(inDoubtUntil, at, callDeadlineMs);
    return failure ? restMs(coolOffUntil, at, backoffMs(backoff, failure, attempts)) : 0;
  };

/** A wait that only a change can end is over: there is another template, there are other credentials, or another leader. */
export const endWait = (context: AddressContext, event: AnyAddressEvent): Next =>
  next({ ...context, ...begins(context), coolOffUntil: event.at });
export const awaitsChange = ({ failure }: AddressContext): boolean => isUntilChanged(failure);

/** The provider does not know the address: it holds no node, and nothing of what we knew stands. */
export const forget =
  (settings: AddressSettings) =>
  (context: AddressContext, event: AnyAddressEvent): Next => {
    const without: AddressContext = { ...context, ...leaveHolder(context), known: false, holder: null, inDoubtUntil: null };
    const failed = fail(settings, 'Unassigned', 'nothing')(without, event);
    return next({ ...failed.context, elected: null, eligible: false }, ...failed.effects);
  };

/** Gives the grant back at once because the node cannot take the address. No wait: another node may. While a call is in doubt the grant is
 *  kept until a read tells; that the node is in use is said only after such a read. */
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

/** Gives the node up to which an assign in doubt was under way. Nothing of it can take effect any more, but nobody could read the address: it stays in doubt,
 *  and others may have the node. */
export function yieldNode(context: AddressContext): Next {
  const told = toPool(context, { type: 'FAILED', kind: 'Unavailable', returned: context.elected, holder: context.holder });
  return next({ ...context, elected: null, eligible: false }, told);
}

/** How long the node stays kept from others while the address is in doubt, ms: until nothing can take effect any more, and then as long as a read may last.
 *  An address that has just been started was told no time: it was put in doubt in the same moment. */
export const doubtLeft =
  ({ callDeadlineMs }: AddressSettings) =>
  ({ inDoubtUntil }: AddressContext, at: number | undefined): number =>
    (at === undefined ? callDeadlineMs : restMs(inDoubtUntil, at, callDeadlineMs)) + callDeadlineMs;

/** Claims on the nodes that this address stands on or may come to stand on: no other address of its family may be granted one of them. */
export function claimedNodes({ address, elected, assigned, claimsWithin }: AddressContext): readonly string[] {
  const names = [elected?.name, assigned?.name].filter((name) => name !== undefined);
  return [...new Set(names.map((name) => nodeClaim(name, address, claimsWithin)))].sort();
}
