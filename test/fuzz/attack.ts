import { connect as connectPlain, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { Attempt } from './garbage.ts';

/** What is read of an answer, bytes: streams have no end. */
const MOST_READ = 100_000;
/** So long an answer is waited for, ms, and so long what comes after its first part. Not to wait would send more than can be answered, and show nothing but that. */
const PATIENCE_MS = { whole: 2_000, half: 100 };
const QUIET_MS = 10;
const HOLD_MS = 3_000;

/** Resolves with the status of the first answer, or with how it ended without one. */
export async function attack(url: string, { pieces, isHalf, pauseMs, end }: Attempt): Promise<string> {
  const socket = connected(url);
  try {
    const answer = answerOf(socket, isHalf || end === 'hold' ? PATIENCE_MS.half : PATIENCE_MS.whole);
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await sleep(pauseMs);
      if (socket.destroyed) break;
      socket.write(piece, 'latin1');
    }
    if (end === 'hold') socket.pause();
    if (end === 'end') socket.end();
    if (end === 'reset') {
      await Promise.race([answer, sleep(2)]);
      reset(socket, url);
    }
    return await answer;
  } finally {
    if (end === 'hold') setTimeout(() => socket.destroy(), HOLD_MS);
    else socket.destroy();
  }
}

/** A TLS socket cannot send a reset by itself. */
function reset(socket: Socket, url: string): void {
  if (url.startsWith('http:')) socket.resetAndDestroy();
  else socket.destroy();
}

function connected(url: string): Socket {
  const { port, protocol } = new URL(url);
  const at = { host: '127.0.0.1', port: Number(port) };
  const socket = protocol === 'https:' ? connectTls({ ...at, rejectUnauthorized: false }) : connectPlain(at);
  return socket.on('error', () => undefined);
}

function answerOf(socket: Socket, patienceMs: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let read = 0;
  let status = 'no answer';
  // After what has come in meanwhile: of a process that stood still the timers are first.
  const within = (ms: number) => setTimeout(() => setImmediate(done), ms);
  let timer = within(patienceMs);
  const done = (): void => {
    clearTimeout(timer);
    resolve(status);
  };
  socket.on('data', (data) => {
    if (read === 0) status = /^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? 'no HTTP';
    read += data.length;
    clearTimeout(timer);
    if (read > MOST_READ) done();
    else timer = within(QUIET_MS);
  });
  socket.once('close', done);
  return promise;
}
