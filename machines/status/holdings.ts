import type { AddressContext } from '../address/context.ts';
import type { RecordSetContext } from '../dns/record-set.ts';
import { nameKey } from '../dns/zone.ts';
import { parseAddress } from '../model/address.ts';
import type { Standing } from '../model/precedence.ts';
import type { ObjectRef } from '../model/types.ts';
import { type Address, fieldsOf } from '../model/types.ts';
import { isPaused } from '../pool/annotations.ts';
import { entries, listed, type PoolContext } from '../pool/context.ts';
import { isGuess } from '../pool/creation.ts';

/** What shows that an object has what it claims: the operator's own records, or the object's status where there are none. */

/** How a pool stands to an address by its own records. It holds one for which it has been granted a node, or which it has made, and which it has not given up since; a
 *  RoutedIP every one that it runs. For others that it runs it waits, whatever has become of its spec. Null when the records do not say. */
export function standingTo(context: PoolContext, of: AddressContext | undefined, address: Address): Standing | null {
  const { members, acquiring, exposed, deleted, remembered } = context;
  const member = members[address];
  if (!member && exposed === null && [acquiring.unpublished, ...acquiring.published].includes(address)) return 'Holds';
  // Of one that is deleted all is being taken off; nobody else is to have it before that is done.
  const isGivenUp = member?.retiring === true && !deleted;
  // What a RoutedIP has got stays its own: one that goes to another account takes it off and on again.
  if (exposed?.bound === address && (!member || isGivenUp)) return 'Bound';
  if (!member) return remembered[address]?.shown ? 'Bound' : null;
  if (isGivenUp) return null;
  const holds = exposed?.bound === address || member.node || (of && (of.epoch > 0 || of.origin === 'Created'));
  if (holds) return 'Holds';
  return isLeftOver(context, address) ? 'Barred' : 'Asks';
}

/** A pool gives nothing up while it is paused: it has an address that it does not ask for any more, and keeps nobody from it unless it holds it. */
const isLeftOver = (context: PoolContext, address: Address): boolean => isPaused(context) && !listed(context).includes(address);

/** The addresses that a pool may have besides those that its spec names: in a pause those that it has, those that the spec has lost, and the one that was made for it. */
export function keptUnnamed(context: PoolContext): readonly Address[] {
  const { exposed, reverts = 0, acquiring } = context;
  const kept = isPaused(context) ? entries(context.members).flatMap(([address, { retiring }]) => (retiring ? [] : [address])) : [];
  const made = exposed === null && !isGuess(context) ? [acquiring.unpublished ?? []].flat() : [];
  return [...kept, ...(reverts > 0 ? listed(context) : []), ...made];
}

/** An entry of a FloatingIPPool's status says that the address was on a node for the pool, or was made for it. */
export const showsAddress = ({ nodeName, epoch, origin }: Readonly<Record<string, unknown>>): boolean =>
  (typeof nodeName === 'string' && nodeName !== '') || (typeof epoch === 'number' && epoch > 0) || origin === 'Created';

export const shownAddresses = (status: unknown): readonly Address[] =>
  Object.entries(fieldsOf(fieldsOf(status).ips)).flatMap(([text, entry]) => (showsAddress(fieldsOf(entry)) && parseAddress(text)) || []);

/** A record set holds the name that it was given once it knew what to publish. Null when its record does not say. */
export const standingToName = ({ target, owner, revision }: RecordSetContext, key: string): Standing | null =>
  target !== null && !owner && revision > 0 && nameKey(target) === key ? 'Holds' : null;

/** The status says that the record set of a pool, or the NodeDNSRecordSet, stands as the spec of that generation has it. A pool's tells of its own only what is
 *  wrong with it. */
export function showsName({
  ref: { kind },
  generation,
  status,
}: {
  readonly ref: ObjectRef;
  readonly generation: number;
  readonly status: unknown;
}): boolean {
  const { state, ips, conditions, observedGeneration } = fieldsOf(status);
  if (observedGeneration !== generation) return false;
  if (kind !== 'FloatingIPPool') return state === 'active';
  const isConflict = Array.isArray(conditions) && conditions.some((condition) => fieldsOf(condition).reason === 'RecordConflict');
  return !isConflict && Object.values(fieldsOf(ips)).some((entry) => fieldsOf(entry).state === 'active');
}
