import type { AddressContext } from '../address/context.ts';
import type { RecordSetContext } from '../dns/record-set.ts';
import type { ClusterFact } from '../events.ts';
import type { Address } from '../model/types.ts';
import type { NodeBackOff, PoolContext } from './context.ts';

/** One address, as in its record. */
export interface AddressView {
  readonly state: string;
  readonly context: AddressContext;
}

/** A pool's cell, as in its records. */
export interface PoolView {
  readonly state: string;
  readonly context: PoolContext;
  readonly addresses: Readonly<Record<Address, AddressView>>;
  /** The pool's record set; null while it has none. */
  readonly recordSet: RecordSetContext | null;
  readonly term: number;
  /** Time of this view, ms since the epoch: waits that end before it are over. */
  readonly at: number;
  /** Explains why no node is free; absent or null when unknown. */
  readonly observed?: ClusterFact | null;
  /** Why it can no longer be verified that addresses are still where they were confirmed; absent or null while it can. */
  readonly unverified?: string | null;
}

/** The latest time that a Date can hold: a provider may ask to wait for longer than that. */
const END_OF_TIME = 8.64e15;
export const stamp = (ms: number): string => new Date(Math.min(ms, END_OF_TIME)).toISOString();

/** That a node is in back-off after a failure, until when, and the provider's message; null for a node that is not. */
export const leftAlone = (failed: NodeBackOff | undefined, at: number): string | null => {
  if (!failed || failed.until <= at) return null;
  return `left alone until ${stamp(failed.until)} after a failure${failed.message === undefined ? '' : `: ${failed.message}`}`;
};

/** Why an address is not this owner's; the other owner is named with its kind unless it is a FloatingIPPool as well. */
export const conflictText = (address: string, owner: string): string =>
  `${address} belongs to ${owner.includes(' ') ? owner : `pool ${owner}`}, which keeps it`;
