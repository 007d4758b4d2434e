import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { builtHere, builtRef } from '../tools/build-ref.ts';
import { ROOT } from '../tools/root.mjs';

/** An operator that can be measured: bundled, as its image has it. */
export interface Build {
  /** What the output calls it. */
  readonly name: string;
  /** What is started as a process. */
  readonly entry: string;
  /** Options of Node that its image starts it with. */
  readonly nodeFlags: readonly string[];
  /** Its modules are below it. */
  readonly sources: string;
}

/** This folder as it is now, committed or not. @throws SetupError */
export const buildHere = async (): Promise<Build> => buildIn('this', await builtHere(), ROOT);

/** A commit. @throws SetupError when there is none, or it cannot be built */
export async function buildOf(ref: string): Promise<Build> {
  const { commit, folder, shipped } = await builtRef(ref);
  return buildIn(commit.slice(0, 10), shipped, folder);
}

/** What another entry point belongs to, e.g. that of an installed package; started as this folder's image is. */
export function buildAt(entry: string): Build {
  const real = realpathSync(entry);
  const folder = dirname(dirname(real));
  return { ...buildIn(entry, folder, ROOT), entry: real, sources: folder };
}

const buildIn = (name: string, shipped: string, sources: string): Build => ({
  name,
  entry: join(shipped, 'bin/routedip-operator.mjs'),
  nodeFlags: nodeFlagsOf(join(sources, 'Dockerfile')),
  sources,
});

/** None where there is no image yet. */
const nodeFlagsOf = (file: string): readonly string[] => (existsSync(file) ? nodeFlagsIn(readFileSync(file, 'utf8')) : []);

/** The options that the last ENTRYPOINT of a Dockerfile has between `node` and the script. @throws Error when it starts no node */
export function nodeFlagsIn(dockerfile: string): readonly string[] {
  const words: unknown = JSON.parse(
    /^ENTRYPOINT (\[.*\])$/gm.exec(dockerfile.slice(dockerfile.lastIndexOf('\nENTRYPOINT') + 1))?.[1] ?? 'null',
  );
  if (!Array.isArray(words) || words[0] !== 'node') throw new Error('the Dockerfile has no ENTRYPOINT ["node", ...]');
  return words.slice(1, -1).map(String);
}

/** What git calls the present state, for people. */
export function describeHere(): string {
  const { status, stdout } = spawnSync('git', ['describe', '--always', '--abbrev=10', '--dirty= with changes', '--exclude=*'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : 'not in git';
}
