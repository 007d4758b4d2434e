import { familyOf } from '../../machines/model/address.ts';
import type { Address, Family, ObservedAddress } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import type { Call, Provider, Purpose } from '../ports/provider.ts';
import type { Clock } from '../ports/records.ts';
import { type ActionTimes, actionTimes } from './action-times.ts';

/** What the provider reports, or after how many ms to ask again. */
export type Reading =
  | { readonly kind: 'observed'; readonly observed: ObservedAddress }
  | { readonly kind: 'later'; readonly afterMs: number };

/** Reads addresses for jobs that wait for a change. A single address is read by itself; several share lists, which are the less frequent the more they cost. */
export interface AddressReader {
  /** What the provider reports, read after `since` (ms since the epoch) and not shown for this address before; or when the next list is due, when there
   *  is no such news yet. @throws ProviderError NotFound | RateLimited … */
  read(address: Address, since: number, call: Call): Promise<Reading>;
  /** The address is waited for from now on, and read for the first time later. */
  watch(address: Address): void;
  /** The address is no longer waited for. */
  forget(address: Address): void;
  /** For the next `ms` calls wait for the request budget: the rest of it must not be spent on lists in quick succession. */
  spare(ms: number): void;
  readonly times: ActionTimes;
}

export interface ReaderOptions {
  readonly provider: Provider;
  readonly clock: Clock;
  /** How soon a job that waits for a short action returns for another look, ms. */
  readonly stepMs: number;
}

/** From this many addresses on, lists are spaced: their assigns come at different times, and each would request lists of its own for a second. */
const MANY = 10;
const PAGE = 200;
/** Spacing of lists for many addresses, or of several pages, ms per page: grows with the time that the first address has waited, and is the longest while the budget is
 *  short. */
const MS_PER_PAGE = { shortest: 300, ofWaited: 1 / 3, longest: 2_000 };
/** A job that does not come back this long after it was expected has ended some other way, ms. */
const STALE_MS = 10_000;

/** Addresses share lists within their family only: the other family is not listed for them. */
export function addressReader(options: ReaderOptions): AddressReader {
  const readers = { 4: readerOf(4, options), 6: readerOf(6, options) };
  return {
    times: actionTimes(),
    read: (address, since, call) => readers[familyOf(address)].read(address, since, call),
    watch: (address) => readers[familyOf(address)].watch(address),
    forget: (address) => readers[familyOf(address)].forget(address),
    spare: (ms) => {
      for (const reader of Object.values(readers)) reader.spare(ms);
    },
  };
}

interface Listing {
  /** ms since the epoch, like the times that jobs remember of their calls. */
  readonly startedAt: number;
  /** The same by the monotonic clock. */
  readonly begunAt: number;
  readonly result: Promise<ReadonlyMap<Address, ObservedAddress>>;
  failed: boolean;
}

/** Monotonic times, ms. */
interface Waiting {
  readonly since: number;
  /** When the reading last shown for the address was requested. */
  readonly shownAt: number;
  readonly expectedAt: number;
}

function readerOf(family: Family, { provider, clock, stepMs }: ReaderOptions): Omit<AddressReader, 'times'> {
  const waiting = new Map<Address, Waiting>();
  let listing: Listing | null = null;
  let pages = 1;
  let sparingUntil = Number.NEGATIVE_INFINITY;
  let limitedUntil = Number.NEGATIVE_INFINITY;

  const spacing = (): number => {
    const now = clock.monotonic();
    const { shortest, ofWaited, longest } = MS_PER_PAGE;
    if (now < sparingUntil) return pages * longest;
    // Jobs return at different moments of a step: with one list per step they would wait as long for the list as for the step itself.
    if (pages === 1 && waiting.size < MANY) return stepMs / 3;
    const waited = now - Math.min(...[...waiting.values()].map(({ since }) => since));
    return pages * Math.min(longest, Math.max(shortest, waited * ofWaited));
  };
  const expect = (address: Address, shownAt: number, inMs: number): void => {
    const now = clock.monotonic();
    waiting.set(address, { since: waiting.get(address)?.since ?? now, shownAt, expectedAt: now + inMs });
    for (const [other, { expectedAt }] of waiting) if (now - expectedAt > STALE_MS) waiting.delete(other);
  };
  // Made for all waiting jobs: it has no owner.
  const list = (purpose: Purpose): Listing => {
    const result = provider.listRoutedIPs({ purpose, family }).then((all) => {
      pages = Math.max(1, Math.ceil(all.length / PAGE));
      return new Map(all.map((observed) => [observed.address, observed]));
    });
    const started: Listing = { startedAt: clock.now(), begunAt: clock.monotonic(), result, failed: false };
    result.catch((error: unknown) => {
      started.failed = true;
      if (!isLimited(error)) return;
      // It was not sent, or not completed: the next one need not keep its distance.
      limitedUntil = clock.monotonic() + (error.retryAfterMs ?? MS_PER_PAGE.longest);
      if (listing === started) listing = null;
    });
    return started;
  };
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(Math.ceil(ms), resolve));
  /** The newest list if it has news, else the time until the next one is due, ms; a new list once that is due. */
  const listFor = (shownAt: number, since: number, purpose: Purpose): Listing | number => {
    const now = clock.monotonic();
    const dueAt = listing === null ? now : listing.begunAt + spacing();
    if (listing === null || dueAt <= now) {
      listing = list(purpose);
      return listing;
    }
    const isNews = !listing.failed && listing.begunAt > shownAt && listing.startedAt >= since;
    return isNews ? listing : dueAt - now;
  };

  return {
    async read(address, since, call) {
      const now = clock.monotonic();
      const shownAt = waiting.get(address)?.shownAt ?? Number.NEGATIVE_INFINITY;
      expect(address, shownAt, spacing());
      // Single reads cost no more than a list.
      if (waiting.size <= pages) {
        expect(address, now, stepMs);
        return { kind: 'observed', observed: await provider.findRoutedIP(address, call) };
      }
      if (now < limitedUntil) {
        expect(address, shownAt, limitedUntil - now);
        throw new ProviderError('RateLimited', `read ${address}: the list waits for the request budget`, {
          retryAfterMs: limitedUntil - now,
        });
      }
      let found = listFor(shownAt, since, call.purpose);
      // Returning costs more than so short a wait.
      for (; typeof found === 'number' && found < stepMs; found = listFor(shownAt, since, call.purpose)) await pause(found);
      if (typeof found === 'number') return { kind: 'later', afterMs: found };
      expect(address, found.begunAt, spacing());
      const observed = (await found.result).get(address);
      // A list may lag behind: absence counts only after a read of the address itself.
      return { kind: 'observed', observed: observed ?? (await provider.findRoutedIP(address, call)) };
    },
    watch: (address) => expect(address, Number.NEGATIVE_INFINITY, stepMs),
    forget: (address) => void waiting.delete(address),
    spare: (ms) => {
      sparingUntil = Math.max(sparingUntil, clock.monotonic() + ms);
    },
  };
}

/** Nothing was sent, or it was refused for coming too early. */
export const isLimited = (error: unknown): error is ProviderError =>
  error instanceof ProviderError && error.kind === 'RateLimited' && !error.unknownOutcome;

export const isNotFound = (error: unknown): boolean => error instanceof ProviderError && error.kind === 'NotFound';
