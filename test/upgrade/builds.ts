import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from '../support/operator.ts';
import type { Version } from './history.ts';

/** A version as tools/test-upgrade.ts has built it. */
interface Build {
  readonly folder: string;
  readonly shipped: string;
  readonly node: string;
  readonly commit?: string;
}

export interface Builds {
  readonly program: Readonly<Record<Version, Program>>;
  /** Where its files are. */
  readonly folder: Readonly<Record<Version, string>>;
  /** Paths of the definitions that each installs. */
  readonly crds: Readonly<Record<Version, readonly string[]>>;
  /** The commit that is upgraded from. */
  readonly commit: string;
  readonly seed: number;
}

/** @throws Error when the suite was not started by its script */
export function buildsOf({ UPGRADE_BUILDS, UPGRADE_SEED }: NodeJS.ProcessEnv): Builds {
  if (!UPGRADE_BUILDS) throw new Error('these tests need the version that is upgraded from: npm run test:upgrade');
  const builds = JSON.parse(UPGRADE_BUILDS) as Record<Version, Build>;
  return {
    program: { old: programOf(builds.old), new: programOf(builds.new) },
    folder: { old: builds.old.folder, new: builds.new.folder },
    crds: { old: crdsOf(builds.old), new: crdsOf(builds.new) },
    commit: builds.old.commit ?? '',
    seed: Number(UPGRADE_SEED),
  };
}

function programOf({ shipped, node }: Build): Program {
  const entry = join(shipped, 'bin/routedip-operator.mjs');
  const { status, stdout } = spawnSync(node, [entry, 'run', '--help'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${entry} run --help ended with ${status}`);
  const flags = new Set(stdout.match(/^ +(--[\w-]+)/gm)?.map((flag) => flag.trim()));
  return { node, entry, knows: (flag) => flags.has(flag) };
}

const crdsOf = ({ folder }: Build): readonly string[] => globSync('crds/*.yaml', { cwd: folder }).map((path) => join(folder, path));
