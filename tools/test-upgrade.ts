// Plays an upgrade and the way back, with the operator of another commit and the one that is checked out, process beside process:
//
//   npm run test:upgrade -- [--from REF] [--seed N] [--node] [WORD…]
//
// REF is the version that is upgraded from: the last release, or the commit before there was one. N chooses nodes and moments. With
// --node both run as a Deployment on a real node of Kubernetes, from images; IMAGES names a folder that keeps these, as for test:node. What follows goes to vitest. It ends with 2 where nothing
// could be tested: there is no such commit, it cannot be built, there can be no node.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { testBesideNode, whyNoNode } from './beside-node.ts';
import { builtRef } from './build-ref.ts';
import { CommandFailed } from './debian-apt.mjs';
import { handOver, nodeOf } from './hand-over.mjs';
import { archiveVersions } from './image-archives.ts';
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

interface Builds {
  readonly old: Build;
  readonly new: Build;
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
      options: { from: { type: 'string' }, seed: { type: 'string', default: '1' }, node: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    if (!/^\d+$/.test(values.seed)) throw new SetupError(`--seed wants a whole number, not "${values.seed}"`);
    return { from: values.from ?? defaultRef(), seed: values.seed, isNode: values.node, words: positionals };
  } catch (error) {
    if (error instanceof TypeError) throw new SetupError(error.message);
    throw error;
  }
}

async function onNode({ old, new: now }: Builds, words: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const none = whyNoNode();
  if (none !== null) throw new SetupError(none);
  const work = mkdtempSync(join(tmpdir(), 'routedip-images-'));
  try {
    const images = archiveVersions(process.env.IMAGES || join(work, 'archives'), work, ROOT, { old: old.folder, new: now.folder });
    return await testBesideNode(images, words, { ...env, TEST_TARGET: 'upgrade-node' });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const { from, seed, isNode, words } = parse(argv);
  const former = await builtRef(from);
  const builds = { old: { ...former, node: nodeOf(former.folder) }, new: builtHere() };
  const env = { UPGRADE_BUILDS: JSON.stringify(builds), UPGRADE_SEED: seed };
  if (isNode) return await onNode(builds, words, env);
  return await handOver(ROOT, [...VITEST, ...words], { ...env, TEST_TARGET: 'upgrade' });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError || error instanceof CommandFailed)) throw error;
  process.stderr.write(`test:upgrade: ${error.message}${error instanceof CommandFailed ? `\n${error.output.slice(-3000)}` : ''}\n`);
  process.exitCode = 2;
}
