import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { adviceFor, lastLines, say } from './setup-error.mjs';

/** The server and the package that holds its binary (Debian splits them); the first pair that the distribution has is taken. */
const PACKAGES = [
  ['redis-server', 'redis-tools'],
  ['valkey-server', 'valkey-tools'],
];
/** How deep libraries of libraries are followed: deeper than any server here needs. */
const LEVELS = 4;

/** A command of the distribution failed; `output` is what it said. */
class CommandFailed extends Error {
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
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} [options]
 */
const run = (command, args, { cwd, env } = {}) => {
  const done = spawnSync(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    encoding: 'utf8',
    env: { ...process.env, ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.status !== 0)
    throw new CommandFailed(`${command} ${args.join(' ')}`, `${done.stdout ?? ''}${done.stderr ?? ''}${done.error?.message ?? ''}`);
  return done.stdout;
};

/** @param {string} command */
const exists = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).error === undefined;

/**
 * The folders below `folder` that hold shared libraries, as LD_LIBRARY_PATH wants them.
 * @param {string} folder
 */
export const libraryPath = (folder) =>
  ['lib', 'usr/lib']
    .map((name) => join(folder, name))
    .filter((parent) => existsSync(parent))
    .flatMap((parent) => [parent, ...readdirSync(parent).map((name) => join(parent, name))])
    .filter((each) => holdsLibraries(each))
    .join(':');

/** @param {string} folder */
const holdsLibraries = (folder) => {
  try {
    return readdirSync(folder).some((name) => name.includes('.so'));
  } catch {
    return false; // A file beside the folders of the architectures.
  }
};

/**
 * apt, with its own lists below `state` when the system has none or they are too old; so it works without root and changes no list of the system.
 * @param {string} state
 */
const aptIn = (state) => {
  // As root apt would fetch as user _apt, who may not write into a folder of the project.
  const common = ['-o', 'APT::Sandbox::User=root', '-o', `Dir::Cache=${join(state, 'cache')}`];
  let lists = /** @type {string[]} */ ([]);
  const indexFiles = () =>
    run('apt-get', [...common, ...lists, 'indextargets', '--format', '$(FILENAME)', 'Created-By: Packages']).split('\n');
  const update = () => {
    lists = ['-o', `Dir::State::Lists=${join(state, 'lists')}`];
    mkdirSync(join(state, 'lists/partial'), { recursive: true });
    say(`reading the package lists of this distribution (apt-get update, into ${state})`);
    run('apt-get', [...common, ...lists, '-qq', 'update']);
    if (!indexFiles().some((file) => existsSync(file))) throw new CommandFailed('apt-get update', 'Failed to fetch any package list');
  };
  mkdirSync(join(state, 'cache/archives/partial'), { recursive: true });
  if (!indexFiles().some((file) => existsSync(file))) update();
  return {
    update,
    /** @param {string} name */
    show: (name) => run('apt-cache', [...common, ...lists, 'show', '--no-all-versions', name]),
    /**
     * @param {readonly string[]} names
     * @param {string} cwd
     */
    download: (names, cwd) => run('apt-get', [...common, ...lists, '-qq', 'download', ...names], { cwd }),
  };
};

/** @typedef {ReturnType<typeof aptIn>} Apt */

/**
 * The packages that `name` depends on, the first of each alternative.
 * @param {Apt} apt
 * @param {string} name
 */
const dependenciesOf = (apt, name) =>
  (/^Depends: (.*)$/m.exec(apt.show(name))?.[1] ?? '')
    .split(',')
    .map((each) => each.trim().split(/[\s:|(]/)[0] ?? '')
    .filter((each) => /^(lib|lua)/.test(each) && !isInstalled(each));

/** @param {string} name */
const isInstalled = (name) => spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' }).stdout.includes('install ok installed');

/**
 * @param {Apt} apt
 * @param {readonly string[]} names
 * @param {string} work
 */
const unpack = (apt, names, work) => {
  const debs = mkdtempSync(join(work, 'debs-'));
  try {
    apt.download(names, debs);
  } catch {
    // A security update removes the version that an old list names.
    apt.update();
    apt.download(names, debs);
  }
  for (const file of readdirSync(debs)) run('dpkg-deb', ['-x', join(debs, file), join(work, 'root')]);
};

/** @param {string} root */
const missingLibraries = (root) => {
  const server = ['redis-server', 'valkey-server'].map((name) => join(root, 'usr/bin', name)).find((file) => existsSync(file));
  if (server === undefined) throw new CommandFailed('dpkg-deb -x', 'the packages hold no usr/bin/redis-server or valkey-server');
  return /not found/.test(run('ldd', [server], { env: { LD_LIBRARY_PATH: libraryPath(root) } }));
};

/**
 * The first pair of packages that the distribution knows.
 * @param {Apt} apt
 */
const packagesOf = (apt) => {
  for (const names of PACKAGES) {
    try {
      for (const name of names) apt.show(name);
      return names;
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
    }
  }
  throw new CommandFailed('apt-cache show redis-server valkey-server', 'This distribution has neither package.');
};

/**
 * @param {string} work
 * @param {string} state
 */
const unpackAll = (work, state) => {
  const apt = aptIn(state);
  let names = packagesOf(apt);
  const seen = new Set(names);
  say(`unpacking a private Redis from the packages ${names.join(', ')} (nothing is installed on the system)`);
  unpack(apt, names, work);
  for (let level = 0; level < LEVELS && missingLibraries(join(work, 'root')); level++) {
    names = [...new Set(names.flatMap((name) => dependenciesOf(apt, name)))].filter((name) => !seen.has(name));
    for (const name of names) seen.add(name);
    if (names.length > 0) unpack(apt, names, work);
  }
};

/**
 * Puts a Redis from the distribution's packages, with the shared libraries that this machine lacks, into `folder`.
 * Two processes may do it at once: the folder appears whole or not at all, and the first one stays.
 *
 * @param {string} folder
 * @returns {string | null} null when it is there, else why not, as the middle of a sentence
 */
export const unpackRedis = (folder) => {
  if (!exists('apt-get') || !exists('dpkg-deb')) return 'this is not a Debian or Ubuntu to unpack its package from';
  try {
    mkdirSync(dirname(folder), { recursive: true });
    const work = mkdtempSync(`${folder}-`);
    try {
      unpackAll(work, join(work, 'apt'));
      rmSync(folder, { recursive: true, force: true });
      renameSync(join(work, 'root'), folder);
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
    return null;
  } catch (error) {
    const output = error instanceof CommandFailed ? `${error.message}:\n${lastLines(error.output)}` : String(error);
    return `its package could not be unpacked into ${folder} (${output}\n  ${adviceFor(output, 'See the lines above.')}\n  )`;
  }
};
