import type { Clock } from '../../actors/ports/records.ts';
import { type Duration, durationOf } from './random.ts';

export interface LateOptions {
  readonly clock: Clock;
  /** Delay of each notification, in order; default 0. */
  readonly watchMs?: Duration;
  readonly random?: () => number;
}

/** Notifies one listener of events in order, each after its delay. */
export const late = <L>({ clock, watchMs = 0, random = Math.random }: LateOptions) => {
  const queue: ((listener: L) => void)[] = [];
  let listener: L | null = null;
  let held = false;
  let due = 0;
  const deliver = (): void => {
    for (; !held && due > 0; due -= 1) {
      const tell = queue.shift();
      if (tell !== undefined && listener !== null) tell(listener);
    }
  };
  const fall = (): void => {
    due += 1;
    deliver();
  };
  return {
    hear: (tell: (listener: L) => void): void => {
      queue.push(tell);
      const ms = durationOf(watchMs, random);
      if (ms > 0) clock.after(ms, fall);
      else queueMicrotask(fall);
    },
    listen: (told: L | null): void => {
      listener = told;
    },
    hold: (): void => {
      held = true;
    },
    resume: (): void => {
      held = false;
      deliver();
    },
  };
};
