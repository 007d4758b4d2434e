import { spawn, spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { endWithParent } from './leash.mjs';
import { lastLines, SetupError } from './setup-error.mjs';

/**
 * @typedef {import('./redis-find.mjs').FoundRedis} FoundRedis
 * @typedef {{ port: number, dir: string, removeDir: boolean, settings: readonly string[] }} Place
 * @typedef {{ pid: number, isRunning: () => boolean, signal: (signal: NodeJS.Signals) => void, ended: () => Promise<void> }} RunningServer
 */

const READY_MS = 15_000;
const POLL_MS = 15;

/**
 * What the server says to PING and INFO; '' when it does not listen. While it loads its append-only file PING is refused.
 * @param {number} port
 * @returns {Promise<string>}
 */
const ask = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let said = '';
    const settle = () => {
      socket.destroy();
      resolve(said);
    };
    socket.setTimeout(1_000, settle);
    socket.on('error', settle);
    socket.on('connect', () => socket.write('PING\r\nINFO server\r\nQUIT\r\n'));
    socket.on('data', (data) => {
      said += data.toString();
    });
    socket.on('end', settle);
  });

/**
 * Whether the one that answers on `port` is ours: another server may have taken the port meanwhile.
 * @param {FoundRedis} found
 * @param {number} port
 * @param {number} pid
 */
const isReady = async (found, port, pid) => {
  const said = await ask(port);
  return said.startsWith('+PONG') && (found.image !== null || said.includes(`process_id:${pid}\r\n`));
};

/** The files it leaves in the folder must belong to the user who removes them. */
const asUser = () => {
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  return user === undefined || group === undefined ? [] : ['--user', `${user}:${group}`];
};

/** @param {number} port */
const containerName = (port) => `routedip-redis-${process.pid}-${port}`;

/**
 * @param {FoundRedis} found
 * @param {Place} place
 */
const commandLine = (found, { port, dir, settings }) => {
  const all = ['--port', String(port), ...settings];
  if (found.image === null) return ['--bind', '127.0.0.1', '--dir', dir, ...all];
  // In a container it must listen on the container's own address; of the host only loopback is published.
  const container = [
    'run',
    '--rm',
    '--name',
    containerName(port),
    ...asUser(),
    '--publish',
    `127.0.0.1:${port}:${port}`,
    '--volume',
    `${dir}:/data`,
    '--workdir',
    '/data',
  ];
  return [...container, found.image, 'valkey-server', '--bind', '0.0.0.0', '--protected-mode', 'no', ...all];
};

/**
 * @param {FoundRedis} found
 * @param {Place} place
 */
const start = (found, place) => {
  const child = spawn(found.command, commandLine(found, place), {
    env: { ...process.env, ...found.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own group: on Ctrl-C in a terminal, those who use Redis must end before it does.
    detached: true,
  });
  const state = { log: '', running: true };
  const keep = (/** @type {Buffer} */ data) => {
    state.log = (state.log + data.toString()).slice(-4_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  // A docker client that is killed leaves its container behind; SIGTERM it passes on.
  const signal = found.image === null ? 'KILL' : 'TERM';
  const leash = child.pid === undefined ? null : endWithParent(child.pid, { signal, folder: place.removeDir ? place.dir : undefined });
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => {
    const end = (/** @type {string} */ word) => {
      state.log += word;
      state.running = false;
      leash?.release();
      resolve();
    };
    child.on('exit', () => end(''));
    child.on('error', (error) => end(error.message));
  });
  return { child, state, ended };
};

/**
 * Starts a server and resolves once it answers.
 * @param {FoundRedis} found
 * @param {Place} place
 * @returns {Promise<RunningServer>}
 * @throws SetupError with the server's own last words
 */
export const launch = async (found, place) => {
  const { child, state, ended } = start(found, place);
  const { pid } = child;
  const failed = (/** @type {string} */ what) =>
    new SetupError(`Redis ${what} (${found.command}, port ${place.port}, folder ${place.dir}). It said:\n${lastLines(state.log)}`);
  const deadline = Date.now() + READY_MS;
  while (pid !== undefined && state.running && !(await isReady(found, place.port, pid))) {
    if (Date.now() > deadline) {
      child.kill('SIGKILL');
      throw failed(`did not answer within ${READY_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  if (pid === undefined || !state.running) throw failed('ended at once');
  // The leash ends it with this process, so a forgotten stop() need not keep this process alive.
  child.unref();
  for (const stream of [child.stdout, child.stderr]) if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
  return {
    pid,
    isRunning: () => state.running,
    signal: (signal) => {
      if (found.image === null) child.kill(signal);
      else spawnSync(found.command, ['kill', '--signal', signal, containerName(place.port)], { stdio: 'ignore' });
    },
    ended: () => {
      child.ref();
      return ended;
    },
  };
};
