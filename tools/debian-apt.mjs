import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { say } from './setup-error.mjs';

/** A command of the distribution failed; `output` is what it said. */
export class CommandFailed extends Error {
  /**
   * @param {string} command
   * @param {string} output
   */
  constructor(command, output) {
    super(`${command} failed`);
    this.output = output;
  }
}

/**
 * Runs a command and answers what it printed.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 * @throws CommandFailed
 */
export const run = (command, args, { cwd, env } = {}) => {
  const done = spawnSync(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    encoding: 'utf8',
    env: { ...process.env, ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.status === 0) return done.stdout;
  throw new CommandFailed(
    `${command} ${args.slice(0, 12).join(' ')}`,
    `${done.stdout ?? ''}${done.stderr ?? ''}${done.error?.message ?? ''}`,
  );
};

/**
 * The libraries that the packages of `descriptions` depend on, the first of each alternative.
 * @param {string} descriptions As `apt-cache show` prints them.
 */
const librariesIn = (descriptions) =>
  [...descriptions.matchAll(/^Depends: (.*)$/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((each) => each.trim().split(/[\s:|(]/)[0] ?? '')
    .filter((name) => /^(lib|lua)/.test(name));

/**
 * apt, with lists and downloads of its own below `state` when the system has no lists or they are too old: so it works without root and changes
 * nothing on the system.
 * @param {string} state
 */
export const aptIn = (state) => {
  // As root apt would fetch as user _apt, who may not write into a folder of the project.
  const common = ['-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache=${join(state, 'cache')}`];
  let lists = /** @type {string[]} */ ([]);
  const options = () => [...common, ...lists];
  const hasLists = () =>
    run('apt-get', [...options(), 'indextargets', '--format', '$(FILENAME)', 'Created-By: Packages'])
      .split('\n')
      .some((file) => existsSync(file));
  const update = () => {
    lists = ['-o', `Dir::State::Lists=${join(state, 'lists')}`];
    mkdirSync(join(state, 'lists/partial'), { recursive: true });
    say(`reading the package lists of this distribution (apt-get update, into ${state})`);
    run('apt-get', [...options(), '-qq', 'update']);
    if (!hasLists()) throw new CommandFailed('apt-get update', 'Failed to fetch any package list');
  };
  const show = (/** @type {readonly string[]} */ names) => run('apt-cache', [...options(), 'show', '--no-all-versions', ...names]);
  mkdirSync(join(state, 'cache/archives/partial'), { recursive: true });
  if (!hasLists()) update();
  return {
    update,
    /** @param {readonly string[]} names */
    has: (names) => {
      try {
        return names.every((name) => show([name]).includes('Package: '));
      } catch (error) {
        if (error instanceof CommandFailed) return false;
        throw error;
      }
    },
    /**
     * The libraries that these packages depend on themselves.
     * @param {readonly string[]} names
     */
    libraries: (names) => (names.length === 0 ? [] : [...new Set(librariesIn(show(names)))]),
    /** The packages that the system has. */
    installed: () => new Set([...run('dpkg', ['--get-selections']).matchAll(/^([^\s:]+)\S*\s+install$/gm)].map(([, name]) => name)),
    /**
     * @param {readonly string[]} names
     * @param {string} cwd
     */
    download: (names, cwd) => void run('apt-get', [...options(), '-qq', 'download', ...names], { cwd }),
  };
};

/** @typedef {ReturnType<typeof aptIn>} Apt */
