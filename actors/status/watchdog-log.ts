import type { Finding, ObjectRef } from '../../machines/model/types.ts';
import { type Log, objectName } from '../ports/observers.ts';
import type { Clock } from '../ports/records.ts';

/** Objects logged one by one per minute for each reason; the others share a line. */
const LINES = 5;
const WINDOW_MS = 60_000;

interface Window {
  readonly since: number;
  lines: number;
}

/** Logs objects that are not served: each once for each reason, a thousand of them in one line. */
export class WatchdogLog {
  readonly #clock: Clock;
  readonly #log: Log;
  /** By reason, the objects still to be logged, each with its message. */
  readonly #untold = new Map<string, Map<string, string>>();
  readonly #windows = new Map<string, Window>();
  #served: string[] = [];

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The reason why it is not served has changed; null when it is served. */
  changed(object: Watched, before: Finding | null, after: Finding | null): void {
    const name = objectName(object.ref);
    if (before?.reason === after?.reason) return;
    if (before) this.#untold.get(before.reason)?.delete(name);
    if (after) this.#untold.set(after.reason, (this.#untold.get(after.reason) ?? new Map<string, string>()).set(name, after.message));
    else this.#served.push(name);
  }

  /** Another process is responsible for them, and logs them. */
  forget(): void {
    this.#untold.clear();
    this.#served = [];
  }

  /** Writes what is pending. */
  write(): void {
    for (const [reason, all] of this.#untold) if (all.size > 0 && this.#mayTell(reason)) this.#tell(reason, [...all]);
    if (this.#served.length > 0)
      this.#log.info('objects are served again', { count: this.#served.length, objects: this.#served.slice(0, LINES) });
    this.#served = [];
  }

  #mayTell(reason: string): boolean {
    const now = this.#clock.monotonic();
    const window = this.#windows.get(reason);
    if (window && now - window.since < WINDOW_MS) return window.lines < LINES;
    this.#windows.set(reason, { since: now, lines: 0 });
    return true;
  }

  #tell(reason: string, all: readonly (readonly [name: string, message: string])[]): void {
    this.#untold.delete(reason);
    const window = this.#windows.get(reason);
    const isFew = all.length + (window?.lines ?? 0) <= LINES;
    if (isFew) for (const [name, message] of all) this.#log.warn('an object is not served', { object: name, reason, message });
    else
      this.#log.warn('objects are not served', {
        count: all.length,
        reason,
        message: all[0]?.[1],
        objects: all.slice(0, LINES).map(([name]) => name),
      });
    if (window) window.lines += isFew ? all.length : LINES;
  }
}

/** An object of ours, or a Service that requests an address, as last observed. */
export interface Watched {
  readonly ref: ObjectRef;
  /** Null where the status shows none. */
  readonly generation: number | null;
  readonly deleting: boolean;
}
