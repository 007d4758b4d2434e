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
}

export function send(response: ServerResponse, { status, headers = {}, text }: Answer): void {
  const about = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
  response.writeHead(status, { ...about, ...headers });
  response.end(text);
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
