import type { Decision } from '../events.ts';
import type { AnnounceInput, CreateFinding, CreateInput, CreateIntent, IntendCreateInput, Published, PublishInput } from '../jobs.ts';
import { firewallOf } from '../model/actor-id.ts';
import { backoffMs, isUntilChanged, restMs } from '../model/backoff.ts';
import type { RoutedIPSubject } from '../model/firewall-policy.ts';
import { cloudOf, isPrivate } from '../model/provider-key.ts';
import type { Address, JobFailure } from '../model/types.ts';
import { isPaused } from './annotations.ts';
import {
  type Acquiring,
  isCreating,
  isPrimed,
  isShort,
  listed,
  NOT_ACQUIRING,
  type PoolContext,
  type PoolSettings,
  runs,
} from './context.ts';
import { asBegun, createdAt, guesses, isGuess, settled, spare, usedAgain } from './creation.ts';
import { isFromGroup } from './ip-group-offer.ts';
import { staff } from './members.ts';
import { bind } from './service-observed.ts';

/** Creating addresses: the intent is recorded before the call, the address is published before it is used, and a call whose outcome is unknown
 *  is looked up in a list before anything else is done. */

type Next = Decision<PoolContext>;
const acquiring = (context: PoolContext, change: Partial<Acquiring>): Next => ({
  context: { ...context, acquiring: settled({ ...context.acquiring, ...change }) },
  effects: [],
});

const providerOf = (context: PoolContext): string => context.spec?.provider ?? context.provider;

export const intendInput = (context: PoolContext): IntendCreateInput => ({
  provider: providerOf(context),
  owner: context.ref,
  region: context.spec?.region ?? '',
  ...(context.spec?.exposes?.firewall && { firewall: firewallOf(context.spec.exposes.firewall).name }),
  ...subjectOf(context),
});

/** What Jobs are told, where Jobs make the address. */
function subjectOf({ spec, exposed, acquiring }: PoolContext): { readonly subject?: RoutedIPSubject } {
  const about = spec?.exposes?.subject;
  return about
    ? {
        subject: {
          ...about,
          ports: exposed?.policy.ports ?? [],
          epoch: 0,
          previous: null,
          attempt: acquiring.attempts + 1,
        },
      }
    : {};
}

export function createInput(context: PoolContext): CreateInput {
  const { intent, inDoubtUntil } = context.acquiring;
  if (!intent) throw new Error(`pool ${context.id} creates an address without an intent`);
  // What the spec lists is not what was made, even if it appeared meanwhile: somebody may have made again what was listed already.
  const knownAddresses = [...new Set([...intent.knownAddresses, ...listed(context)])];
  return {
    provider: createdAt(context),
    owner: context.ref,
    region: intent.region,
    intent: { ...intent, knownAddresses },
    inDoubtUntil,
    ...(isFromGroup(asBegun(context)) && { offer: context.exposed?.offer ?? null }),
    ...subjectOf(asBegun(context)),
  };
}

export function publishInput(context: PoolContext): PublishInput {
  const { unpublished } = context.acquiring;
  if (!unpublished) throw new Error(`pool ${context.id} publishes no address`);
  return {
    provider: createdAt(context),
    owner: context.ref,
    address: unpublished,
    mayBeGone: isSpare(context),
    ...(mayBeOthers(context) && { mayBeOthers: true }),
  };
}

/** The address to be published was not made just now: it is one that the spec lost. */
const isSpare = ({ acquiring: { intent, unpublished } }: PoolContext): boolean => unpublished !== null && intent === null;

/** A list alone told of it, or it was given up, and somebody else may have got it since. */
const mayBeOthers = (context: PoolContext): boolean => {
  const { unpublished } = context.acquiring;
  return isGuess(context) || (isSpare(context) && unpublished !== null && !runs(context, unpublished));
};

/** The provider does not know an address of ours that was to be used again, or somebody else has got it. */
export const isNotOurs = (context: PoolContext, { kind, unknownOutcome }: JobFailure): boolean =>
  !unknownOutcome && ((isSpare(context) && kind === 'NotFound') || (mayBeOthers(context) && kind === 'Conflict'));

/** What was to be published is not ours, or not any more. A creation in doubt stays so: it is looked up once more. */
export function disown(context: PoolContext): Next {
  const created = context.created.filter((address) => address !== context.acquiring.unpublished);
  return acquiring({ ...context, created }, { unpublished: null });
}

/** Jobs go by what is known from here on. */
const begins = ({ acquiring: { renewed } }: PoolContext): Pick<Acquiring, 'renewed'> => (renewed ? { renewed: false } : {});

/** The room that there was is this creation's: for another one it has to be asked for again. */
export const intend = ({ room, ...context }: PoolContext): Next =>
  acquiring({ ...context, ...(room && { room: { isGranted: false } }) }, { intending: true, ...begins(context) });

/** People have paused it since, or it has what it wants, or whoever has taken over has not been told yet what is wanted now: nothing was sent, and nothing is. */
export const createsNoMore = (context: PoolContext): boolean => isPaused(context) || !isShort(context) || !isPrimed(context);
/** Its class is another one since: what one provider listed tells nothing of what another one makes. */
export const isOthersIntent = (context: PoolContext, { provider }: CreateIntent): boolean =>
  (provider ?? createdAt(context)) !== providerOf(context);
export const dropIntent = (context: PoolContext, { listedAt }: CreateIntent): Next =>
  acquiring(context, { intending: false, dropped: listedAt });

export const intended = (context: PoolContext, { knownAddresses, listedAt }: CreateIntent): Next =>
  acquiring(context, {
    intending: false,
    intent: { knownAddresses, listedAt, region: asBegun(context).spec?.region ?? '' },
    inDoubtUntil: null,
  });

/** The address exists: it is ours, and has to be published before use. One that may be somebody else's stays in doubt until then. None when no call was sent. */
export function obtained(context: PoolContext, address: Address | null, inDoubtUntil: number | null = null): Next {
  if (address === null) return nothingMade(context);
  const created = context.created.includes(address) ? context.created : [...context.created, address];
  return acquiring({ ...context, created }, { unpublished: address, inDoubtUntil, failure: null });
}

export const reuse = (context: PoolContext): Next => acquiring(context, { unpublished: spare(context) });

/** The address stands in `spec.ips`: it may be used, even before that spec is observed. In a newer one that was observed already a person has taken it out. That of a RoutedIP
 *  stands in its status, which is its only memory: from now on each status has to name it, whether its nodes are known by then or not. */
export function published(context: PoolContext, { generation }: Published): Next {
  const address = context.acquiring.unpublished;
  const isAwaited = address !== null && generation > context.generation;
  const fresh = isAwaited ? [...context.acquiring.published, address] : context.acquiring.published;
  const provided = address && context.provided ? { ...context.provided, [address]: newlyMade(address, context) } : context.provided;
  return staff({
    ...(address === null ? context : bind(context, address)),
    provided,
    acquiring: { ...NOT_ACQUIRING, published: fresh, publishedIn: Math.max(generation, context.acquiring.publishedIn) },
  });
}

/** Nobody has had time to attach a new address; one that is used again is read first. */
const newlyMade = (address: Address, context: PoolContext) =>
  context.provided?.[address] ?? {
    address,
    region: context.acquiring.intent?.region ?? '',
    providerID: null,
    locked: context.acquiring.intent === null,
  };

/** What became of the creation is asked now, and nobody else creates until that is known. */
export function lookUp({ acquiring: { remembered: _, ...rest }, ...context }: PoolContext): Next {
  return { context: { ...context, acquiring: rest }, effects: [] };
}

/** From now on a list is needed to tell what became of the call. */
export const doubtCreation =
  ({ callDeadlineMs }: PoolSettings) =>
  (context: PoolContext, at: number): Next =>
    acquiring(context, { inDoubtUntil: at + callDeadlineMs });

/** Nothing new was found, one call deadline after the call, or no call was sent: another may be made. */
export const nothingMade = (context: PoolContext): Next => acquiring(context, { intent: null, inDoubtUntil: null });

/** A RoutedIP that has got the address that was made for it has made no other one since. */
const hasItsOwn = ({ exposed, created }: PoolContext): boolean =>
  exposed !== null && exposed.bound !== null && created.includes(exposed.bound);

/** What a list tells of a creation in doubt. One that the spec lists by now says nothing: the list is to be read once more, without it. */
export function found(context: PoolContext, finding: CreateFinding): Next {
  if (hasItsOwn(context)) return nothingMade(context);
  const addresses = finding.found === 'several' ? finding.addresses : finding.found === 'one' ? [finding.address] : [];
  if (addresses.some((address) => listed(context).includes(address))) return { context, effects: [] };
  if (finding.found !== 'one' || context.acquiring.othersCreate) return unclear(context, addresses);
  return obtained(context, finding.address, guesses(context) ? context.acquiring.inDoubtUntil : null);
}

/** Any of them may be someone else's. Nothing is created until a person has listed ours in `ips`. */
const unclear = (context: PoolContext, addresses: readonly Address[]): Next =>
  acquiring(context, { inDoubtUntil: null, unclear: addresses });

/** The pool stops in the middle: a call that was sent may still take effect, and nobody hears of it. */
export const interrupt =
  ({ callDeadlineMs }: PoolSettings) =>
  (context: PoolContext, at: number): Next => {
    const { intent, inDoubtUntil, unpublished } = context.acquiring;
    const isUnanswered = intent !== null && inDoubtUntil === null && unpublished === null;
    return acquiring(context, { intending: false, ...(isUnanswered && { inDoubtUntil: at + callDeadlineMs }) });
  };

/** Waits after a failed step, but not when a Job said that what was changed while it ran can never work. A call that surely took no effect leaves no intent behind, and is
 *  no trouble where nothing is to be created any more. */
export const failAcquiring =
  ({ backoff }: PoolSettings) =>
  (context: PoolContext, failure: JobFailure, at: number): Next => {
    const { inDoubtUntil, unpublished, unclear, renewed } = context.acquiring;
    const attempts = context.acquiring.attempts + 1;
    const settled = !failure.unknownOutcome && inDoubtUntil === null && unpublished === null;
    const until = renewed && isUntilChanged(failure) ? at : at + backoffMs(backoff, failure, attempts);
    const isNone = settled && unclear.length === 0 && !isShort(context);
    const failed = isNone ? NOT_FAILED : { failure, attempts, until };
    const left = isLeftInDoubt(context, failure, at) ? ({ othersCreate: true } as const) : {};
    return acquiring(context, { intending: false, ...begins(context), ...failed, ...(settled && { intent: null }), ...left });
  };

/** Whoever may write an issuer can have its account refuse the list that would tell what was made. The call has no more effect by now: whatever it made is in the list that others
 *  read before they create, and they take it for none of theirs. */
const isLeftInDoubt = (context: PoolContext, { kind }: JobFailure, at: number): boolean => {
  const { inDoubtUntil, unpublished } = context.acquiring;
  const isOver = inDoubtUntil !== null && at >= inDoubtUntil && unpublished === null;
  return isOver && kind === 'Unauthorized' && isPrivate(createdAt(context)) && guesses(context);
};

const NOT_FAILED = { failure: null, attempts: 0, until: null } as const;

/** Other credentials, or another spec or template, may do what failed. */
export const awaitsChange = ({ acquiring: { failure } }: PoolContext): boolean =>
  failure?.kind === 'Unauthorized' || isUntilChanged(failure);

/** How long the wait after a failed step lasts from now on, ms. */
export const coolOffLeft =
  ({ backoff }: PoolSettings) =>
  ({ acquiring: { failure, attempts, until } }: PoolContext, at: number): number =>
    failure ? restMs(until, at, backoffMs(backoff, failure, attempts)) : 0;

// ---------------------------------------------------------------- a pool that is deleted while it creates

/** How long after the end of the doubt a list that could not be had is given up, ms: a pool does not stay for ever because its token was revoked. */
const GIVE_UP_MS = 3_600_000;

/** An address may belong to nobody once the pool is gone, and nobody else may create one meanwhile: what became of its creation has to be found out. */
export const mustConclude = (context: PoolContext): boolean => isCreating(context.acquiring) && createdAt(context) !== '';

/** The same of a pool that stays, although its spec is not valid. */
export const accounts = (context: PoolContext): boolean => mustConclude(context) && context.exposed?.deleting !== true;

/** Addresses are known that the pool made, or may have made, and that no spec lists. */
export const leavesAddress = ({ acquiring: { unpublished, unclear } }: PoolContext): boolean => unpublished !== null || unclear.length > 0;

/** The list that would tell cannot be had, and nobody will wait for it any longer. */
export const givesUp = ({ acquiring: { inDoubtUntil } }: PoolContext, at: number): boolean =>
  inDoubtUntil !== null && at >= inDoubtUntil + GIVE_UP_MS;

export const announceInput = (context: PoolContext): AnnounceInput => ({
  provider: createdAt(context),
  owner: context.ref,
  reason: 'AddressLeft',
  message: leftText(context),
});

/** What is left of a creation, and what to do about it. */
function leftText(context: PoolContext): string {
  const { unpublished, intent } = context.acquiring;
  const unclear = isGuess(context) && unpublished !== null ? [unpublished] : context.acquiring.unclear;
  const provider = createdAt(context);
  const forWhom = context.exposed ? 'this RoutedIP' : 'this pool';
  const why = context.deleted ? 'was deleted' : 'has another address';
  const elsewhere = context.exposed ? 'name it in spec.routedIP of another RoutedIP' : 'list it in spec.ips of another pool';
  const howTo = (address: string): string =>
    `delete it (${cloudOf(provider) === 'digitalocean' ? `doctl compute reserved-ip delete ${address}` : `at ${provider}`}) or ${elsewhere}`;
  if (unpublished !== null && !isGuess(context))
    return `${unpublished} was made for ${forWhom}, which ${why} meanwhile, and belongs to nobody: ${howTo(unpublished)}`;
  const whose = `belongs to nobody, since the ${context.exposed ? 'RoutedIP' : 'pool'} ${why} meanwhile`;
  const [first, ...others] = unclear;
  if (first) {
    const which = others.length > 0 ? '<address>' : first;
    return `${others.length > 0 ? 'one of ' : ''}${unclear.join(', ')} may have been made for ${forWhom}. If nobody else made it, it ${whose}: ${howTo(which)}`;
  }
  const where = intent?.region ? ` in ${intent.region}` : '';
  return `an address may have been made for ${forWhom} at ${provider}${where}; the list that would tell could not be read. If there is one that is attached to nothing, it ${whose}: ${howTo('<address>')}`;
}

/** It was told: the creation is over, and what it made is not ours any more. */
export const conclude = (context: PoolContext): Next => acquiring({ ...context, created: usedAgain(context) }, NOT_ACQUIRING);
