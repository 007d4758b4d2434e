import type { Address } from '../model/types.ts';
import type { PoolSpec } from '../spec/pool.ts';
import { isPaused } from './annotations.ts';
import type { Acquiring, PoolContext } from './context.ts';
import { CREATE_CLAIM, isCreating, isPrimed, isShort, lacks, named, runs } from './context.ts';
import { awaitsOffer, isFromGroup } from './ip-group-offer.ts';

/** The state that a creation uses until its outcome is known. */

/** The pool with the spec under which the current creation began: only that provider can show its outcome, and only there does it block others, whatever class a RoutedIP has
 *  by now. */
export const asBegun = (context: PoolContext): PoolContext => (context.acquiring.by ? { ...context, spec: context.acquiring.by } : context);

/** The key of the provider at which an address is created, or would be; empty for none. */
export const createdAt = (context: PoolContext): string => asBegun(context).spec?.provider ?? context.provider;

/** Something that is not accounted for may have been created, or is about to be. */
export const isUnderWay = ({ intending, intent, unpublished, unclear }: Acquiring): boolean =>
  intending || intent !== null || unpublished !== null || unclear.length > 0;

/** Drops the spec under which a creation began, and whether others create meanwhile, once the creation is over. */
export function settled({ by, othersCreate, ...acquiring }: Acquiring): Acquiring {
  return isUnderWay(acquiring) ? { ...acquiring, ...(by && { by }), ...(othersCreate && { othersCreate }) } : acquiring;
}

/** The spec is about to change: if addresses are created elsewhere from now on, the creation under way continues with the former one. */
export function begunBy(acquiring: Acquiring, former: PoolSpec | null, spec: PoolSpec): Acquiring {
  const isElsewhere = former !== null && (former.provider !== spec.provider || former.exposes?.group?.name !== spec.exposes?.group?.name);
  return settled(isElsewhere && !acquiring.by ? { ...acquiring, by: former } : acquiring);
}

/** A list does not show who created an address, which may be another owner's: it is not published once another object has it, and never deleted. Jobs report what they created. */
export const guesses = (context: PoolContext): boolean => !asBegun(context).spec?.exposes?.subject;

/** The created address is known only from a list: until then the call was in doubt. */
export const isGuess = ({ acquiring: { unpublished, inDoubtUntil } }: PoolContext): boolean =>
  unpublished !== null && inDoubtUntil !== null;

/** The created addresses that stay ours once the last one is given up: a pool that stays does not reuse that one. */
export const usedAgain = ({ created, deleted, acquiring: { unpublished } }: PoolContext): readonly Address[] =>
  deleted ? created : created.filter((address) => address !== unpublished);

/** An address has to be created. None is created for a Service that no node could serve: an unattached address costs money. */
export const lacksAddress = (context: PoolContext): boolean => asksForAddress(context) && hasRoom(context);

/** The same, if its namespace may keep one more address. */
export const asksForAddress = (context: PoolContext): boolean => isShort(context) && mayAdd(context);

/** An address may be added to those in the spec. */
const mayAdd = (context: PoolContext): boolean => mayCreate(context) && leadsSomewhere(context);

export const hasRoom = ({ room }: Pick<PoolContext, 'room'>): boolean => !room || room.isGranted;

/** An address would be created if a node could have it. */
export const awaitsNode = (context: PoolContext): boolean =>
  mayCreate(context) && !leadsSomewhere(context) && !isCreating(context.acquiring) && context.acquiring.unpublished === null;

/** There is a node, even a full one, for a new address of a RoutedIP. A pool keeps as many addresses as requested, and an address of an IPGroup costs nothing. */
const leadsSomewhere = (context: PoolContext): boolean => {
  const { spec, candidates } = context;
  if (!spec?.exposes || isFromGroup(context)) return true;
  return candidates.some(({ region }) => region === '' || spec.region === '' || region === spec.region);
};

/** After a class or an issuer becomes invalid, its former policy still applies to the existing address, but no new address is created: its limits would be unknown. */
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

/** An address of ours that was removed from the spec, e.g. when a manifest was applied again. */
export const spare = (context: PoolContext): Address | null => {
  const names = new Set(named(context));
  const spares = context.created.filter((address) => !names.has(address));
  return spares.find((address) => runs(context, address)) ?? spares[0] ?? null;
};

/** A spare address has to be named again. */
export const hasSpare = (context: PoolContext): boolean => mayAdd(context) && spare(context) !== null;

/** After records were lost, statuses may remember several creations: they are looked up one after the other, because each list identifies only one new address. */
export const awaitsLookUp = (context: PoolContext): boolean =>
  context.acquiring.remembered === true && !isFromGroup(asBegun(context)) && context.fullNodes.includes(CREATE_CLAIM);

/** Claims where an address is created. Addresses of an IPGroup are distinguished by owner: others may create meanwhile. */
export const rightTaken = (context: PoolContext): readonly string[] =>
  holdsRight(context.acquiring) && !isFromGroup(asBegun(context)) && !awaitsLookUp(context) ? [CREATE_CLAIM] : [];

const holdsRight = (acquiring: Acquiring): boolean => acquiring.intending || (isCreating(acquiring) && !acquiring.othersCreate);
