import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { builtHere } from '../../tools/build-ref.ts';
import { BUNDLE } from './entry.ts';

/** Run by vitest once, before the first file that starts operators. @returns nothing to tear down: the next run finds the same bundle */
export default async function setup(_: TestProject): Promise<void> {
  process.env[BUNDLE] ??= join(await builtHere(), 'bin');
}
