import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.ts';
import { installDependencies, npm } from './install.mjs';
import { keptFolder, keyOf } from './kept-folder.ts';
import { ROOT } from './root.mjs';
import { lastLines, SetupError, say } from './setup-error.mjs';

const REFS = join(ROOT, '.cache/refs');
/** What the compiled operator is made of. */
const SOURCES = [
  'main.ts',
  '{composition,machines,actors,adapters,crds,plugin,dashboard,bin}/**',
  'package.json',
  'package-lock.json',
  'tools/{build,bundle}.ts',
];
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** The operator of another commit. */
export interface BuiltRef {
  /** The whole hash. */
  readonly commit: string;
  /** Its files, with `node_modules` as its own lock file has them. */
  readonly folder: string;
  /** Holds `bin/`, `dist/` and `package.json` as its image does: compiled by its own `npm run build`, and no sources. Libraries come from `folder`. */
  readonly shipped: string;
}

/**
 * Checks out, installs and compiles a commit below `.cache/`, unless that was done for it within a week. Safe for several runs at a time.
 * @param ref whatever git takes for a commit
 * @throws SetupError when there is no such commit, or it cannot be built
 */
export async function builtRef(ref: string): Promise<BuiltRef> {
  const commit = commitOf(ref);
  const folder = await keptFolder({ parent: REFS, key: commit, keptMs: WEEK_MS, make: (draft) => made(draft, commit) });
  return { commit, folder, shipped: join(folder, 'shipped') };
}

function commitOf(ref: string): string {
  const { status, stdout, error } = run('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`], ROOT);
  if (error !== null) throw new SetupError(`git could not be started: ${error}`);
  if (status === 0) return stdout.trim();
  throw new SetupError(`There is no commit "${ref}" in ${ROOT}. A shallow clone gets the others by: git fetch --unshallow --tags`);
}

/** @throws SetupError */
function made(draft: string, commit: string): void {
  const short = commit.slice(0, 10);
  say(`building ${short} in ${REFS}; this takes a minute or two, once`);
  try {
    make(draft, commit, short);
  } catch (error) {
    if (error instanceof SetupError) throw error;
    // It has no lock file, or no bin/: a commit from before there was an operator.
    throw new SetupError(`${short} does not build: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

function make(draft: string, commit: string, short: string): void {
  const archive = join(draft, '.archive.tar');
  demand(`${short} cannot be read`, run('git', ['archive', '--format=tar', `--output=${archive}`, commit], ROOT));
  demand(`${short} cannot be unpacked`, run('tar', ['-xf', archive], draft));
  rmSync(archive);
  installDependencies(draft);
  const { command, args } = npm();
  demand(`${short} does not build`, run(command, [...args, 'run', '--silent', 'build'], draft));
  // Beside its sources bin/ would start those.
  const shipped = join(draft, 'shipped');
  mkdirSync(shipped);
  renameSync(join(draft, 'dist'), join(shipped, 'dist'));
  copyUncompiled(draft, shipped);
}

/**
 * The same of the files as they are here now, committed or not: a folder with `bin/`, `dist/` and `package.json`.
 */
export const builtHere = (): Promise<string> =>
  keptFolder({
    parent: join(ROOT, '.cache/shipped'),
    key: keyOf(SOURCES),
    keptMs: WEEK_MS,
    make: async (draft) => {
      await build(join(draft, 'dist'), { withSources: true });
      copyUncompiled(ROOT, draft);
    },
  });

function copyUncompiled(from: string, to: string): void {
  for (const path of ['bin', 'package.json']) cpSync(join(from, path), join(to, path), { recursive: true });
}

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it could not be started. */
  readonly error: string | null;
}

function run(command: string, args: readonly string[], cwd: string): Ran {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return { status, stdout: stdout ?? '', stderr: stderr ?? '', error: error?.message ?? null };
}

/** @throws SetupError unless it went well */
function demand(what: string, { status, stdout, stderr, error }: Ran): void {
  if (status !== 0) throw new SetupError(`${what}:\n${lastLines(`${stdout}${stderr}${error ?? ''}`, 10)}`);
}
