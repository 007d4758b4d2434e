import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { libraryPath, unpackPackages } from './debian-unpack.mjs';
import { onPath } from './on-path.mjs';
import { ROOT } from './root.mjs';
import { SetupError } from './setup-error.mjs';

/**
 * A Redis that can be started here. `command` runs the server itself, or docker when `image` is set; `version` is as it says itself.
 * @typedef {{ command: string, env: Record<string, string>, version: string, image: string | null }} FoundRedis
 */

const SERVERS = ['redis-server', 'valkey-server'];
/** On Debian the binary is in the package of the tools. */
const PACKAGES = {
  what: 'a private Redis',
  packages: [
    ['redis-server', 'redis-tools'],
    ['valkey-server', 'valkey-tools'],
  ],
  programs: SERVERS.map((name) => `usr/bin/${name}`),
};
const IMAGE = 'docker.io/valkey/valkey:8';
/** BullMQ's scripts use commands that came with this version. */
const OLDEST = [6, 2];

/** @param {string} version */
const isOldEnough = (version) => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
};

/**
 * The server when it runs here and is new enough, else null.
 * @param {string} command
 * @param {Record<string, string>} env
 * @returns {FoundRedis | null}
 */
const usable = (command, env) => {
  try {
    const said = execFileSync(command, ['--version'], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const version = /v=(\d+\.\d+\.\d+)/.exec(said)?.[1];
    return version !== undefined && isOldEnough(version) ? { command, env, version, image: null } : null;
  } catch {
    // It does not start (a missing shared library, another architecture): the next place may have a better one.
    return null;
  }
};

/** @returns {FoundRedis | null} */
const installed = () => {
  for (const name of SERVERS) {
    const file = onPath(name);
    const found = file === undefined ? null : usable(file, {});
    if (found !== null) return found;
  }
  return null;
};

/**
 * @param {string} folder
 * @returns {FoundRedis | null}
 */
const unpacked = (folder) => {
  for (const name of SERVERS) {
    const file = join(folder, 'usr/bin', name);
    const found = existsSync(file) ? usable(file, { LD_LIBRARY_PATH: libraryPath(folder) }) : null;
    if (found !== null) return found;
  }
  return null;
};

/** @returns {FoundRedis | null} */
const inDocker = () => {
  const docker = onPath('docker');
  if (docker === undefined) return null;
  try {
    // Asks the engine, not the client: a machine can have the command without a running engine.
    execFileSync(docker, ['version', '--format', '{{.Server.Version}}'], { stdio: 'ignore', timeout: 10_000 });
    return { command: docker, env: {}, version: `in ${IMAGE}`, image: IMAGE };
  } catch {
    return null;
  }
};

/** @param {string} root The folder of the project. */
const cacheFolder = (root) => join(root, '.cache/redis');

/**
 * A Redis or Valkey server for a private instance: the one on PATH, else a copy unpacked from this distribution's packages into
 * `.cache/redis` (nothing is installed on the system), else docker.
 *
 * @param {{ root?: string }} [options]
 * @returns {FoundRedis}
 * @throws SetupError when there is none; the message says what to do
 */
export const findRedis = ({ root = ROOT } = {}) => {
  const folder = cacheFolder(root);
  const present = installed() ?? unpacked(folder);
  if (present !== null) return present;
  const refused = unpackPackages(folder, PACKAGES);
  const found = (refused === null ? unpacked(folder) : null) ?? inDocker();
  if (found !== null) return found;
  const why = refused ?? `the copy unpacked into ${folder} does not run on this machine`;
  throw new SetupError(
    `No Redis found: neither redis-server nor valkey-server (${OLDEST.join('.')} or newer) is on PATH, ${why}, and no docker engine answers.\n` +
      '  Install one (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis) and run this again.',
  );
};
