import type { ActorId } from '../../machines/model/types.ts';
import { textOf, type VipContext } from '../../machines/vip/decisions.ts';
import type { Log, Observer, SavedTurn } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';
import type { VipSource } from '../ports/vip.ts';
import type { ObservedVips } from './object-cache.ts';

/** A watch that does not show our write within this time is stale, ms. */
const SHOWN_MS = 10_000;

export interface UnshownWritesPorts {
  readonly seen: Pick<ObservedVips, 'services'>;
  readonly source: Pick<VipSource, 'renew'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Renews the watches when they do not show what was published: some API servers (1.20 for one) send nothing more on a watch of Services once its reader was slow for a
 *  moment, without ending it. One pending write at a time is enough. */
export class UnshownWrites implements Observer {
  readonly #ports: UnshownWritesPorts;
  /** Ends the wait for a write to be shown; null without one. */
  #cancel: (() => void) | null = null;

  constructor(ports: UnshownWritesPorts) {
    this.#ports = ports;
  }

  turnSaved({ transitions }: SavedTurn): void {
    for (const { actor, events, after } of transitions) {
      if (this.#cancel) return;
      if (!after || !events.includes('xstate.done.actor.publish')) continue;
      const written = (after.snapshot.context as unknown as VipContext).service;
      const shown = this.#shown(actor);
      if (written && shown !== null && shown !== textOf(written)) this.#expect(actor, shown);
    }
  }

  /** Stops waiting, so that a pending wait does not keep a process from stopping. */
  close(): void {
    this.#cancel?.();
  }

  #expect(actor: ActorId, before: string): void {
    const { clock, log, source } = this.#ports;
    this.#cancel = clock.after(SHOWN_MS, () => {
      this.#cancel = null;
      if (this.#shown(actor) !== before) return;
      log.warn('the watch of Services does not show what was written: it is taken up again', { actor, durationMs: SHOWN_MS });
      source.renew();
    });
  }

  /** What the Service lists, as observed; null when it does not exist. */
  #shown(actor: ActorId): string | null {
    const service = this.#ports.seen.services.get(actor);
    return service ? textOf(service) : null;
  }
}
