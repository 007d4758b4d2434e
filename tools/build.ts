import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
/** Where to: the first argument, else `dist/`. */
const DIST = resolve(process.argv[2] ?? join(ROOT, 'dist'));
/** What the operator reads while it runs, beside its code: it finds each at the same place relative to itself. */
const ASSETS = ['crds/{,legacy/}*.yaml', 'dashboard/*.{html,js,css,svg}', '{actors,adapters}/**/*.{lua,html,css,svg,json}'];

/** Compiles the operator as JavaScript and copies what it reads while it runs. The folder is made anew each time. */
const build = (): number => {
  rmSync(DIST, { recursive: true, force: true });
  const compiled = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json', '--outDir', DIST], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  if (compiled.status !== 0) return 1;
  for (const path of globSync(ASSETS, { cwd: ROOT })) cpSync(join(ROOT, path), join(DIST, path), { recursive: true });
  if (existsSync(join(DIST, 'main.js'))) return 0;
  console.error('main.js is missing: does main.ts exist?');
  return 1;
};

process.exitCode = build();
