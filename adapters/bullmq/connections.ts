import type { Redis } from 'ioredis';

/** Ends a connection whatever it is doing. Being asked to disconnect alone, one that is about to connect again does so, for ever: BullMQ asks once. */
export function endForGood(redis: Redis): void {
  redis.options.retryStrategy = () => null;
  // A worker that waits for jobs longer than it meant to ends its connection and, once that has ended, makes another one, closed or not.
  redis.connect = () => Promise.reject(new Error('the connection was closed'));
  // Whoever listened may have gone; without a listener an error is printed.
  redis.on('error', () => undefined);
  // ioredis would keep the process from ending for two seconds, waiting for the end of what has ended.
  if (redis.status !== 'end') redis.disconnect();
}

/** What `make` answers, with the copies of the connection that were made meanwhile: BullMQ copies it for each worker, to block on, and tells nobody. */
export function withCopies<T>(redis: Redis, make: () => T): { readonly made: T; readonly copies: readonly Redis[] } {
  const copies: Redis[] = [];
  const { duplicate } = redis;
  redis.duplicate = (override) => {
    const copy = duplicate.call(redis, override);
    copies.push(copy);
    return copy;
  };
  try {
    return { made: make(), copies };
  } finally {
    redis.duplicate = duplicate;
  }
}
