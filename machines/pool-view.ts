import type { AddressContext } from './ip.ts';
import type { PoolContext } from './pool.ts';
import type { RecordSetContext } from './record-set.ts';
import type { Address } from './types.ts';

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
}

/** Something that a condition tells. */
export interface Finding {
  readonly reason: string;
  readonly message: string;
}

/** The last time that a date can hold: a provider may ask to wait for longer than that. */
const END_OF_TIME = 8.64e15;
export const stamp = (ms: number): string => new Date(Math.min(ms, END_OF_TIME)).toISOString();
