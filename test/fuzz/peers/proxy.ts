import { once } from 'node:events';
import { createServer, Agent as HttpAgent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { drawingOf } from '../drawing.ts';
import { type Answered, type Spoil, spoilOf, spoiltLine } from './spoil.ts';

/** Stands between the operator and a server over plain HTTP, and spoils some of what that answers. */
export interface SpoilingProxy {
  readonly url: string;
  /** Which answers are spoilt, of all: 0 for none. */
  spoil(part: number): void;
  /** By what was done. */
  readonly counts: ReadonlyMap<string, number>;
  /** What was spoilt last, for people. */
  readonly lately: readonly string[];
  /** Nothing is spoilt any more, and watches have to begin anew. */
  calm(): void;
  close(): Promise<void>;
}

export interface SpoilingOptions {
  readonly upstream: string;
  /** Where redirects lead. */
  readonly elsewhere: string;
  readonly seed: number;
}

/** So much is kept of what was done, for people. */
const KEPT = 60;
/** What stands and is not read any more is ended after this, ms. */
const HELD_MS = 3_000;
const GONE = `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'the server was restored' } })}\n`;

export async function spoilingProxy({ upstream, elsewhere, seed }: SpoilingOptions): Promise<SpoilingProxy> {
  const state = { part: 0, number: 0 };
  const counts = new Map<string, number>();
  const lately: string[] = [];
  const watches = new Set<() => void>();
  const agent = new HttpAgent({ keepAlive: true });
  const count = (what: string, about: string): void => {
    counts.set(what, (counts.get(what) ?? 0) + 1);
    if (what === 'passed') return;
    lately.push(`${what}: ${about.slice(0, 600)}`);
    if (lately.length > KEPT) lately.shift();
  };

  const asked = async ({ method, url = '/', headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> => {
    const { host: _host, 'accept-encoding': _encoding, connection: _connection, ...kept } = headers;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const call = httpRequest(new URL(url, upstream), { method, headers: kept, agent }, resolve);
    call.on('error', reject);
    call.end(body);
    return promise;
  };
  const drawn = () => {
    state.number += 1;
    const draw = drawingOf(seed, state.number);
    return draw.chance(state.part) ? draw : null;
  };

  const passWatch = (answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(answer.statusCode ?? 200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const end = (): void => {
      watches.delete(end);
      if (response.writable) response.end(GONE);
      answer.destroy();
    };
    watches.add(end);
    response.on('close', end);
    answer.on('error', () => response.destroy());
    const lines = createInterface({ input: answer });
    lines.on('close', () => response.end());
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      if (response.destroyed) return;
      const draw = drawn();
      if (draw === null) {
        count('passed', '');
        response.write(`${line}\n`);
        return;
      }
      const spoilt = spoiltLine(draw, line);
      count(spoilt === null ? 'endless line' : 'line', `${request.url} ${spoilt}`);
      if (spoilt === null) void pour(response, 'x'.repeat(100_000), null);
      else response.write(spoilt);
    });
  };

  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await asked(request, await buffer(request));
    const isWatch = request.url?.includes('watch=true') === true && answer.statusCode === 200;
    const draw = drawn();
    if (isWatch && (draw === null || draw.chance(0.8))) {
      passWatch(answer, request, response);
      return;
    }
    const answered: Answered = {
      status: answer.statusCode ?? 0,
      headers: Object.fromEntries(
        Object.entries(answer.headers).flatMap(([key, value]) => (typeof value === 'string' && !HOP.has(key) ? [[key, value]] : [])),
      ),
      body: isWatch ? '' : await text(answer),
    };
    if (isWatch) answer.destroy();
    if (draw === null) {
      count('passed', '');
      response.writeHead(answered.status, answered.headers);
      response.end(answered.body);
      return;
    }
    const spoil = spoilOf(draw, answered, elsewhere);
    count(spoil.kind, `${request.method} ${request.url} ${shown(spoil)}`);
    await send(spoil, response);
  };

  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    pass(request, response).catch(() => response.destroy());
  });
  server.on('clientError', (_, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoil: (part) => {
      state.part = part;
    },
    counts,
    lately,
    calm: () => {
      state.part = 0;
      for (const end of [...watches]) end();
    },
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      agent.destroy();
    },
  };
}

/** Of one connection only. */
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'date']);

function shown(spoil: Spoil): string {
  if (spoil.kind === 'answer') return `${spoil.status} ${JSON.stringify(spoil.headers)} ${spoil.body}`;
  return spoil.kind === 'raw' ? spoil.bytes : `${spoil.head}${spoil.piece.slice(0, 20)} × ${spoil.times}`;
}

async function send(spoil: Spoil, response: ServerResponse): Promise<void> {
  if (spoil.kind === 'answer') {
    // Such as Node itself would not send.
    const headers = Object.entries(spoil.headers).map(([key, value]) => `${key}: ${value}\r\n`);
    const body = Buffer.from(spoil.body, 'utf8');
    const length = spoil.status === 204 ? '' : `content-length: ${body.length}\r\n`;
    response.socket?.write(`HTTP/1.1 ${spoil.status} Some\r\n${headers.join('')}${length}\r\n`, 'latin1');
    response.socket?.end(spoil.status === 204 ? '' : body);
    return;
  }
  const { socket } = response;
  if (socket === null) return;
  if (spoil.kind === 'raw') {
    socket.write(spoil.bytes, 'latin1');
    if (spoil.isHeld) await sleep(HELD_MS, undefined, { ref: false });
    socket.end();
    return;
  }
  socket.write(spoil.head, 'latin1');
  await pour(socket, spoil.piece, spoil.times);
  socket.end();
}

/** As fast as it is read; without an end where `times` is null. */
async function pour(to: Writable, piece: string, times: number | null): Promise<void> {
  const closed = once(to, 'close');
  closed.catch(() => undefined);
  for (let sent = 0; !to.destroyed && (times === null || sent < times); sent += 1) {
    if (to.write(piece)) await new Promise((resolve) => setImmediate(resolve));
    else await Promise.race([once(to, 'drain'), closed]);
  }
}
