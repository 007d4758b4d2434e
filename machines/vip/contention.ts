/** When a Service is left to another controller that writes its ingress, such as a cloud's. We do not fight: its ingress is overwritten once within the window, and never where
 *  we have not served the Service. */

/** How long an overwrite counts, ms. */
const WINDOW_MS = 3_600_000;
/** How many overwrites are allowed within the window: of what the other controller lists, and where it has emptied the ingress. */
const MOST_WRITES = { overOther: 1, overNothing: 3 } as const;

/** The Service is left to another controller. */
export interface Contention {
  /** For users; it stays the same as long as the contention lasts, whatever is listed meanwhile, except for whether an address is reserved and for an entry that replaces an
   *  empty ingress. Otherwise a controller that answers each of our writes with another address would keep us writing. */
  readonly message: string;
  /** What the Service requested of us when it was last seen: a changed request asks to be served again. */
  readonly asks: string;
}

/** Contention state of the ingress of a Service. Each field is absent until it first applies. */
export interface Contended {
  /** Another controller has overwritten what we published, and it is not repaired yet. */
  readonly ousted?: boolean;
  /** When we overwrote another controller, ms since the epoch, oldest first; old ones may be left out. */
  readonly repairs?: readonly number[];
  readonly contention?: Contention | null;
}

/** The current ingress of a Service that wants an address of ours. */
export interface Listing {
  /** All its entries; empty for none. */
  readonly text: string;
  /** It was correct when last seen, and has changed. Without an earlier observation: an address is reserved for it, and another controller wrote its entries. */
  readonly isChanged: boolean;
  /** There is no earlier observation, and our condition is present. */
  readonly isMarked: boolean;
  /** An address is reserved for it. */
  readonly isReserved: boolean;
  /** Another controller wrote it, it has no address of ours in it, and the Service requests nothing of us. */
  readonly isForeign: boolean;
  /** What the Service requests of us and of no other, as one string; empty for nothing. */
  readonly asks: string;
  /** The field manager that wrote it; null where unknown. */
  readonly by: string | null;
}

const recent = (repairs: readonly number[] = [], at: number): readonly number[] =>
  repairs.filter((each) => each <= at && at - each < WINDOW_MS);

/** The overwrites, plus one now. */
export const withRepair = ({ repairs }: Contended, at: number): readonly number[] =>
  [...recent(repairs, at), at].slice(-MOST_WRITES.overNothing);

/** We have overwritten another controller within the window: a writer that restores our entry may remove it again, and each time would be reported again. */
export const isFought = ({ repairs }: Contended, at: number): boolean => recent(repairs, at).length > 0;

/** State once the Service is served, or should not be: cleared, except for the overwrites. */
export const settled = ({ ousted, contention }: Contended): Contended => ({
  ...(ousted && { ousted: false }),
  ...(contention && { contention: null }),
});

/** State for another Service of the same name: cleared. */
export const forgotten = (before: Contended): Contended => ({ ...settled(before), ...(before.repairs && { repairs: [] }) });

/** State after an observation of the ingress, while it is not correct. */
export function contendedAfter(before: Contended, seen: Listing, at: number): Contended {
  const was = before.contention ?? null;
  const asksAnew = was !== null && seen.asks !== '' && seen.asks !== was.asks;
  const kept = asksAnew ? null : was;
  const repairs = asksAnew ? [] : recent(before.repairs, at);
  const isOusted = seen.isReserved && (before.ousted || seen.isChanged);
  const isLeft =
    seen.text === ''
      ? isOusted && repairs.length >= MOST_WRITES.overNothing
      : isOusted
        ? kept !== null || seen.isMarked || repairs.length >= MOST_WRITES.overOther
        : seen.isForeign;
  return {
    ...settled(before),
    ...(asksAnew && before.repairs && { repairs: [] }),
    ...(isOusted && { ousted: true }),
    ...(isLeft && { contention: { message: messageOf(seen, kept?.message), asks: seen.asks } }),
  };
}

const EMPTIED =
  'somebody else takes the address out of the ingress each time that it is written; it stays reserved, and is written again within an hour';

const LEFT = ', to whom the Service is left';
const STAYS = '; its address stays reserved';

function messageOf({ text, by, isReserved }: Listing, former = ''): string {
  const isNew = former === '' || (former === EMPTIED && text !== '');
  if (isNew && text === '') return EMPTIED;
  const who = by === null ? '' : ` (${by})`;
  const said = isNew
    ? `the ingress is written by somebody else${who}${LEFT}: take that one out, or ask for an address of an IPGroup, and it is served`
    : former.replace(STAYS, '');
  // An IP may have been deleted by hand, or was still being reserved when the contention began.
  return isReserved ? said.replace(LEFT, LEFT + STAYS) : said;
}
