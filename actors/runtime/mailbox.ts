import type { Envelope } from './turn.ts';

/** An event that waits for a turn of its cell, with the callbacks of its sender. */
export interface Pending {
  readonly envelope: Envelope;
  readonly handled: () => void;
  readonly refused: (error: Error) => void;
}

/** The events that wait for a turn of a cell. Facts go before everything else, in their order, so that decisions are made on what is known. */
export class Mailbox {
  #waiting: Pending[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** A fact about the whole replaces an unhandled one of its kind. Claims go before everything but a load: what waits behind earlier claims was postponed because of them,
   *  and an address that changes pools comes with the claims that it frees. */
  put(pending: Pending): void {
    const { to, event } = pending.envelope;
    if (!WHOLE_FACTS.has(event.type)) {
      // Thousands of actors may claim in one firewall or zone at once: avoid copying the list for each.
      this.#waiting.push(pending);
      return;
    }
    this.#drop(({ envelope }) => envelope.to === to && envelope.event.type === event.type);
    const comesAfter = event.type === 'CLAIMS_OBSERVED' ? isLoad : isFact;
    this.#waiting.splice(this.#waiting.findLastIndex(comesAfter) + 1, 0, pending);
  }

  /** Removes and returns the first ones. */
  take(count: number): readonly Pending[] {
    return this.#waiting.splice(0, count);
  }

  /** Puts back what a turn without effect has taken. */
  putBack(taken: readonly Pending[]): void {
    this.#waiting = [...taken, ...this.#waiting];
  }

  /** The turn that took these failed because it did not know this fact: the fact goes before them, but behind the event that begins its actor. */
  putBackBehind(fact: Pending, taken: readonly Pending[]): void {
    const came = [...this.#waiting];
    this.putBack(taken);
    // Older claims would contradict this one. Of two facts of a kind, the older one must not cost an address its node.
    this.#drop(({ envelope }) => envelope.event.type === fact.envelope.event.type);
    this.#drop((older) => taken.includes(older) && came.some((newer) => isSuperseded(older.envelope, newer.envelope)));
    const [facts, others] = parted(this.#waiting, isFact);
    const begins = facts.findLastIndex(({ envelope: { to, begin } }) => begin !== undefined && to === fact.envelope.to);
    this.#waiting = [...facts.toSpliced(begins + 1, 0, fact), ...others];
  }

  #drop(isOutdated: (pending: Pending) => boolean): void {
    const [outdated, others] = parted(this.#waiting, isOutdated);
    this.#waiting = [...others];
    for (const { handled } of outdated) handled();
  }
}

const parted = <T>(all: readonly T[], isFirst: (each: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(isFirst),
  all.filter((each) => !isFirst(each)),
];

/** Facts that replace each other: only the newest counts. */
const WHOLE_FACTS: ReadonlySet<string> = new Set([
  'CLUSTER_OBSERVED',
  'SPEC_OBSERVED',
  'PROVIDER_OBSERVED',
  'CLAIMS_OBSERVED',
  'SERVICE_OBSERVED',
]);

const isLoad = ({ envelope: { event, begin } }: Pending): boolean => begin !== undefined || event.type === 'RESUME';

/** Describes the world or begins an actor: everything but outcomes, timers and sends. */
const isFact = (pending: Pending): boolean => isLoad(pending) || pending.envelope.event.type.endsWith('_OBSERVED');

/** Whether `newer` makes `older` obsolete for the same actor. */
const isSuperseded = (older: Envelope, newer: Envelope): boolean =>
  older.to === newer.to && older.event.type === newer.event.type && WHOLE_FACTS.has(older.event.type);
