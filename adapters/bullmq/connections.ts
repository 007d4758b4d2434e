import type { Redis } from 'ioredis';

/** Ends a connection whatever it is doing. Being asked to disconnect alone, one that is about to connect again does so, for ever: BullMQ asks once. */
export function endForGood(redis: Redis): void {
  redis.options.retryStrategy = () => null;
  // Whoever listened may have gone; without a listener an error is printed.
  redis.on('error', () => undefined);
  // ioredis would keep the process from ending for two seconds, waiting for the end of what has ended.
  if (redis.status !== 'end') redis.disconnect();
}
