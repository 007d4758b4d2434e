// Plays an upgrade and the way back, with the operator of another commit and the one that is checked out, process beside process:
//
//   npm run test:upgrade -- [--from REF] [--seed N] [WORD…]
//
// REF is the version that is upgraded from: the last release, or the commit before there was one. N chooses nodes and moments. What
// follows goes to vitest. It ends with 2 where nothing could be tested: there is no such commit, or it cannot be built.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { builtRef } from './build-ref.ts';
import { handOver, nodeOf } from './hand-over.mjs';
import { ROOT } from './root.mjs';
import { lastLines, SetupError } from './setup-error.mjs';

const VITEST = ['node_modules/vitest/vitest.mjs', 'run'];
/** What is upgraded from where no version was released yet. */
const FIRST = 'b95c4c7';
const HERE = join(ROOT, '.cache/upgrade/here');

/** A version of the operator in the form that its image has. */
interface Build {
  /** Its files, with definitions and manifests. */
  readonly folder: string;
  /** What is shipped of it: compiled, and no sources. */
  readonly shipped: string;
  readonly node: string;
}

/** The last release before what is checked out, or the commit before there was one. */
function defaultRef(): string {
  const { status, stdout } = spawnSync('git', ['describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : FIRST;
}

/** What is checked out here, with what is not committed yet. @throws SetupError */
function builtHere(): Build {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'tools/build.ts')], { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new SetupError(`this version does not build:\n${lastLines(`${stdout}${stderr}`, 10)}`);
  rmSync(HERE, { recursive: true, force: true });
  mkdirSync(HERE, { recursive: true });
  // Not among its sources: bin/ would start those.
  for (const name of ['bin', 'dist', 'package.json']) cpSync(join(ROOT, name), join(HERE, name), { recursive: true });
  return { folder: ROOT, shipped: HERE, node: nodeOf(ROOT) };
}

function parse(argv: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: { from: { type: 'string' }, seed: { type: 'string', default: '1' } },
      allowPositionals: true,
    });
    if (!/^\d+$/.test(values.seed)) throw new SetupError(`--seed wants a whole number, not "${values.seed}"`);
    return { from: values.from ?? defaultRef(), seed: values.seed, words: positionals };
  } catch (error) {
    if (error instanceof TypeError) throw new SetupError(error.message);
    throw error;
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const { from, seed, words } = parse(argv);
  const former = await builtRef(from);
  const builds = { old: { ...former, node: nodeOf(former.folder) }, new: builtHere() };
  return await handOver(ROOT, [...VITEST, ...words], {
    TEST_TARGET: 'upgrade',
    UPGRADE_BUILDS: JSON.stringify(builds),
    UPGRADE_SEED: seed,
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`test:upgrade: ${error.message}\n`);
  process.exitCode = 2;
}
