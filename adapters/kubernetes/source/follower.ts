import type { PoolObject } from '../../../actors/ports/cluster.ts';
import type { ClusterFact } from '../../../machines/events.ts';
import type { Use } from '../cache/object-cache.ts';
import { isForbidden, messageOf } from '../client/api-error.ts';
import type { Cause } from '../client/pace.ts';

/** Follows the parts of the cluster that one object needs. */
export interface Follower {
  /** Takes the current object; watches that it still needs continue without a gap. */
  follow(object: PoolObject): void;
  /** The current fact; null while it is incomplete. */
  fact(): ClusterFact | null;
  /** Whether everything is known that will be. */
  settled(): boolean;
  /** Errors that keep it from being settled; null for a list that is not complete yet. */
  troubles(): readonly (Error | null)[];
  /** What it is forbidden to list, human-readable; null for nothing. */
  forbidden(): string | null;
  release(): void;
}

/** Receives notifications from a follower; calls are not coalesced. */
export interface FollowerNews {
  /** Its fact may have changed. */
  changed(cause: Cause): void;
  /** One of its watches fails, or works again. */
  troubled(): void;
}

type AnyUse = Pick<Use<unknown>, 'synced' | 'trouble'>;

/** What the server forbids to list, whether or not it was listed before; null for nothing. */
export const forbiddenTo = (uses: readonly AnyUse[]): string | null => {
  const refused = uses.map((use) => use.trouble()).filter(isForbidden);
  return refused.length > 0 ? [...new Set(refused.map(messageOf))].sort().join('; ') : null;
};

/** The error of each use that is not synced. */
export const troublesOf = (uses: readonly AnyUse[]): readonly (Error | null)[] =>
  uses.filter(({ synced }) => !synced).map((use) => use.trouble());
