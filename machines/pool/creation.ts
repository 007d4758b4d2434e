import type { Address } from '../model/types.ts';
import type { PoolSpec } from '../spec/pool.ts';
import { isPaused } from './annotations.ts';
import type { Acquiring, PoolContext } from './context.ts';
import { CREATE_CLAIM, isCreating, isPrimed, isShort, lacks, named, runs } from './context.ts';
import { awaitsOffer, isFromGroup } from './ip-group-offer.ts';

/** What a creation goes by until it is known what became of it. */

/** The pool as it was told when the creation that is under way was begun: only that provider can tell what became of it, and only there it keeps others waiting,
 *  whatever class a RoutedIP has by now. */
export const asBegun = (context: PoolContext): PoolContext => (context.acquiring.by ? { ...context, spec: context.acquiring.by } : context);

/** The key of the provider at which an address is created, or would be; empty for none. */
export const createdAt = (context: PoolContext): string => asBegun(context).spec?.provider ?? context.provider;

/** Something may have been made, or is about to be, that is not accounted for. */
export const isUnderWay = ({ intending, intent, unpublished, unclear }: Acquiring): boolean =>
  intending || intent !== null || unpublished !== null || unclear.length > 0;

/** Forgets by which spec a creation was begun, and whether others create meanwhile, once that is over. */
export function settled({ by, othersCreate, ...acquiring }: Acquiring): Acquiring {
  return isUnderWay(acquiring) ? { ...acquiring, ...(by && { by }), ...(othersCreate && { othersCreate }) } : acquiring;
}

/** The spec is about to become another one: the creation that is under way goes on by the former one, if addresses are made elsewhere from now on. */
export function begunBy(acquiring: Acquiring, former: PoolSpec | null, spec: PoolSpec): Acquiring {
  const isElsewhere = former !== null && (former.provider !== spec.provider || former.exposes?.group?.name !== spec.exposes?.group?.name);
  return settled(isElsewhere && !acquiring.by ? { ...acquiring, by: former } : acquiring);
}

/** A list does not say who made what it shows, which may be somebody else's: it is not published once another object has it, and never deleted. Jobs say what they made. */
export const guesses = (context: PoolContext): boolean => !asBegun(context).spec?.exposes?.subject;

/** What was made is known from a list alone: until then the call was in doubt. */
export const isGuess = ({ acquiring: { unpublished, inDoubtUntil } }: PoolContext): boolean =>
  unpublished !== null && inDoubtUntil !== null;

/** What was made and is ours still once the address that was made last is given up: whoever stays does not use that one again. */
export const usedAgain = ({ created, deleted, acquiring: { unpublished } }: PoolContext): readonly Address[] =>
  deleted ? created : created.filter((address) => address !== unpublished);

/** An address is to be created. None is for a Service to which it could not be led: one that is attached to nothing costs money. */
export const lacksAddress = (context: PoolContext): boolean => asksForAddress(context) && hasRoom(context);

/** The same, if its namespace may keep one more. */
export const asksForAddress = (context: PoolContext): boolean => isShort(context) && mayAdd(context);

/** An address may be added to those that the spec names. */
const mayAdd = (context: PoolContext): boolean => mayCreate(context) && leadsSomewhere(context);

export const hasRoom = ({ room }: Pick<PoolContext, 'room'>): boolean => !room || room.isGranted;

/** An address would be created if a node could have it. */
export const awaitsNode = (context: PoolContext): boolean =>
  mayCreate(context) && !leadsSomewhere(context) && !isCreating(context.acquiring) && context.acquiring.unpublished === null;

/** There is a node for a new address of a RoutedIP, be it full. A pool keeps as many as it is asked for, and an address of an IPGroup costs nothing. */
const leadsSomewhere = (context: PoolContext): boolean => {
  const { spec, candidates } = context;
  if (!spec?.exposes || isFromGroup(context)) return true;
  return candidates.some(({ region }) => region === '' || spec.region === '' || region === spec.region);
};

/** What a class or an issuer said before it became invalid goes on for the address that is there: another one is made by none, whose limits nobody could tell. */
const mayCreate = (context: PoolContext): boolean =>
  isPrimed(context) &&
  !context.exposed?.policyError &&
  !isPaused(context) &&
  lacks(context) &&
  !context.exposed?.trouble &&
  context.acquiring.unclear.length === 0 &&
  context.acquiring.givenBack === undefined &&
  !awaitsOffer(context) &&
  (isFromGroup(context) || !context.fullNodes.includes(CREATE_CLAIM));

/** An address of ours that the spec lost, e.g. when a manifest was applied again. */
export const spare = (context: PoolContext): Address | null => {
  const names = new Set(named(context));
  const spares = context.created.filter((address) => !names.has(address));
  return spares.find((address) => runs(context, address)) ?? spares[0] ?? null;
};

/** One of them is to be named again. */
export const hasSpare = (context: PoolContext): boolean => mayAdd(context) && spare(context) !== null;

/** Records were lost, and statuses remember several creations: they are looked up one after the other, since each list tells of one new address. */
export const awaitsLookUp = (context: PoolContext): boolean =>
  context.acquiring.remembered === true && !isFromGroup(asBegun(context)) && context.fullNodes.includes(CREATE_CLAIM);

/** Claims where an address is created. Addresses of an IPGroup are told apart by their owners: others may create meanwhile. */
export const rightTaken = (context: PoolContext): readonly string[] =>
  holdsRight(context.acquiring) && !isFromGroup(asBegun(context)) && !awaitsLookUp(context) ? [CREATE_CLAIM] : [];

const holdsRight = (acquiring: Acquiring): boolean => acquiring.intending || (isCreating(acquiring) && !acquiring.othersCreate);
