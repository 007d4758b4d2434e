import type { ActorId, Finding } from '../../machines/model/types.ts';
import type { Log, SetAside } from '../ports/observers.ts';
import { claimFence, type Envelope } from './turn.ts';

/** Pauses of a cell whose turns fail, ms; the last one, a slow pace, repeats. */
const PAUSES_MS = [100, 1_000, 5_000, 30_000] as const;

interface Failing {
  readonly at: 'save' | 'turn';
  readonly error: string;
  readonly turns: number;
}

/** Tracks what is wrong with the turns of one cell. Failed turns are retried with growing pauses; a set-aside event is remembered until one of its kind is handled. */
export class Ailment {
  readonly #cell: ActorId;
  readonly #log: Log;
  #failing: Failing | null = null;
  /** By actor and type of the event. */
  readonly #setAside = new Map<string, { readonly finding: Finding; readonly sender: ActorId | null }>();

  constructor(cell: ActorId, log: Log) {
    this.#cell = cell;
    this.#log = log;
  }

  /** How long to wait before the next turn, ms; 0 unless the last one failed. */
  get pauseMs(): number {
    return this.#failing ? (PAUSES_MS[Math.min(this.#failing.turns, PAUSES_MS.length) - 1] ?? 0) : 0;
  }

  /** The stage at which its turns fail, once they are retried slowly; null otherwise. */
  get failing(): Failing['at'] | null {
    return this.#failing && this.#isSlow ? this.#failing.at : null;
  }

  /** For users; null for nothing. */
  get finding(): Finding | null {
    if (this.#failing && this.#isSlow) return { reason: 'TurnFailed', message: messageOf(this.#failing) };
    const [first] = this.#setAside.values();
    return first?.finding ?? null;
  }

  /** The actors whose sends were set aside. */
  get unheardOf(): readonly ActorId[] {
    return [...this.#setAside.values()].flatMap(({ sender }) => sender ?? []);
  }

  failed(at: Failing['at'], thrown: unknown): void {
    const [cell, error, former] = [this.#cell, String(thrown), this.#failing];
    const turns = (former?.turns ?? 0) + 1;
    this.#failing = { at, error, turns };
    const stack = thrown instanceof Error ? thrown.stack : undefined;
    if (former?.error !== error) this.#log.error('a turn failed', { cell, reason: at, error, stack });
    if (turns === PAUSES_MS.length)
      this.#log.error('a cell whose turns fail is tried at a slow pace from now on', { cell, reason: at, error });
  }

  succeeded(): void {
    if (this.#failing && this.#isSlow)
      this.#log.info('a cell whose turns failed goes on', { cell: this.#cell, count: this.#failing.turns });
    this.#failing = null;
  }

  setAside(envelope: Envelope, thrown: unknown): void {
    const { to: actor, event } = envelope;
    const [error, stack] = [String(thrown), thrown instanceof Error ? thrown.stack : undefined];
    this.#log.error('an event was set aside: its handling threw', { actor, event: event.type, error, stack });
    const message = `${event.type} could not be handled by ${actor} and was set aside, which is a defect: ${error}`;
    const finding = { reason: 'EventSetAside', message };
    this.#setAside.set(keyOf(envelope), { finding, sender: envelope.sender?.actor ?? null });
  }

  /** An event of this kind was handled, or is about to be set aside again. */
  handled(envelope: Envelope): void {
    this.#setAside.delete(keyOf(envelope));
  }

  get #isSlow(): boolean {
    return (this.#failing?.turns ?? 0) >= PAUSES_MS.length;
  }
}

/** The actor and the command that it waits for without result because the envelope was set aside. */
export function awaitedBy({ to, event, fence = claimFence(event), sender }: Envelope): Pick<SetAside, 'awaited'> {
  if (fence) return { awaited: { actor: to, ...fence } };
  const { type, claimId } = event;
  return type === 'CLAIM' && sender && typeof claimId === 'string'
    ? { awaited: { actor: sender.actor, key: 'claim', commandId: claimId } }
    : {};
}

const keyOf = ({ to, event }: Envelope): string => `${to} ${event.type}`;

const EVERY_S = PAUSES_MS[3] / 1000;

const messageOf = ({ at, error }: Failing): string => {
  const what = at === 'save' ? 'what is decided cannot be saved' : 'what happens cannot be handled, which is a defect';
  return `${what}, and is tried again every ${EVERY_S} s: ${error}`;
};
