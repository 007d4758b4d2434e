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

/** The subject passed to Jobs, where Jobs create the address. */
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
  // An address in the spec is not the created one, even if it appeared meanwhile: a listed address may have been created again by someone else.
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

/** The address to publish is not newly created: it was removed from the spec. */
const isSpare = ({ acquiring: { intent, unpublished } }: PoolContext): boolean => unpublished !== null && intent === null;

/** It is known only from a list, or was given up: another owner may have it by now. */
const mayBeOthers = (context: PoolContext): boolean => {
  const { unpublished } = context.acquiring;
  return isGuess(context) || (isSpare(context) && unpublished !== null && !runs(context, unpublished));
};

/** The provider does not know an address of ours that was chosen for reuse, or another owner has it. */
export const isNotOurs = (context: PoolContext, { kind, unknownOutcome }: JobFailure): boolean =>
  !unknownOutcome && ((isSpare(context) && kind === 'NotFound') || (mayBeOthers(context) && kind === 'Conflict'));

/** The address to publish is not ours, or no longer. A creation in doubt stays in doubt: it is looked up once more. */
export function disown(context: PoolContext): Next {
  const created = context.created.filter((address) => address !== context.acquiring.unpublished);
  return acquiring({ ...context, created }, { unpublished: null });
}

/** Jobs started from here on use the current policy. */
const begins = ({ acquiring: { renewed } }: PoolContext): Pick<Acquiring, 'renewed'> => (renewed ? { renewed: false } : {});

/** The available room is used by this creation: another one has to request it again. */
export const intend = ({ room, ...context }: PoolContext): Next =>
  acquiring({ ...context, ...(room && { room: { isGranted: false } }) }, { intending: true, ...begins(context) });

/** The pool was paused, has all it wants, or was reloaded and does not know yet what is wanted now: nothing was sent, and nothing will be. */
export const createsNoMore = (context: PoolContext): boolean => isPaused(context) || !isShort(context) || !isPrimed(context);
/** Its class has changed since: the list of one provider says nothing about creations at another. */
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

/** The address exists: it is ours, and has to be published before use. One that may be another owner's stays in doubt until then. Null when no call was sent. */
export function obtained(context: PoolContext, address: Address | null, inDoubtUntil: number | null = null): Next {
  if (address === null) return nothingMade(context);
  const created = context.created.includes(address) ? context.created : [...context.created, address];
  return acquiring({ ...context, created }, { unpublished: address, inDoubtUntil, failure: null });
}

export const reuse = (context: PoolContext): Next => acquiring(context, { unpublished: spare(context) });

/** The address is in `spec.ips`: it may be used, even before that spec is observed. If a newer spec was observed already, a user has removed it. The address of a RoutedIP is
 *  in its status, which is its only record: from now on each status must name it, whether its nodes are known or not. */
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

/** A new address cannot have been attached yet; a reused one is read first. */
const newlyMade = (address: Address, context: PoolContext) =>
  context.provided?.[address] ?? {
    address,
    region: context.acquiring.intent?.region ?? '',
    providerID: null,
    locked: context.acquiring.intent === null,
  };

/** The outcome of the creation is looked up now, and no other pool creates until it is known. */
export function lookUp({ acquiring: { remembered: _, ...rest }, ...context }: PoolContext): Next {
  return { context: { ...context, acquiring: rest }, effects: [] };
}

/** From now on only a list can show the outcome of the call. */
export const doubtCreation =
  ({ callDeadlineMs }: PoolSettings) =>
  (context: PoolContext, at: number): Next =>
    acquiring(context, { inDoubtUntil: at + callDeadlineMs });

/** No new address was found, one call deadline after the call, or no call was sent: another may be created. */
export const nothingMade = (context: PoolContext): Next => acquiring(context, { intent: null, inDoubtUntil: null });

/** A RoutedIP bound to the address created for it has created no other since. */
const hasItsOwn = ({ exposed, created }: PoolContext): boolean =>
  exposed !== null && exposed.bound !== null && created.includes(exposed.bound);

/** Evaluates the list for a creation in doubt. If the found address is in the spec by now it proves nothing: the list is read once more, without it. */
export function found(context: PoolContext, finding: CreateFinding): Next {
  if (hasItsOwn(context)) return nothingMade(context);
  const addresses = finding.found === 'several' ? finding.addresses : finding.found === 'one' ? [finding.address] : [];
  if (addresses.some((address) => listed(context).includes(address))) return { context, effects: [] };
  if (finding.found !== 'one' || context.acquiring.othersCreate) return unclear(context, addresses);
  return obtained(context, finding.address, guesses(context) ? context.acquiring.inDoubtUntil : null);
}

/** Any of them may belong to others. Nothing is created until a user has listed ours in `ips`. */
const unclear = (context: PoolContext, addresses: readonly Address[]): Next =>
  acquiring(context, { inDoubtUntil: null, unclear: addresses });

/** The pool stops midway: a call already sent may still take effect with no actor to receive the outcome. */
export const interrupt =
  ({ callDeadlineMs }: PoolSettings) =>
  (context: PoolContext, at: number): Next => {
    const { intent, inDoubtUntil, unpublished } = context.acquiring;
    const isUnanswered = intent !== null && inDoubtUntil === null && unpublished === null;
    return acquiring(context, { intending: false, ...(isUnanswered && { inDoubtUntil: at + callDeadlineMs }) });
  };

/** Waits after a failed step, unless a Job reported as impossible what changed while it ran. A call that certainly took no effect leaves no intent behind, and its failure is
 *  dropped when there is no longer anything to create. */
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

/** The author of an issuer could make its account refuse the list that shows the outcome. The call can no longer take effect: anything it created is in the lists that others
 *  read before they create, so they do not mistake it for theirs. */
const isLeftInDoubt = (context: PoolContext, { kind }: JobFailure, at: number): boolean => {
  const { inDoubtUntil, unpublished } = context.acquiring;
  const isOver = inDoubtUntil !== null && at >= inDoubtUntil && unpublished === null;
  return isOver && kind === 'Unauthorized' && isPrivate(createdAt(context)) && guesses(context);
};

const NOT_FAILED = { failure: null, attempts: 0, until: null } as const;

/** Other credentials, or another spec or template, may resolve the failure. */
export const awaitsChange = ({ acquiring: { failure } }: PoolContext): boolean =>
  failure?.kind === 'Unauthorized' || isUntilChanged(failure);

/** Remaining wait after a failed step, ms. */
export const coolOffLeft =
  ({ backoff }: PoolSettings) =>
  ({ acquiring: { failure, attempts, until } }: PoolContext, at: number): number =>
    failure ? restMs(until, at, backoffMs(backoff, failure, attempts)) : 0;

// ---------------------------------------------------------------- a pool that is deleted while it creates

/** How long after the end of the doubt an unavailable list is given up, ms: a pool does not stay forever because its token was revoked. */
const GIVE_UP_MS = 3_600_000;

/** An address could be orphaned once the pool is gone, and other pools must not create meanwhile: the outcome of its creation has to be determined. */
export const mustConclude = (context: PoolContext): boolean => isCreating(context.acquiring) && createdAt(context) !== '';

/** The same for a pool that stays although its spec is invalid. */
export const accounts = (context: PoolContext): boolean => mustConclude(context) && context.exposed?.deleting !== true;

/** There are addresses that the pool created, or may have, and that no spec lists. */
export const leavesAddress = ({ acquiring: { unpublished, unclear } }: PoolContext): boolean => unpublished !== null || unclear.length > 0;

/** The list that would show the outcome is unavailable, and the wait for it is over. */
export const givesUp = ({ acquiring: { inDoubtUntil } }: PoolContext, at: number): boolean =>
  inDoubtUntil !== null && at >= inDoubtUntil + GIVE_UP_MS;

export const announceInput = (context: PoolContext): AnnounceInput => ({
  provider: createdAt(context),
  owner: context.ref,
  reason: 'AddressLeft',
  message: leftText(context),
});

/** What remains of a creation, and what to do about it. */
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

/** The address was announced: the creation is over, and what it created is no longer ours. */
export const conclude = (context: PoolContext): Next => acquiring({ ...context, created: usedAgain(context) }, NOT_ACQUIRING);
