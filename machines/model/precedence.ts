/** Who has what several objects ask for: an address, the name of a record set. One rule for all of them. */

/** How an object stands to what it asks for, the strongest first. `Holds`: the operator's records show that it was given it and has not let it go. `Bound`: there
 *  are no such records of it, and its status says so. `Asks`: it waits for it. `Unlistable`: the same, and Jobs serve it, which list nothing: it may be
 *  theirs. `Unlisted`: the same, and its account does not list the address, or cannot be read: to name what one has not got keeps it from nobody who may have it. `Barred`: its
 *  spec is not valid, or it is being deleted; it keeps what it has and gains nothing. */
export type Standing = 'Holds' | 'Bound' | 'Asks' | 'Unlistable' | 'Unlisted' | 'Barred';

/** How one stands to an address that it waits for, by what its account lists. */
export type Evidence = Extract<Standing, 'Asks' | 'Unlistable' | 'Unlisted'>;

const ORDER: Readonly<Record<Standing, number>> = { Holds: 0, Bound: 1, Asks: 2, Unlistable: 3, Unlisted: 4, Barred: 5 };

export interface Aged {
  /** ms since the epoch. */
  readonly since: number;
  /** Decides between two of the same age: the one that sorts first comes first. */
  readonly tie: string;
}

export interface Claim extends Aged {
  readonly standing: Standing;
}

export const byAge = (a: Aged, b: Aged): number => a.since - b.since || (a.tie < b.tie ? -1 : Number(a.tie > b.tie));

/** Whoever has it keeps it; among those who have nothing of it the oldest comes first. */
export const byPrecedence = (a: Claim, b: Claim): number => ORDER[a.standing] - ORDER[b.standing] || byAge(a, b);
