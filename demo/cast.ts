import type { Act } from './args.ts';
import type { Follower } from './follow.ts';
import type { Screen } from './screen.ts';
import type { Shop } from './shop.ts';
import type { Stage } from './stage.ts';
import type { Until } from './wait.ts';

export interface Cast {
  readonly stage: Stage;
  readonly shop: Shop;
  readonly follower: Follower;
  readonly screen: Screen;
  readonly until: Until;
  readonly seed: number;
  /** The only part that is played; null for all. */
  readonly act: Act | null;
}

/** Something that happened, ms since the epoch. */
export interface Moment {
  readonly what: string;
  readonly at: number;
}
