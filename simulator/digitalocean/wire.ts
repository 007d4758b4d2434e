import type { IncomingMessage, ServerResponse } from 'node:http';
import { badRequest } from './refusal.ts';

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
    throw badRequest('error parsing request body');
  }
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; no body when undefined. */
  readonly text?: string | undefined;
}

export function send(response: ServerResponse, answer: Answer): void {
  const { status, headers = {}, text } = answer;
  const type =
    text === undefined ? {} : { 'content-type': 'application/json; charset=utf-8', 'content-length': String(Buffer.byteLength(text)) };
  response.writeHead(status, { ...type, ...headers });
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
    const timer =
      ms === null
        ? undefined
        : setTimeout(() => {
            response.off('close', gone);
            resolve('passed');
          }, ms);
    response.once('close', gone);
  });
}
