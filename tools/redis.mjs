import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from './free-ports.mjs';
import { findRedis } from './redis-find.mjs';
import { launch } from './redis-launch.mjs';

export { findRedis };

/**
 * @typedef {object} RedisOptions
 * @property {string} [dir] Where it keeps its files; they stay after stop(). Default: a new temporary folder, removed at the end.
 * @property {boolean} [aof] Append-only file: acknowledged writes survive SIGKILL and restart(). Default: nothing is kept.
 * @property {number} [port] Default: a free one.
 * @property {number} [hz] How often a second Redis runs its timers; at its own default of 10 delayed jobs come up to 99 ms late. Default: 100.
 * @property {string} [policy] maxmemory-policy. Default: noeviction, the only one that loses no job.
 * @property {readonly string[]} [extra] More arguments of redis-server, e.g. ['--maxmemory', '50mb'].
 */

/**
 * A private Redis on loopback. It ends with this process, also when that is killed by SIGKILL (see leash.mjs).
 * @typedef {object} PrivateRedis
 * @property {string} url redis://127.0.0.1:<port>
 * @property {number} port
 * @property {number} pid Of the server that runs now (of the docker client when it runs in docker): another one after restart().
 * @property {string} dir
 * @property {() => Promise<void>} stop Ends it, and removes its folder unless `dir` was given. May be repeated.
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill Sends a signal (default SIGKILL); resolves once the server has ended, or
 *   at once for the signals that stop and continue it. Harmless when it has ended before.
 * @property {() => Promise<void>} restart Starts it again on the same port and in the same folder; ends it by SIGTERM first if it still runs.
 */

const STOP_MS = 5_000;
const ENDING = new Set(['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGABRT']);

/**
 * Starts a private Redis and resolves once it answers.
 *
 * @param {RedisOptions} [options]
 * @returns {Promise<PrivateRedis>}
 * @throws SetupError when there is no Redis on this machine, or it does not start
 */
export const startRedis = async ({ dir: given, aof = false, port: wanted, hz = 100, policy = 'noeviction', extra = [] } = {}) => {
  const found = findRedis();
  const dir = given === undefined ? mkdtempSync(join(tmpdir(), 'routedip-redis-')) : resolve(given);
  mkdirSync(dir, { recursive: true });
  const removeDir = given === undefined;
  // Redis asks for an fsync every second unless told otherwise, and answers writes before they are in the file while the disk is busy with one: those a SIGKILL would lose.
  const file = aof ? ['--appendonly', 'yes', '--appendfsync', 'no'] : ['--appendonly', 'no'];
  const settings = [...file, '--save', '', '--hz', String(hz), '--maxmemory-policy', policy, ...extra];
  const port = wanted ?? (await freePort());
  const place = { port, dir, removeDir, settings };
  let server = await launch(found, place);

  const kill = async (/** @type {NodeJS.Signals} */ signal = 'SIGKILL') => {
    if (!server.isRunning()) return;
    server.signal(signal);
    if (ENDING.has(signal)) await server.ended();
  };
  const end = async () => {
    if (!server.isRunning()) return;
    // A stopped process handles SIGTERM only after it is continued.
    server.signal('SIGTERM');
    server.signal('SIGCONT');
    const timer = setTimeout(() => server.signal('SIGKILL'), STOP_MS);
    await server.ended();
    clearTimeout(timer);
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dir,
    get pid() {
      return server.pid;
    },
    kill,
    stop: async () => {
      await end();
      if (removeDir) rmSync(dir, { recursive: true, force: true });
    },
    restart: async () => {
      await end();
      server = await launch(found, place);
    },
  };
};
