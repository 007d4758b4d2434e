import type { AddressContext } from '../../machines/address/context.ts';
import { isSeenOtherwise } from '../../machines/address/decisions.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { showsLoss } from '../../machines/firewall/drift.ts';
import type { FirewallFound, Verification } from '../../machines/jobs.ts';
import type { ActorId, Family, ObservedAddress } from '../../machines/model/types.ts';
import { PartialList } from '../ports/errors.ts';
import type { Log } from '../ports/observers.ts';
import type { Firewall, Provider } from '../ports/provider.ts';
import type { ActorRecord, Clock } from '../ports/records.ts';
import type { ProviderList } from './provider-list.ts';

/** Record versions at the time of a request: what changed since is newer than the answer. */
export type Versions = ReadonlyMap<ActorId, number>;

type Records = ReadonlyMap<ActorId, ActorRecord>;

/** When a list was requested, ms since the epoch, and the record versions at that time. */
export interface Asked {
  readonly at: number;
  readonly versions: Versions;
}

const LONGEST_PAUSE_MS = 10_000;
/** A list that is partial this often in a row will stay so: addresses that it does not show are looked up one by one. */
const PARTIAL_AFTER = 3;

interface Reading {
  readonly key: string;
  readonly family: Family;
  readonly clock: Clock;
  readonly log: Log;
  readonly isClosed: () => boolean;
  /** Receives why an attempt has failed. */
  readonly failed: (why: string) => void;
}

/** All addresses of a provider and a family, requested until it works; null when `isClosed` first. Nothing is decided about its pools until then. */
export async function readUntilKnown(
  provider: Provider,
  { key, family, clock, log, isClosed, failed }: Reading,
): Promise<Verification | null> {
  for (let attempt = 1; !isClosed(); attempt += 1) {
    try {
      // Paid from the rate-limit reserve that assigns and single-address reads leave: no number of them can hold up a takeover.
      return { addresses: await provider.listRoutedIPs({ purpose: 'confirm', family }) };
    } catch (error) {
      if (error instanceof PartialList && attempt >= PARTIAL_AFTER) return { addresses: error.addresses, isPartial: true };
      failed(error instanceof Error ? error.message : String(error));
      log.warn('the addresses of a provider could not be read yet; nothing is decided before', {
        provider: key,
        attempt,
        error: String(error),
      });
      await new Promise<void>((resolve) => clock.after(Math.min(1000 * attempt, LONGEST_PAUSE_MS), resolve));
    }
  }
  return null;
}

/** The address is observed on the Node to which it was assigned. */
export const isAssigned = (record: ActorRecord | undefined, { providerID }: ObservedAddress): boolean =>
  providerID !== null && (record?.snapshot.context as AddressContext | undefined)?.assigned?.providerID === providerID;

/** Updates for addresses that their owners never held and may not take where they are: those whose place changed since nodes came or went. */
export const placesIn = (
  records: Records,
  placed: (observed: ObservedAddress) => ObservedAddress,
): readonly { readonly to: ActorId; readonly observed: ObservedAddress }[] =>
  [...records].flatMap(([to, record]) => {
    if (record.chart !== 'ip') return [];
    const context = record.snapshot.context as unknown as AddressContext;
    const { address, region, holder, place } = context;
    if (holder === null || !place || place === 'Unsaid') return [];
    const observed = placed({ address, region, providerID: holder, locked: false });
    return isSeenOtherwise(context, observed) ? [{ to, observed }] : [];
  });

export const versionsOf = (cells: readonly (Records | null)[]): Versions =>
  new Map(cells.flatMap((records) => [...(records ?? [])].map(([actor, { version }]) => [actor, version] as const)));

/** Updates from a complete list for the addresses among `records`: those that it shows differently. With `versions`, only those that have not changed since and wait for no
 *  job: the list may be older than their records. */
export function news(
  records: Records,
  { byAddress }: ProviderList,
  versions: Versions | null,
  placed: (observed: ObservedAddress) => ObservedAddress,
): readonly { readonly to: ActorId; readonly observed: ObservedAddress | null }[] {
  return [...records].flatMap(([to, record]) => {
    if (record.chart !== 'ip' || (versions && !isUndisturbed(record, versions.get(to)))) return [];
    const context = record.snapshot.context as unknown as AddressContext;
    const listed = byAddress.get(context.address);
    const observed = listed ? placed(listed) : null;
    const isKnown = observed !== null && !isSeenOtherwise(context, observed) && context.failure?.kind !== 'NotFound';
    return isKnown ? [] : [{ to, observed }];
  });
}

/** Updates from a list for the firewalls of a provider: those in which something is missing, or was before. Only those that have not changed since the list was requested and
 *  wait for no job. */
export const firewallNews = (
  firewalls: readonly (readonly [ActorId, ActorRecord])[],
  listed: readonly Firewall[],
  versions: Versions,
): readonly { readonly to: ActorId; readonly found: FirewallFound | null }[] =>
  firewalls.flatMap(([to, record]) => {
    if (!isUndisturbed(record, versions.get(to))) return [];
    const context = record.snapshot.context as unknown as FirewallContext;
    const shown = listed.find(({ id, name }) => name === context.firewall || id === context.firewall);
    const found = shown
      ? { ports: shown.ports, nodes: shown.nodes, pending: shown.pending, ...(shown.pendingOn && { pendingOn: shown.pendingOn }) }
      : null;
    return showsLoss(context, found) ? [{ to, found }] : [];
  });

const isUndisturbed = (record: ActorRecord, version: number | undefined): boolean =>
  record.version === version && Object.keys(record.waiting).every((key) => key.startsWith('xstate.after.'));
