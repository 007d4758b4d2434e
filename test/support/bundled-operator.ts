import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundled } from '../../tools/bundle.ts';
import { BUNDLE } from './entry.ts';

/** Run by vitest once, before the first file that starts operators. What it and they have compiled is kept beside the bundle, so that each that starts later need
 *  not compile it again. @returns nothing to tear down: the next run finds the same bundle */
export default async function setup(_: TestProject): Promise<void> {
  const folder = await bundled();
  process.env[BUNDLE] ??= join(folder, 'bin');
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled');
}
