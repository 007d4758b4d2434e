import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { endWithParent } from './leash.mjs';
import { SetupError } from './setup-error.mjs';

const MAJOR = 24;
/** In a terminal Ctrl-C arrives twice: from the terminal and from npm. A second press by hand comes later than this. */
const REPEAT_MS = 1_000;
/** @type {readonly NodeJS.Signals[]} */
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGWINCH'];

/**
 * The Node that runs the project: the one in node_modules, else this one when it is new enough.
 * @param {string} root The folder of the project.
 * @throws SetupError
 */
export const nodeOf = (root) => {
  const brought = join(root, 'node_modules/.bin/node');
  if (existsSync(brought)) return brought;
  if (Number(process.versions.node.split('.')[0]) >= MAJOR) return process.execPath;
  throw new SetupError(
    `This needs Node ${MAJOR}: here is ${process.versions.node}, and the project brings its own only for Linux on x64 and arm64 (this is ${process.platform} on ${process.arch}).\n` +
      `  Install Node ${MAJOR} (https://nodejs.org) and run this again.`,
  );
};

/** @param {(signal: NodeJS.Signals) => void} pass */
const passSignalsOn = (pass) => {
  let last = { signal: '', at: 0 };
  for (const signal of PASSED_ON) {
    process.on(signal, () => {
      const at = performance.now();
      if (signal !== 'SIGWINCH' && signal === last.signal && at - last.at < REPEAT_MS) return;
      last = { signal, at };
      pass(signal);
    });
  }
};

/**
 * Runs `args` under the project's Node with this process's input and output, passes signals on, and resolves with its exit code
 * (128 + the signal's number when a signal ended it). The child gets SIGTERM when this process dies without a word.
 *
 * @param {string} root
 * @param {readonly string[]} args
 * @param {Record<string, string>} env Added to this process's own.
 * @returns {Promise<number>}
 */
export const handOver = (root, args, env) => {
  const bin = join(root, 'node_modules/.bin');
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  // Before the child starts: a signal that comes while this process is busy starting it must not end this process alone.
  passSignalsOn((signal) => child?.kill(signal));
  child = spawn(nodeOf(root), args, {
    cwd: root,
    env: {
      ...process.env,
      // What Node has read once starts sooner and takes less memory the next time; the TypeScript compiler is not loaded then.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, '.cache', 'compile'),
      ...env,
      PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    },
    stdio: 'inherit',
    // Its own group, so that it hears of Ctrl-C once, from here.
    detached: true,
  });
  const started = child;
  const leash = started.pid === undefined ? null : endWithParent(started.pid, { signal: 'TERM' });
  return new Promise((resolve, reject) => {
    started.on('error', reject);
    started.on('exit', (code, signal) => {
      leash?.release();
      resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal]);
    });
  });
};
