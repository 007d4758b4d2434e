import type { Redis } from 'ioredis';

/** Ends a connection in any state. `disconnect` alone would not stop one that is about to reconnect, and BullMQ calls it only once. */
export function endForGood(redis: Redis): void {
  redis.options.retryStrategy = () => null;
  // Other listeners may have been removed; without one an error is printed.
  redis.on('error', () => undefined);
  // ioredis would keep the process alive for two seconds, waiting for the end of an ended connection.
  if (redis.status !== 'end') redis.disconnect();
}
