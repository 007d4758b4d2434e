import { describe, expect, test } from 'vitest';
import { domainsOf } from './domains.ts';
import { faultsOf } from './figures.ts';
import { historyOfSeed, seedOf, TOPICS } from './generate.ts';

const MANY = Array.from({ length: 400 }, (_, number) => historyOfSeed(seedOf(1, number)));
const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

describe('histories that are drawn', () => {
  test('are the same for the same seed, whatever was drawn before', () => {
    expect(historyOfSeed(seedOf(1, 7))).toEqual(MANY[7]);
    expect(new Set(MANY.map((history) => JSON.stringify(history))).size).toBe(MANY.length);
  });

  test('are data that can be written down', () => expect(JSON.parse(JSON.stringify(MANY))).toEqual(MANY));

  test('have many steps and faults', () => {
    expect(middle(MANY.map(({ steps }) => steps.length))).toBeGreaterThanOrEqual(15);
    expect(middle(MANY.map(faultsOf))).toBeGreaterThanOrEqual(9);
  });

  test('are mostly about one or two things, and now and then about all', () => {
    const counts = MANY.map((history) => TOPICS.filter((topic) => history[topic] !== undefined).length);
    expect(middle(counts)).toBeLessThanOrEqual(2);
    expect(counts).toContain(TOPICS.length);
  });

  test('have nothing happen where there is nothing', () => {
    for (const history of MANY) {
      const domains = domainsOf(history);
      expect(history.steps.filter((step) => !domains.includes(step.in))).toEqual([]);
    }
  });

  test('are about what is asked for alone', () => {
    const history = historyOfSeed(3, ['pools']);
    expect(TOPICS.filter((topic) => history[topic] !== undefined)).toEqual(['pools']);
  });
});
