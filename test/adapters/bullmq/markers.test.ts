import { expect, test } from 'vitest';
import { MarkerWait } from '../../../adapters/bullmq/markers.ts';

const LONG_MS = 3_600_000;
const wait = (): MarkerWait => new MarkerWait('digitalocean', async () => undefined);

test('a wait ends with the marker that it is told of', async () => {
  const waits = wait();
  const next = waits.next(LONG_MS);
  waits.tell(7);
  expect(await next).toBe(7);
});

test('a marker that comes while nobody waits ends the next wait, and of several the earliest', async () => {
  const waits = wait();
  waits.tell(9);
  waits.tell(0);
  waits.tell(12);
  expect(await waits.next(LONG_MS)).toBe(0);
  expect(await waits.next(1)).toBeNull();
});

test('a marker that comes before the wait it follows has gone on is kept for the next', async () => {
  const waits = wait();
  const first = waits.next(LONG_MS);
  // A job that is due later, and at once one that is due now.
  waits.tell(5_000);
  waits.tell(0);
  expect(await first).toBe(5_000);
  expect(await waits.next(LONG_MS)).toBe(0);
});

test('a wait without a marker ends with its time', async () => {
  expect(await wait().next(1)).toBeNull();
});

test('a wait that is interrupted fails as a connection that is closed does, upon which a worker takes no job', async () => {
  const waits = wait();
  const next = waits.next(LONG_MS);
  waits.interrupt();
  await expect(next).rejects.toThrow('Connection is closed.');
});
