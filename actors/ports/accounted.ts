import { fieldsOf } from '../../machines/model/types.ts';
import type { PoolProjection } from './cluster.ts';
import type { Json } from './records.ts';

type Status = PoolProjection['status'];

/** A creation intent that no projection of this process has carried is kept for this long, ms: another replica may have just written it. */
const FOREIGN_INTENT_MS = 10 * 60_000;

/** Tracks what jobs write into the status of one object beside its projections: the intent of a creation, and the address of a RoutedIP. An earlier projection does not
 *  remove these; what projections have carried is removed with the first one that no longer carries it. */
export class Accounted {
  readonly #carried = new Set<Json>();

  /** Records what a projection carries, which may never be written because a newer one follows. */
  note({ status: { pendingCreate, routedIP }, knownIntent }: Pick<PoolProjection, 'status' | 'knownIntent'>): void {
    const startedAt = startOf(pendingCreate);
    for (const intent of [startedAt, knownIntent]) if (typeof intent === 'string') this.#carried.add(intent);
    if (typeof routedIP === 'string') this.#carried.add(routedIP);
  }

  /** The fields of `present` that a status replacing it has to keep. */
  left(status: Status, present: Json, now: number): Status {
    const { pendingCreate = null, term, routedIP, addressOrigin } = fieldsOf<Json>(present);
    const startedAt = startOf(pendingCreate);
    // An intent of a former term is in the records that were taken over.
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
