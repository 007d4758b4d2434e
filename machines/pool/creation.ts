import type { Address } from '../model/types.ts';
import type { PoolSpec } from '../spec/pool.ts';
import type { Acquiring, PoolContext } from './context.ts';

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
