import { fieldsOf } from '../../machines/model/types.ts';
import type { PoolProjection } from './cluster.ts';
import type { Json } from './records.ts';

type Status = PoolProjection['status'];

/** A creation intent that no projection of this process has carried is left in place so long, ms: it may be another replica's, just written. */
const FOREIGN_INTENT_MS = 10 * 60_000;

/** What jobs write into the status of one object beside its projections: the intent of a creation, and the address of a RoutedIP. A projection of the time before does not
 *  sweep that away; what projections have carried goes with the first that carries it no more. */
export class Accounted {
  readonly #carried = new Set<Json>();

  /** Takes note of what a projection says, which may never be written because a newer one follows. */
  note({ status: { pendingCreate, routedIP }, knownIntent }: Pick<PoolProjection, 'status' | 'knownIntent'>): void {
    const startedAt = startOf(pendingCreate);
    for (const intent of [startedAt, knownIntent]) if (typeof intent === 'string') this.#carried.add(intent);
    if (typeof routedIP === 'string') this.#carried.add(routedIP);
  }

  /** What is left as it stands by a status that takes the place of `present`. */
  left(status: Status, present: Json, now: number): Status {
    const { pendingCreate = null, term, routedIP, addressOrigin } = fieldsOf<Json>(present);
    const startedAt = startOf(pendingCreate);
    // Of an intent of a former term the records tell that were taken over.
    const isForeign = term === status.term && startedAt !== null && !this.#carried.has(startedAt);
    const isRecent = isForeign && now - Date.parse(startedAt) < FOREIGN_INTENT_MS;
    const isUnheard = typeof routedIP === 'string' && !this.#carried.has(routedIP);
    return {
      ...(isRecent && status.pendingCreate === undefined && { pendingCreate }),
      ...(isUnheard && status.routedIP === undefined && { routedIP, ...(addressOrigin !== undefined && { addressOrigin }) }),
    };
  }
}

const startOf = (intent: Json | undefined): string | null => {
  const { startedAt } = fieldsOf<Json>(intent);
  return typeof startedAt === 'string' && !Number.isNaN(Date.parse(startedAt)) ? startedAt : null;
};
