/** When a Service is left to somebody else who writes its ingress, as the controller of a cloud does. He is not fought: what he has written is written over once
 *  within the window, and not at all where we have never served the Service. */

/** So long it counts that something was written over somebody else, ms. */
const WINDOW_MS = 3_600_000;
/** How often that may be, within the window: over what he lists, and where he has taken everything out. */
const MOST_WRITES = { overOther: 1, overNothing: 3 } as const;

/** The Service is left to somebody else. */
export interface Contention {
  /** For people; the same as long as it lasts, whatever is listed meanwhile, but for whether an address is reserved, and for what comes where nothing was: whoever answers each write of ours with another address would have us write on. */
  readonly message: string;
  /** What the Service asked of us when it was looked at last: to ask for something else is to ask to be served. */
  readonly asks: string;
}

/** What is remembered of how the ingress of a Service fares. Each is absent as long as there was nothing of it. */
export interface Contended {
  /** Somebody has written over what we had published, and it is not put right yet. */
  readonly ousted?: boolean;
  /** When we wrote over somebody else, ms since the epoch, oldest first; those of long ago may be left out. */
  readonly repairs?: readonly number[];
  readonly contention?: Contention | null;
}

/** The ingress of a Service that wants an address of ours, as it is now. */
export interface Listing {
  /** All that it lists; empty for nothing. */
  readonly text: string;
  /** It was as it should be when it was seen last, and is another one now. Where nothing is known of before: an address is reserved for it, and somebody else wrote what it lists. */
  readonly isChanged: boolean;
  /** Nothing is known of before, and our condition stands. */
  readonly isMarked: boolean;
  /** An address is reserved for it. */
  readonly isReserved: boolean;
  /** Somebody else wrote it, it has no address of ours in it, and the Service asks nothing of us. */
  readonly isForeign: boolean;
  /** What the Service asks of us and of no other, as one text; empty for nothing. */
  readonly asks: string;
  /** The field manager of who wrote it; null where nobody says. */
  readonly by: string | null;
}

const recent = (repairs: readonly number[] = [], at: number): readonly number[] =>
  repairs.filter((each) => each <= at && at - each < WINDOW_MS);

/** With one more write over somebody else, now. */
export const withRepair = ({ repairs }: Contended, at: number): readonly number[] =>
  [...recent(repairs, at), at].slice(-MOST_WRITES.overNothing);

/** We have written over somebody else within the window: who puts ours back for us may take it out again, and each time it would be told anew. */
export const isFought = ({ repairs }: Contended, at: number): boolean => recent(repairs, at).length > 0;

/** Once the Service is served, or is not to be: nothing, but that it was fought for. */
export const settled = ({ ousted, contention }: Contended): Contended => ({
  ...(ousted && { ousted: false }),
  ...(contention && { contention: null }),
});

/** Of another Service of the name: nothing. */
export const forgotten = (before: Contended): Contended => ({ ...settled(before), ...(before.repairs && { repairs: [] }) });

/** What is remembered once the ingress was seen so, while it is not as it should be. */
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
  // An IP may have been deleted by hand, or was being reserved as it began.
  return isReserved ? said.replace(LEFT, LEFT + STAYS) : said;
}
