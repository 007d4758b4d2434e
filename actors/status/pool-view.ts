import type { ClusterFact } from '../../machines/events.ts';
import { verificationActor, verifiedBy } from '../../machines/model/actor-id.ts';
import { accountOfList, listKey } from '../../machines/model/provider-key.ts';
import type { ActorId } from '../../machines/model/types.ts';
import { familyServed } from '../../machines/pool/context.ts';
import type { PoolView } from '../../machines/pool/view.ts';
import { doubtOf, type VerificationContext } from '../../machines/verification/verification.ts';
import { poolView } from '../controllers/record-view.ts';
import type { SavedTurn } from '../ports/observers.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';

export interface ViewPorts {
  readonly clock: Clock;
  readonly recordsOf: (cell: ActorId) => ReadonlyMap<ActorId, ActorRecord> | null;
  /** Facts of the cluster last observed for it; null while there are none. */
  readonly factOf: (cell: ActorId) => ClusterFact | null;
}

/** A pool's cell as users see it: its own records, why no node is free, and whether its provider can be read. Null while it has no pool. */
export function shownView(cell: ActorId, { clock, recordsOf, factOf }: ViewPorts): PoolView | null {
  const records = recordsOf(cell);
  const view = records && poolView(cell, records, clock.now());
  if (!view) return null;
  const verification = verificationActor(listKey(view.context.spec?.provider ?? '', familyServed(view.context)));
  return { ...view, observed: factOf(cell), unverified: doubtIn(recordsOf(verification)?.get(verification)) };
}

/** A deleted pool that is fully released and must no longer be shown. */
export const isClearing = (record: ActorRecord | undefined): boolean =>
  JSON.stringify(record?.snapshot.value) === '{"Stopping":"Clearing"}';

/** Why it is unknown where the addresses are that this record verifies; null while it is known. */
export const doubtIn = (record: ActorRecord | null | undefined): string | null =>
  record ? doubtOf(record.snapshot.context as unknown as VerificationContext) : null;

/** The provider whose addresses have become verifiable or unverifiable in this turn; null when nothing changed. A verification that fails once more is no news to a thousand
 *  pools. */
export function doubtChanged({ cell, transitions }: SavedTurn): string | null {
  const list = verifiedBy(cell);
  if (list === null) return null;
  return transitions.some(({ before, after }) => (doubtIn(before) === null) !== (doubtIn(after) === null)) ? accountOfList(list) : null;
}
