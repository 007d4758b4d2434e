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

/** Evidence that an object has what it claims: the operator's own records, or the object's status where there are none. */

/** A pool's standing for an address according to its own records. It holds an address for which it was granted a node, or which it created, until it gives it up; a RoutedIP
 *  holds every one that it runs. For other running addresses it waits, whatever has happened to its spec. Null when the records do not show it. */
export function standingTo(context: PoolContext, of: AddressContext | undefined, address: Address): Standing | null {
  const { members, acquiring, exposed, deleted, remembered } = context;
  const member = members[address];
  if (!member && exposed === null && [acquiring.unpublished, ...acquiring.published].includes(address)) return 'Holds';
  // A deleted pool is releasing all its addresses; no other object may have one before that is done.
  const isGivenUp = member?.retiring === true && !deleted;
  // The bound address of a RoutedIP stays its own: one that moves to another account detaches and reattaches it.
  if (exposed?.bound === address && (!member || isGivenUp)) return 'Bound';
  if (!member) return remembered[address]?.shown ? 'Bound' : null;
  if (isGivenUp) return null;
  const holds = exposed?.bound === address || member.node || (of && (of.epoch > 0 || of.origin === 'Created'));
  if (holds) return 'Holds';
  return isLeftOver(context, address) ? 'Barred' : 'Asks';
}

/** A paused pool gives nothing up: it keeps an address that it no longer requests, and blocks others only if it holds it. */
const isLeftOver = (context: PoolContext, address: Address): boolean => isPaused(context) && !listed(context).includes(address);

/** Addresses that a pool may have besides those in its spec: during a pause those that it runs, those removed from the spec, and the one created for it. */
export function keptUnnamed(context: PoolContext): readonly Address[] {
  const { exposed, reverts = 0, acquiring } = context;
  const kept = isPaused(context) ? entries(context.members).flatMap(([address, { retiring }]) => (retiring ? [] : [address])) : [];
  const made = exposed === null && !isGuess(context) ? [acquiring.unpublished ?? []].flat() : [];
  return [...kept, ...(reverts > 0 ? listed(context) : []), ...made];
}

/** An entry of a FloatingIPPool's status shows that the address was on a node for the pool, or was created for it. */
export const showsAddress = ({ nodeName, epoch, origin }: Readonly<Record<string, unknown>>): boolean =>
  (typeof nodeName === 'string' && nodeName !== '') || (typeof epoch === 'number' && epoch > 0) || origin === 'Created';

export const shownAddresses = (status: unknown): readonly Address[] =>
  Object.entries(fieldsOf(fieldsOf(status).ips)).flatMap(([text, entry]) => (showsAddress(fieldsOf(entry)) && parseAddress(text)) || []);

/** A record set holds its name once it knew what to publish. Null when its record does not show it. */
export const standingToName = ({ target, owner, revision }: RecordSetContext, key: string): Standing | null =>
  target !== null && !owner && revision > 0 && nameKey(target) === key ? 'Holds' : null;

/** The status shows that the record set of a pool, or the NodeDNSRecordSet, is published according to the spec of that generation. For its record set a pool's status shows
 *  only problems. */
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
