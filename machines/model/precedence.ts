/** Which of several objects gets what they all request: an address, or the name of a record set. One rule for all of them. */

/** How strong an object's claim is, the strongest first. `Holds`: the operator's records show that it was given the resource and has not released it. `Bound`: there are no
 *  such records, but its status says so. `Asks`: it waits for it. `Unlistable`: it waits, and is served by Jobs, which cannot list: the resource may be theirs. `Unlisted`: it
 *  waits, and its account does not list the address or cannot be read: naming an address that one does not have must not block others that may have it. `Barred`: its spec is
 *  invalid, or it is being deleted; it keeps what it has and gains nothing. */
export type Standing = 'Holds' | 'Bound' | 'Asks' | 'Unlistable' | 'Unlisted' | 'Barred';

/** The standing of an object that waits for an address, according to what its account lists. */
export type Evidence = Extract<Standing, 'Asks' | 'Unlistable' | 'Unlisted'>;

const ORDER: Readonly<Record<Standing, number>> = { Holds: 0, Bound: 1, Asks: 2, Unlistable: 3, Unlisted: 4, Barred: 5 };

export interface Aged {
  /** ms since the epoch. */
  readonly since: number;
  /** Decides between two of the same age: the one that sorts first wins. */
  readonly tie: string;
}

export interface Claim extends Aged {
  readonly standing: Standing;
}

export const byAge = (a: Aged, b: Aged): number => a.since - b.since || (a.tie < b.tie ? -1 : Number(a.tie > b.tie));

/** A holder keeps what it has; among objects that hold nothing of it the oldest comes first. */
export const byPrecedence = (a: Claim, b: Claim): number => ORDER[a.standing] - ORDER[b.standing] || byAge(a, b);
