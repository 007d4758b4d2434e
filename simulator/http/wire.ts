import type { IncomingMessage, ServerResponse } from 'node:http';

/** The request's body as text. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export interface Answer {
  readonly status: number;
  /** `content-type` is JSON when nothing else is said. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; no body when undefined. */
  readonly text?: string | undefined;
  /** The pause after each piece of the body, ms; sent at once when undefined. */
  readonly dripMs?: number | undefined;
}

const PIECES = 8;

export function send(response: ServerResponse, { status, headers = {}, text, dripMs }: Answer): void {
  if (dripMs !== undefined && text !== undefined) {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    void drip(response, text, dripMs);
    return;
  }
  const about = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  response.writeHead(status, { ...about, ...headers });
  response.end(text);
}

async function drip(response: ServerResponse, text: string, ms: number): Promise<void> {
  const size = Math.ceil(text.length / PIECES);
  for (let at = 0; at < text.length; at += size) {
    response.write(text.slice(at, at + size));
    if ((await pause(response, ms)) === 'gone') return;
  }
  response.end();
}

/** Resolves after `ms`, or at once with 'gone' when the client gives up; `ms` null waits for that alone. */
export function pause(response: ServerResponse, ms: number | null): Promise<'passed' | 'gone'> {
  return new Promise((resolve) => {
    if (response.destroyed) return resolve('gone');
    const gone = (): void => {
      clearTimeout(timer);
      resolve('gone');
    };
    const passed = (): void => {
      response.off('close', gone);
      resolve('passed');
    };
    const timer = ms === null ? undefined : setTimeout(passed, ms);
    response.once('close', gone);
  });
}
