import type { Clock } from '../../actors/ports.ts';
import type { RedisLink } from './link.ts';
import { runIdOf } from './server-info.ts';

export interface RedisWatchListener {
  /** The server answers no more. */
  away(reason: string): void;
  /** It answers again. When `serverChanged` is due too, that was told before. */
  back(): void;
  /** Another server answers, or the same one was started again: it may have lost writes that were acknowledged. */
  serverChanged(runId: string): void;
}

export interface RedisWatchOptions {
  readonly link: RedisLink;
  readonly clock: Clock;
  readonly listener: RedisWatchListener;
  /** How often the server is asked, ms. Default 1000. */
  readonly intervalMs?: number;
  /** The identity that is known already, from `RecordStore.state()`; without it the first answer counts as known. */
  readonly runId?: string;
}

export interface RedisWatch {
  /** False from `away` until `back`. */
  isThere(): boolean;
  stop(): void;
}

/** Asks the server for its identity all the time, and at once when the connection changes: one small command per interval. */
export const redisWatch = ({ link, clock, listener, intervalMs = 1_000, runId }: RedisWatchOptions): RedisWatch => {
  let known = runId ?? null;
  let there = true;
  let stopped = false;
  let asking = false;
  let askAgain = false;
  let cancel = (): void => undefined;

  const answered = (identity: string): void => {
    const changed = known !== null && known !== identity;
    known = identity;
    if (changed) listener.serverChanged(identity);
    if (!there) {
      there = true;
      listener.back();
    }
  };
  const failed = (error: unknown): void => {
    if (!there) return;
    there = false;
    listener.away(error instanceof Error ? error.message : String(error));
  };
  const ask = async (): Promise<void> => {
    cancel();
    if (asking) {
      askAgain = true;
      return;
    }
    asking = true;
    try {
      const identity = runIdOf(await link.call('ask for its identity', (redis) => redis.info('server')));
      if (!stopped) answered(identity);
    } catch (error) {
      if (!stopped) failed(error);
    }
    asking = false;
    if (stopped) return;
    const soon = askAgain;
    askAgain = false;
    cancel = clock.after(soon ? 0 : intervalMs, askNow);
  };
  // What `ask` meets it tells the listener; it never rejects.
  const askNow = (): void => void ask();
  const endChanges = link.onChange(askNow);
  askNow();

  return {
    isThere: () => there,
    stop: () => {
      stopped = true;
      cancel();
      endChanges();
    },
  };
};
