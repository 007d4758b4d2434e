import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs, FLIPOP_BACKOFF, tempoOf } from '../../../machines/model/backoff.ts';
import type { ErrorKind } from '../../../machines/model/types.ts';
import { failure, SECOND } from '../builders.ts';

const FAST: ErrorKind[] = ['InProgress', 'NodeInUse', 'RateLimited', 'Unavailable'];
const SLOW: ErrorKind[] = ['NotFound', 'Conflict', 'Unauthorized', 'Invalid', 'Unsupported'];

const waits = (kind: ErrorKind, tries: number): number[] =>
  Array.from({ length: tries }, (_, index) => backoffMs(FLIPOP_BACKOFF, failure(kind), index + 1) / SECOND);

describe('the wait after a failure', () => {
  test.each(FAST)('%s mends itself: 1, 1, 5, 5, 10, 10, 10 s, a minute five times, then 5 min for ever', (kind) => {
    expect(tempoOf(kind)).toBe('fast');
    expect(waits(kind, 16)).toEqual([1, 1, 5, 5, 10, 10, 10, 60, 60, 60, 60, 60, 300, 300, 300, 300]);
  });

  test.each(SLOW)('%s wants a person: 1, 5, then 10 min for ever', (kind) => {
    expect(tempoOf(kind)).toBe('slow');
    expect(waits(kind, 5)).toEqual([60, 300, 600, 600, 600]);
  });

  test('for a right is ten seconds each time: nobody tells when it has been given', () => {
    const missing = { ...failure('Unsupported'), reason: 'Forbidden' as const };
    expect([1, 2, 9, 100].map((attempt) => backoffMs(FLIPOP_BACKOFF, missing, attempt))).toEqual([10_000, 10_000, 10_000, 10_000]);
  });

  test('is longer when the provider asks for longer', () => {
    expect(backoffMs(FLIPOP_BACKOFF, failure('RateLimited', { retryAfterMs: 42_000 }), 1)).toBe(42_000);
    expect(backoffMs(FLIPOP_BACKOFF, failure('NotFound', { retryAfterMs: 900_000 }), 9)).toBe(900_000);
  });

  test('is not shorter when the provider asks for less', () => {
    expect(backoffMs(FLIPOP_BACKOFF, failure('RateLimited', { retryAfterMs: 1 }), 7)).toBe(10_000);
    expect(backoffMs(FLIPOP_BACKOFF, failure('RateLimited', { retryAfterMs: 0 }), 1)).toBe(1000);
  });

  test('never shrinks from one failure to the next, and never falls below what was asked for', () => {
    const kind = fc.constantFrom(...FAST, ...SLOW);
    const asked = fc.option(fc.nat(1_000_000));
    fc.assert(
      fc.property(kind, fc.integer({ min: 1, max: 40 }), asked, (of, attempt, retryAfterMs) => {
        const wait = backoffMs(FLIPOP_BACKOFF, failure(of, { retryAfterMs }), attempt);
        expect(wait).toBeGreaterThanOrEqual(retryAfterMs ?? 0);
        expect(wait).toBeLessThanOrEqual(backoffMs(FLIPOP_BACKOFF, failure(of, { retryAfterMs }), attempt + 1));
        expect(wait).toBeGreaterThan(0);
      }),
    );
  });

  test('comes from the tables given', () => {
    const tables = { fast: [7], slow: [8, 9] };
    expect([1, 2, 3].map((attempt) => backoffMs(tables, failure('Unavailable'), attempt))).toEqual([7, 7, 7]);
    expect([1, 2, 3].map((attempt) => backoffMs(tables, failure('Invalid'), attempt))).toEqual([8, 9, 9]);
  });
});
