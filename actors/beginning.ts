import type { RememberedPool } from '../machines/pool.ts';
import { rememberedPool, termIn, withDoubts, withoutToward } from '../machines/rebuild.ts';
import { rememberedRoutedIP } from '../machines/rebuild-routed-ip.ts';
import type { ActorId } from '../machines/types.ts';
import { actorOf, isRoutedIP } from './pools.ts';
import type { PoolObject } from './ports/cluster.ts';
import type { StoredCell } from './ports.ts';
import type { Dropped, JournalOf } from './takeover.ts';

/** How a term begins. */
export interface Beginning {
  /** What of a status is remembered was written before each effect; else the status may lag behind. */
  readonly isShownFirst: boolean;
  /** What is kept of records that were dropped. */
  readonly dropped: Dropped;
  /** What the journals of cells that are written again are to have besides. */
  readonly journalOf: JournalOf;
  /** What stands in the store already of what this process remembers; null when it is still to be read, or to be written. */
  readonly restored: ReadonlyMap<ActorId, StoredCell> | null;
}

export const NOTHING_DROPPED: Dropped = { term: 0, intents: new Map(), doubts: new Map() };

export const FROM_STORE: Beginning = { isShownFirst: false, dropped: NOTHING_DROPPED, journalOf: async () => [], restored: null };

/** What is remembered of a pool of which there are no records. Its status says what was decided without the store; what was decided in the store before may not have been
 *  shown yet, and is found in the records that were dropped, as long as nothing was shown since. Definitions of others do not let a status tell of a creation. */
export function rememberedOf(pool: PoolObject, { isShownFirst, dropped }: Beginning, now: number, callDeadlineMs: number): RememberedPool {
  const remember = isRoutedIP(actorOf(pool.ref)) ? rememberedRoutedIP : rememberedPool;
  const { uid } = pool.ref;
  const told = remember(pool.status, now, callDeadlineMs);
  const shown = isShownFirst ? told : withoutToward(told);
  const doubts = termIn(pool.status) <= dropped.term ? dropped.doubts.get(uid) : undefined;
  const known = { ...shown, intent: shown.intent ?? dropped.intents.get(uid) ?? null };
  return doubts ? withDoubts(known, doubts, now + callDeadlineMs) : known;
}
