import type { AddressContext } from '../address/context.ts';
import type { RecordSetContext } from '../dns/record-set.ts';
import type { ClusterFact } from '../events.ts';
import type { Address } from '../model/types.ts';
import type { NodeBackOff, PoolContext } from './context.ts';

/** One address as its record shows it. */
export interface AddressView {
  readonly state: string;
  readonly context: AddressContext;
}

/** A pool's cell as its records show it. */
export interface PoolView {
  readonly state: string;
  readonly context: PoolContext;
  readonly addresses: Readonly<Record<Address, AddressView>>;
  /** The pool's record set; null while it has none. */
  readonly recordSet: RecordSetContext | null;
  readonly term: number;
  /** When it is looked at, ms since the epoch: what only lasts until a time is over then. */
  readonly at: number;
  /** Tells why no node is free; absent or null when it is not known. */
  readonly observed?: ClusterFact | null;
  /** Why nobody can say any more whether addresses are still where they were confirmed; absent or null while somebody can. */
  readonly unverified?: string | null;
}

/** The last time that a date can hold: a provider may ask to wait for longer than that. */
const END_OF_TIME = 8.64e15;
export const stamp = (ms: number): string => new Date(Math.min(ms, END_OF_TIME)).toISOString();

/** That a node is left alone after a failure, until when, and what was said; null for one that is not. */
export const leftAlone = (failed: NodeBackOff | undefined, at: number): string | null => {
  if (!failed || failed.until <= at) return null;
  return `left alone until ${stamp(failed.until)} after a failure${failed.message === undefined ? '' : `: ${failed.message}`}`;
};

/** Why an address is not this owner's; the other one is named with its kind where that is not a FloatingIPPool as well. */
export const conflictText = (address: string, owner: string): string =>
  `${address} belongs to ${owner.includes(' ') ? owner : `pool ${owner}`}, which keeps it`;
