import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { virtualIPsHappen } from './virtual-happens.ts';
import type { VirtualHistory } from './virtual-steps.ts';

/** Histories of VirtualIPs that went wrong once, as they were found and shrunk: what was mended stays mended. */
const KNOWN = JSON.parse(readFileSync(new URL('./virtual-known.json', import.meta.url), 'utf8')) as readonly {
  readonly name: string;
  readonly history: VirtualHistory;
}[];

describe('what went wrong once with VirtualIPs', () => {
  test.each(KNOWN)('$name', async ({ history }) => {
    const { world } = await virtualIPsHappen(history);
    expect(world.k8s.writes.length).toBeGreaterThan(0);
  });
});
