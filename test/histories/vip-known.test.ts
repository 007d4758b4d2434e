import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { vipsHappen } from './vip-happens.ts';
import type { VipHistory } from './vip-steps.ts';

/** Histories of Services that went wrong once, as they were found and shrunk: what was mended stays mended. */
const KNOWN = JSON.parse(readFileSync(new URL('./vip-known.json', import.meta.url), 'utf8')) as readonly {
  readonly name: string;
  readonly history: VipHistory;
}[];

describe('what went wrong once with Services', () => {
  test('is written down', () => expect(KNOWN.length).toBeGreaterThan(5));

  test.each(KNOWN)('$name', async ({ history }) => {
    const { world } = await vipsHappen(history);
    expect(world.k8s.writes.length).toBeGreaterThan(0);
  });
});
