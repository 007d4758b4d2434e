import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { ClusterFact } from '../../../machines/events.ts';
import type { Use } from '../cache/object-cache.ts';
import { isForbidden, messageOf } from '../client/api-error.ts';
import type { Cause } from '../client/pace.ts';

/** Looks after what one object asks of the cluster. */
export interface Follower {
  /** Takes the object as it is now; what it still asks for is watched on without a gap. */
  follow(object: PoolObject): void;
  /** As of now; null while something of it is not known. */
  fact(): ClusterFact | null;
  /** Whether all is known that will be. */
  settled(): boolean;
  /** What keeps it from being settled; null for a list that is not complete yet. */
  troubles(): readonly (Error | null)[];
  /** What it may not list, for people; null for nothing. */
  forbidden(): string | null;
  release(): void;
}

/** Told by a follower, as often as it happens. */
export interface FollowerNews {
  /** Its fact may be another one than before. */
  changed(cause: Cause): void;
  /** One of its watches fails, or works again. */
  troubled(): void;
}

type AnyUse = Pick<Use<unknown>, 'synced' | 'trouble'>;

/** What the server does not let be listed, whether or not it was listed before; null for nothing. */
export const forbiddenTo = (uses: readonly AnyUse[]): string | null => {
  const refused = uses.map((use) => use.trouble()).filter(isForbidden);
  return refused.length > 0 ? [...new Set(refused.map(messageOf))].sort().join('; ') : null;
};

/** What keeps each of those from being known that are not. */
export const troublesOf = (uses: readonly AnyUse[]): readonly (Error | null)[] =>
  uses.filter(({ synced }) => !synced).map((use) => use.trouble());
