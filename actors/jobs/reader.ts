import { familyOf } from '../../machines/address.ts';
import type { Address, Family, ObservedAddress } from '../../machines/types.ts';
import { ProviderError } from '../errors.ts';
import type { Call, Clock, Provider, Purpose } from '../ports.ts';

/** Reads addresses for jobs that wait for a change. Few waiting ones are read one by one; from three on they share list calls. */
export interface AddressReader {
  /** What the provider reports, read after `since` (ms since the epoch). @throws ProviderError NotFound | … */
  read(address: Address, since: number, call: Call): Promise<ObservedAddress>;
  /** The address is no longer waited for. */
  forget(address: Address): void;
}

/** From so many waiting addresses on a list is cheaper than single reads. */
const SHARE_FROM = 3;
const PAGE = 200;
/** Long lists are read at most this often a page, ms. */
const MS_PER_PAGE = 2000;
/** A short list serves only those that ask at the same moment: an older one would show an action that has ended as under way, ms. */
const ONE_PAGE_MS = 20;
/** A job that does not come back this long after its last read has ended some other way. */
const STALE_MS = 10_000;

interface Listing {
  readonly startedAt: number;
  readonly result: Promise<ReadonlyMap<Address, ObservedAddress>>;
}

/** Addresses of one family wait for each other only: the others are not listed for their sake. */
export function addressReader(provider: Provider, clock: Clock): AddressReader {
  const readers = { 4: readerOf(4, provider, clock), 6: readerOf(6, provider, clock) };
  return {
    read: (address, since, call) => readers[familyOf(address)].read(address, since, call),
    forget: (address) => readers[familyOf(address)].forget(address),
  };
}

function readerOf(family: Family, provider: Provider, clock: Clock): AddressReader {
  const waiting = new Map<Address, number>();
  let listing: Listing | null = null;
  let pages = 1;

  const prune = () => {
    for (const [address, at] of waiting) if (clock.monotonic() - at > STALE_MS) waiting.delete(address);
  };

  const list = (since: number, purpose: Purpose): Listing => {
    const now = clock.now();
    if (listing && listing.startedAt >= since && now - listing.startedAt < minAge(pages)) return listing;
    const started: Listing = {
      startedAt: now,
      result: provider.listRoutedIPs({ purpose, family }).then((all) => {
        pages = Math.max(1, Math.ceil(all.length / PAGE));
        return new Map(all.map((observed) => [observed.address, observed]));
      }),
    };
    started.result.catch(() => {
      if (listing === started) listing = null;
    });
    listing = started;
    return started;
  };

  return {
    async read(address, since, call) {
      waiting.set(address, clock.monotonic());
      prune();
      if (waiting.size < SHARE_FROM) return provider.findRoutedIP(address, call);
      // Made for all that wait: it has no owner.
      const found = (await list(since, call.purpose).result).get(address);
      if (found) return found;
      // A list may lag behind: absence counts only after a read of the address itself.
      return provider.findRoutedIP(address, call);
    },
    forget(address) {
      waiting.delete(address);
    },
  };
}

/** How long one list serves everyone, ms. */
const minAge = (pages: number): number => (pages > 1 ? pages * MS_PER_PAGE : ONE_PAGE_MS);

export const isNotFound = (error: unknown): boolean => error instanceof ProviderError && error.kind === 'NotFound';
