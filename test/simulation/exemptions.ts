import type { Stage } from './domain.ts';

/** What goes by the past where the past is not known: the time of the last assignment is taken from a status that lags behind. */
const AFTER_A_LOSS: readonly string[] = ['spaced'];
/** What goes by the past ends with a process that ends without the store, but for what a status says of it. */
const WITHOUT_THE_STORE: readonly string[] = ['spaced', 'is left to others for a window'];

/** Rules that say nothing in such a history. */
export const exemptions = ({ happens, world }: Pick<Stage, 'happens' | 'world'>): ReadonlySet<string> =>
  new Set([
    ...(happens('stores', 'goBack', 'wipe', 'wipeAtRest', 'failOver') ? AFTER_A_LOSS : []),
    ...(world.isAway ? WITHOUT_THE_STORE : []),
  ]);
