import type { AddressContext } from '../../machines/address/context.ts';
import type { PoolContext } from '../../machines/pool/context.ts';
import { stateOf } from '../controllers/record-view.ts';
import type { Transition } from '../ports/observers.ts';
import type { ActorRecord } from '../ports/records.ts';

/** The node on which the address served before this turn, when a node fact in this turn ended that; else null. */
export function nodeLost({ events, before, after }: Transition): string | null {
  if (!before || !isServing(before) || !events.includes('NODE_OBSERVED')) return null;
  const { assigned } = contextOf(before);
  const staysThere = after && isServing(after) && contextOf(after).assigned?.name === assigned?.name;
  return staysThere ? null : (assigned?.name ?? null);
}

/** The pool took a healthy node away: it still matches, is about to go, or an edit leaves it out. The pool's own transition of that turn shows it. */
export function isPlannedMove(pool: Transition | undefined, node: string): boolean {
  if (!pool?.before || !pool.after) return false;
  const [before, after] = [pool.before, pool.after].map(({ snapshot }) => snapshot.context as unknown as PoolContext);
  const isEdit = before?.matchedBy !== null && before?.matchedBy !== after?.matchedBy;
  return isEdit || [...(after?.leaving ?? []), ...(after?.candidates ?? [])].some(({ name }) => name === node);
}

/** The provider shows the address elsewhere than confirmed: it was moved externally. */
export function isDrift(before: AddressContext | undefined, { assigned, holder, failure, parked }: AddressContext): boolean {
  // A user requested that.
  if (parked) return false;
  if (!before?.assigned || before.holder !== before.assigned.providerID) return false;
  return holder !== before.holder && !assigned && !failure;
}

/** Active on a node that may hold it. */
export function isServing(record: ActorRecord): boolean {
  const { assigned, elected, eligible } = contextOf(record);
  return stateOf(record.snapshot.value) === 'Stable' && assigned !== null && eligible && elected?.name === assigned.name;
}

/** Context of an address's record. */
export const contextOf = ({ snapshot }: ActorRecord): AddressContext => snapshot.context as unknown as AddressContext;
