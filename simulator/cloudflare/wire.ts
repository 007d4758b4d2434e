import type { IncomingMessage, ServerResponse } from 'node:http';
import { malformedBody } from './refusal.ts';

/** The request's body as text. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** @throws Refusal 400 where there is a body and it is not JSON. */
export function parseJson(body: string): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body) as unknown;
  } catch {
    throw malformedBody();
  }
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
}

export function send(response: ServerResponse, { status, headers = {}, text }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)), ...headers });
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
