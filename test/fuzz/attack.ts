import { connect as connectPlain, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { Attempt } from './garbage.ts';

/** What is read of an answer, bytes: streams have no end. */
const MOST_READ = 100_000;
/** So long an answer is waited for, ms: of much that is no request there is none. */
const PATIENCE_MS = 60;
const HOLD_MS = 3_000;

/** Resolves with the status of the first answer, or with how it ended without one. */
export async function attack(url: string, { pieces, pauseMs, end }: Attempt): Promise<string> {
  const socket = connected(url);
  try {
    const answer = answerOf(socket);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await sleep(pauseMs);
      if (socket.destroyed) break;
      socket.write(piece, 'latin1');
    }
    if (end === 'hold') socket.pause();
    if (end === 'end') socket.end();
    if (end === 'reset') {
      await Promise.race([answer, sleep(2)]);
      // A TLS socket cannot send a reset by itself.
      if (url.startsWith('http:')) socket.resetAndDestroy();
      else socket.destroy();
    }
    return await answer;
  } finally {
    if (end === 'hold') setTimeout(() => socket.destroy(), HOLD_MS);
    else socket.destroy();
  }
}

function connected(url: string): Socket {
  const { port, protocol } = new URL(url);
  const at = { host: '127.0.0.1', port: Number(port) };
  const socket = protocol === 'https:' ? connectTls({ ...at, rejectUnauthorized: false }) : connectPlain(at);
  return socket.on('error', () => undefined);
}

function answerOf(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let read = 0;
  let status = 'no answer';
  const timer = setTimeout(() => resolve(status), PATIENCE_MS + HOLD_MS / 2);
  let quiet: NodeJS.Timeout | undefined;
  const done = (): void => {
    clearTimeout(timer);
    clearTimeout(quiet);
    resolve(status);
  };
  socket.on('data', (data) => {
    if (read === 0) status = /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? 'no HTTP';
    read += data.length;
    clearTimeout(quiet);
    if (read > MOST_READ) done();
    else quiet = setTimeout(done, PATIENCE_MS / 3);
  });
  socket.once('connect', () => {
    quiet = setTimeout(done, 1_000);
  });
  socket.once('close', done);
  return promise;
}
