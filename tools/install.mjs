import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { linkNode } from './link-node.mjs';
import { adviceFor, lastLines, SetupError, say } from './setup-error.mjs';

/** @typedef {{ version?: string, integrity?: string, optional?: boolean, link?: boolean }} LockEntry */

/**
 * @param {string} file
 * @returns {Record<string, LockEntry>}
 */
const packagesIn = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/**
 * Why node_modules is not what package-lock.json asks for; null when it is.
 *
 * npm writes what it installed into node_modules/.package-lock.json as its last step, so an install that was cut short does not count.
 * An optional package may be absent: it is for another platform.
 *
 * @param {string} root The folder of the project.
 * @returns {string | null}
 */
export const staleness = (root) => {
  const record = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(record)) return 'node_modules is missing';
  const installed = packagesIn(record);
  for (const [path, wanted] of Object.entries(packagesIn(join(root, 'package-lock.json')))) {
    const present = installed[path];
    if (path === '' || (present === undefined && wanted.optional === true)) continue;
    if (present === undefined) return `${path} is missing`;
    if (present.version !== wanted.version || present.integrity !== wanted.integrity)
      return `${path} is not the version of package-lock.json`;
  }
  return null;
};

/** npm waits minutes in all before it gives up a registry that cannot be reached; a short fault is over in seconds. */
const RETRIES = ['--fetch-retries=3', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=4000'];

/** npm as the caller runs it, else the one on PATH. Under npm, `node` on PATH may be the one inside node_modules that the install replaces. */
export const npm = () => {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env;
  return cli?.endsWith('.js') && node !== undefined ? { command: node, args: [cli] } : { command: 'npm', args: [] };
};

/**
 * Runs `npm ci` when node_modules does not belong to package-lock.json; quiet and quick (a comparison of two files) when it does.
 * @param {string} root
 * @throws SetupError with npm's own last lines and what to do
 */
export const installDependencies = (root) => {
  const stale = staleness(root);
  if (stale !== null) install(root, stale);
  linkNode(root);
};

/**
 * @param {string} root
 * @param {string} stale
 */
const install = (root, stale) => {
  say(`installing the dependencies (npm ci), since ${stale}`);
  const { command, args } = npm();
  // No dependency needs its install script: what is compiled comes as a package of its own.
  const done = spawnSync(command, [...args, 'ci', '--ignore-scripts', '--no-progress', '--loglevel=error', ...RETRIES], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = `${done.stdout ?? ''}${done.stderr ?? ''}${done.error?.message ?? ''}`;
  if (done.status !== 0) {
    const advice = adviceFor(output, 'See the lines above; npm ci by hand in that folder tells more.');
    throw new SetupError(`npm ci failed in ${root}:\n${lastLines(output, 10)}\n  ${advice}`, done.error);
  }
  const still = staleness(root);
  if (still !== null) throw new SetupError(`npm ci ran in ${root}, yet ${still}. Is package-lock.json changed by hand?`);
};
