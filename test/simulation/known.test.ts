import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { brokenByAttack } from '../hostile/twin.ts';
import { domainsOf } from './domains.ts';
import type { History } from './history.ts';

/** Histories that went wrong once, as they were found and shrunk: what was mended stays mended. */
const KNOWN = JSON.parse(readFileSync(new URL('./known.json', import.meta.url), 'utf8')) as readonly {
  readonly name: string;
  readonly history: History;
}[];

describe('what went wrong once', () => {
  test('is written down, each under a name of its own', () => {
    expect(KNOWN.length).toBeGreaterThan(30);
    expect(new Set(KNOWN.map(({ name }) => name)).size).toBe(KNOWN.length);
  });

  test.each(KNOWN)('$name', async ({ history }) => {
    const domains = domainsOf(history);
    expect(history.steps.filter((step) => !domains.includes(step.in))).toEqual([]);
    expect(await brokenByAttack(history)).toEqual([]);
  });
});
