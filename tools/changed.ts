import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import type { VCSProvider } from 'vitest/node';
import { SetupError } from './setup-error.mjs';

export interface Source {
  /** From the root of the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const CODE = /\.(ts|mts|mjs|js)$/;
const IMPORTS = /\b(?:from|import|import\()\s*'(?<name>[^'\n]*)'/g;
/** What the operator and the plugin are made of, which tests start as processes and do not import. */
const OPERATOR = /^(main\.ts$|(composition|machines|actors|adapters|crds|plugin|dashboard|bin)\/)/;
/** What starts them, and how it says so. */
const STARTERS = /^(demo|tools|bench|test)\//;
const STARTS = /\bbin\/(routedip-operator|kubectl-routedip)\b|\/entry\.ts'/;
/** Folders whose programs tests start by their path. */
const PROGRAMS = /^(simulator|demo|tools|bench|test)\//;
/** Looks at every file of the project: what imports it is about all of them. */
const LOOKS_AT_ALL = 'test/support/files.ts';
/** What vitest itself loads before any test: all tests run when that is changed. */
const BEFORE_ALL = ['vitest.config.ts', 'test/support/bundled-operator.ts', 'tools/closing-line.ts'];

const quoted = (text: string): string => RegExp.escape(text);

/** Whether a file names `path` other than by importing it: with its folder, by a folder that it lies in, or alone in quotes by a file beside it. */
function naming(path: string): (source: Source) => boolean {
  const folders = posix.dirname(path).split('/');
  const name = quoted(posix.basename(path));
  const isOfRoot = folders[0] === '.';
  const within = folders.map((_, depth) => {
    const folder = quoted(folders.slice(0, depth + 1).join('/'));
    // A folder of the root has the name of a thing: only a path is meant.
    return depth === 0 ? `(?:\\.\\./|\\b(?:ROOT|root), ['"\`])${folder}/?['"\`]` : `['"\`/]${folder}/?['"\`]`;
  });
  const afar = new RegExp(isOfRoot ? `['"\`/]${name}['"\`]` : [`\\b${quoted(folders.at(-1) ?? '')}/${name}\\b`, ...within].join('|'));
  const near = new RegExp(`['"\`]${name}['"\`]`);
  return (source) => afar.test(source.text) || (posix.dirname(source.path) === posix.dirname(path) && near.test(source.text));
}

/** By path, what each of `sources` imports of the project. */
const importsOf = (sources: readonly Source[]): ReadonlyMap<string, readonly string[]> =>
  new Map(
    sources.map(({ path, text }) => [
      path,
      [...text.matchAll(IMPORTS)].flatMap(({ groups: { name = '' } = {} }) =>
        name.startsWith('.') ? [posix.join(posix.dirname(path), name)] : [],
      ),
    ]),
  );

/** `paths`, and what can be reached from them. */
function reachedFrom(paths: readonly string[], next: (path: string) => readonly string[]): ReadonlySet<string> {
  const reached = new Set(paths);
  for (const path of reached) for (const each of next(path)) reached.add(each);
  return reached;
}

/**
 * What counts as changed when `changed` has: that itself, and each source that starts it as a process or reads it as a file. Vitest adds who imports them.
 * It says rather too much than too little.
 */
export function countsAsChanged(changed: readonly string[], sources: readonly Source[]): readonly string[] {
  if (changed.length === 0) return [];
  const imports = importsOf(sources);
  const beforeAll = reachedFrom(BEFORE_ALL, (path) => imports.get(path) ?? []);
  const importers = Map.groupBy(
    [...imports].flatMap(([path, targets]) => targets.map((target) => ({ path, target }))),
    ({ target }) => target,
  );
  const isProgram = (path: string): boolean => PROGRAMS.test(path) && CODE.test(path) && !path.endsWith('.test.ts');
  const programs = reachedFrom(changed.filter(isProgram), (path) =>
    (importers.get(path) ?? []).map((importer) => importer.path).filter(isProgram),
  );
  const names = [...new Set([...changed, ...programs])].map(naming);
  const isOfOperator = changed.some((path) => OPERATOR.test(path));
  const reached = sources.filter(({ path, text }) => {
    if (beforeAll.has(path)) return false;
    if (isOfOperator && STARTERS.test(path) && STARTS.test(text)) return true;
    const said = { path, text: text.replaceAll(IMPORTS, '') };
    return names.some((isNamedIn) => isNamedIn(said));
  });
  return [...new Set([...changed, LOOKS_AT_ALL, ...reached.map(({ path }) => path)])];
}

function git(root: string, ...words: string[]): readonly string[] {
  const { status, stdout, stderr, error } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new SetupError(`--changed asks git; git ${words[0]} failed: ${error?.message ?? stderr.trim()}`);
  return stdout.split('\0').filter((path) => path !== '');
}

/** What is not committed, and with a ref also what was committed since it left that ref. */
function changedIn(root: string, since: string | boolean | undefined): readonly string[] {
  if (typeof since === 'string' && spawnSync('git', ['rev-parse', '--verify', '--quiet', `${since}^{commit}`], { cwd: root }).status !== 0)
    throw new SetupError(
      `there is no commit "${since}". The word after --changed is one; to name a test, too: npm test -- --changed=HEAD ${since}`,
    );
  const lists = [
    git(root, 'diff', '--name-only', '--no-renames', '-z', 'HEAD'),
    git(root, 'ls-files', '-z', '--others', '--exclude-standard'),
    typeof since === 'string' ? git(root, 'diff', '--name-only', '--no-renames', '-z', `${since}...HEAD`) : [],
  ];
  return [...new Set(lists.flat())].sort();
}

const nothing = (since: string | boolean | undefined): string =>
  typeof since === 'string'
    ? `nothing has changed since ${since}`
    : 'nothing has changed: all is committed. To compare with a commit, name it: npm test -- --changed=HEAD~1';

/** Asked by vitest when it is called with `--changed`. */
export const changes: VCSProvider = {
  async findChangedFiles({ root, changedSince }) {
    const changed = changedIn(root, changedSince);
    console.log(changed.length === 0 ? nothing(changedSince) : `changed: ${changed.join(', ')}`);
    const sources = git(root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').filter(
      (path) => CODE.test(path) && existsSync(posix.join(root, path)),
    );
    const read = sources.map((path) => ({ path, text: readFileSync(posix.join(root, path), 'utf8') }));
    return countsAsChanged(changed, read).map((path) => posix.join(root, path));
  },
};
