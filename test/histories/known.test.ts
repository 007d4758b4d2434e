import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { happens } from './happens.ts';
import type { History } from './steps.ts';

/** Histories that went wrong once, as they were found and shrunk: what was mended stays mended. */
const KNOWN = JSON.parse(readFileSync(new URL('./known.json', import.meta.url), 'utf8')) as readonly {
  readonly name: string;
  readonly history: History;
}[];

describe('what went wrong once', () => {
  test('is written down', () => expect(KNOWN.length).toBeGreaterThan(10));

  test.each(KNOWN)('$name', ({ history }) => happens(history));
});
