import type { Verification } from '../../machines/jobs.ts';
import type { Address, ObservedAddress, ObservedNode, ProviderID } from '../../machines/model/types.ts';
import { listed, type PoolContext } from '../../machines/pool/context.ts';
import type { PoolObject } from '../ports/cluster.ts';
import type { ActorRecord } from '../ports/records.ts';
import { addressesIn } from './claims.ts';

/** One listing of a provider's addresses. */
export interface ProviderList {
  /** When the list was requested, ms since the epoch. */
  readonly askedAt: number;
  /** The list may be incomplete. */
  readonly isPartial: boolean;
  readonly byAddress: ReadonlyMap<Address, ObservedAddress>;
  readonly byHolder: ReadonlyMap<ProviderID, readonly ObservedAddress[]>;
}

/** Latest contents of an account's lists. */
export interface AccountState {
  /** When the IPv4 list was requested, ms since the epoch; null before the first one. */
  readonly askedAt: number | null;
  readonly addresses: readonly ObservedAddress[];
  readonly problem: string | null;
  readonly isReading: boolean;
}

export function providerList({ addresses, isPartial }: Verification, askedAt: number): ProviderList {
  const held = addresses.filter(({ providerID }) => providerID !== null);
  return {
    askedAt,
    isPartial: isPartial ?? false,
    byAddress: new Map(addresses.map((observed) => [observed.address, observed])),
    byHolder: Map.groupBy(held, ({ providerID }) => providerID as ProviderID),
  };
}

/** The addresses that a pool has or wants, by its object and its record. */
export function ownAddresses(pool: PoolObject, record: ActorRecord | undefined): ReadonlySet<Address> {
  const context = record?.snapshot.context as unknown as PoolContext | undefined;
  if (!context) return new Set(addressesIn(pool));
  const known = Object.keys({ ...context.members, ...context.remembered }) as Address[];
  return new Set([...addressesIn(pool), ...listed(context), ...context.created, ...known]);
}

const NONE: readonly ObservedAddress[] = [];

/** The part of a list that covers these addresses and everything on these nodes. */
export function partOf(
  { byAddress, byHolder }: ProviderList,
  own: ReadonlySet<Address>,
  nodes: readonly ObservedNode[],
): readonly ObservedAddress[] {
  const part = [...own].flatMap((address) => byAddress.get(address) ?? []);
  // Of thousands of nodes most hold nothing.
  for (const { providerID } of nodes) {
    for (const held of byHolder.get(providerID as ProviderID) ?? NONE) if (!own.has(held.address)) part.push(held);
  }
  return part;
}
