import type { Address, ProviderID } from '../model/types.ts';

/** An address that a pool gave up while it was on a machine. */
export interface GaveUp {
  readonly address: Address;
  readonly providerID: ProviderID;
  /** Ms since the epoch. */
  readonly at: number;
}

const ROOM_LASTS_MS = 3_600_000;

/** An address granted there later may be its successor. */
export const isRecent = ({ at }: GaveUp, now: number): boolean => now - at < ROOM_LASTS_MS;
