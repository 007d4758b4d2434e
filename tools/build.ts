import { cpSync, globSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundle } from './bundle.ts';
import { ROOT } from './root.mjs';

/** What the operator reads while it runs: it finds each at the same place relative to itself. */
const ASSETS = ['crds/{,legacy/}*.yaml', 'dashboard/*.{html,js,css,svg}'];

/** Makes the folder anew, with all that a package or an image needs of the operator besides `bin/` and its libraries that stay apart. */
export async function build(folder: string, { withSources = false } = {}): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const terms = await bundle({ folder, withSources });
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES'), terms);
  for (const path of globSync(ASSETS, { cwd: ROOT })) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
}

// Where to: the first argument, else `dist/`.
if (import.meta.main) await build(resolve(process.argv[2] ?? join(ROOT, 'dist')));
