import type { Envelope } from './turn.ts';

/** An event that waits for a turn of its cell, with who waits for that. */
export interface Pending {
  readonly envelope: Envelope;
  readonly handled: () => void;
  readonly refused: (error: Error) => void;
}

/** The events that wait for a turn of a cell. Facts stand before everything else, in their order: what is decided is decided on what is known. */
export class Mailbox {
  #waiting: Pending[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** A fact about the whole replaces one of its kind that nobody has heard yet. Claims come first of all but a load: what waits behind former ones was put off because
   *  of them, and an address that changes pools comes with the claims that it frees. */
  put(pending: Pending): void {
    const { to, event } = pending.envelope;
    if (!WHOLE_FACTS.has(event.type)) {
      // Thousands may claim in one firewall or zone at once: nothing is copied for each.
      this.#waiting.push(pending);
      return;
    }
    this.#drop(({ envelope }) => envelope.to === to && envelope.event.type === event.type);
    const comesAfter = event.type === 'CLAIMS_OBSERVED' ? isLoad : isFact;
    this.#waiting.splice(this.#waiting.findLastIndex(comesAfter) + 1, 0, pending);
  }

  /** The first of them, which are no longer in it then. */
  take(count: number): readonly Pending[] {
    return this.#waiting.splice(0, count);
  }

  /** Nothing came of the turn that heard them. */
  putBack(taken: readonly Pending[]): void {
    this.#waiting = [...taken, ...this.#waiting];
  }

  /** Nothing came of the turn that heard them, since it did not know this fact: it stands before them, and behind the beginning of whom it is for. */
  putBackBehind(fact: Pending, taken: readonly Pending[]): void {
    const came = [...this.#waiting];
    this.putBack(taken);
    // Older ones would say the contrary; of two facts of a kind the older one must not cost an address its node.
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

/** Says how the world is, or begins an actor: everything that is no outcome, timer or send. */
const isFact = (pending: Pending): boolean => isLoad(pending) || pending.envelope.event.type.endsWith('_OBSERVED');

/** Whether `newer` says all that `older` says of the same actor. */
const isSuperseded = (older: Envelope, newer: Envelope): boolean =>
  older.to === newer.to && older.event.type === newer.event.type && WHOLE_FACTS.has(older.event.type);
