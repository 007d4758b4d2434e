import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { aptIn, CommandFailed, run } from './debian-apt.mjs';
import { adviceFor, lastLines, say } from './setup-error.mjs';

/**
 * What to unpack.
 * @typedef {object} Wanted
 * @property {string} what Its name for people.
 * @property {readonly (readonly string[])[]} packages Lists of packages; the first list that the distribution has whole is taken.
 * @property {readonly string[]} programs Where its program may lie in the packages; the first that is there must get all its libraries.
 */

/** @typedef {import('./debian-apt.mjs').Apt} Apt */

/** How deep libraries of libraries are followed: deeper than any program here needs. */
const LEVELS = 6;

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
    .flatMap((parent) => [parent, join(parent, 'pulseaudio')])
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
  rmSync(debs, { recursive: true });
};

/**
 * @param {string} root
 * @param {Wanted} wanted
 */
const lacksLibraries = (root, { programs }) => {
  const program = programs.map((path) => join(root, path)).find((file) => existsSync(file));
  if (program === undefined) throw new CommandFailed('dpkg-deb -x', `the packages hold none of ${programs.join(', ')}`);
  return run('ldd', [program], { env: { LD_LIBRARY_PATH: libraryPath(root) } }).includes('not found');
};

/**
 * @param {Apt} apt
 * @param {Wanted} wanted
 */
const packagesOf = (apt, { packages }) => {
  const names = packages.find((list) => apt.has(list));
  if (names === undefined) throw new CommandFailed('apt-cache show', `This distribution has none of ${packages.flat().join(', ')}`);
  return names;
};

/**
 * @param {string} work
 * @param {Wanted} wanted
 */
const unpackAll = (work, wanted) => {
  const apt = aptIn(join(work, 'apt'));
  let names = packagesOf(apt, wanted);
  const seen = new Set(names);
  say(`unpacking ${wanted.what} from the packages ${names.join(', ')} (nothing is installed on the system)`);
  unpack(apt, names, work);
  const installed = apt.installed();
  for (let level = 0; level < LEVELS && lacksLibraries(join(work, 'root'), wanted); level++) {
    names = apt.libraries(names).filter((name) => !seen.has(name) && !installed.has(name));
    for (const name of names) seen.add(name);
    if (names.length > 0) unpack(apt, names, work);
  }
};

/**
 * Puts a program from the distribution's packages, with the shared libraries that this machine lacks, into `folder`.
 * Two processes may do it at once: the folder appears whole or not at all.
 *
 * @param {string} folder
 * @param {Wanted} wanted
 * @returns {string | null} null when it is there, else why not, as the middle of a sentence
 */
export const unpackPackages = (folder, wanted) => {
  if (!exists('apt-get') || !exists('dpkg-deb')) return 'this is not a Debian or Ubuntu to unpack its package from';
  try {
    mkdirSync(dirname(folder), { recursive: true });
    const work = mkdtempSync(`${folder}-`);
    try {
      unpackAll(work, wanted);
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
