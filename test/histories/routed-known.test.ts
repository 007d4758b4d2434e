import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { routedHappens } from './routed-happens.ts';
import type { RoutedHistory } from './routed-steps.ts';

/** Histories of RoutedIPs that went wrong once, as they were found and shrunk: what was mended stays mended. */
const KNOWN = JSON.parse(readFileSync(new URL('./routed-known.json', import.meta.url), 'utf8')) as readonly {
  readonly name: string;
  readonly history: RoutedHistory;
}[];

describe('what went wrong once with RoutedIPs', () => {
  test('is written down', () => expect(KNOWN.length).toBeGreaterThan(1));

  test.each(KNOWN)('$name', ({ history }) => routedHappens(history));
});
