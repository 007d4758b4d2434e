import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import { badRequest, unsupportedMediaType } from './errors.ts';
import type { Json } from './objects.ts';

export interface LoggedRequest {
  method: string;
  path: string;
  query: string;
  userAgent: string;
  /** When it came in, in milliseconds since the epoch. */
  at: number;
  /** The status of the answer; undefined while there is none, 0 when the connection broke before. */
  code: number | undefined;
}

const readAll = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
};

export interface Body {
  type: string;
  value: Json | undefined;
}

const READABLE = ['application/json', 'application/yaml'];

/** The parsed body with its content type; undefined when there is none. @throws ApiError 400 for broken JSON, 415 for protobuf and the like. */
export const bodyOf = async (request: IncomingMessage): Promise<Body> => {
  const text = await readAll(request);
  const type = request.headers['content-type'] ?? 'application/json';
  if (text === '') return { type, value: undefined };
  const bare = type.split(';')[0]?.trim() ?? '';
  if (!READABLE.includes(bare) && !bare.endsWith('+json') && !bare.endsWith('+yaml')) {
    throw unsupportedMediaType(['application/json', 'application/yaml']);
  }
  try {
    return { type, value: (bare.endsWith('yaml') ? parse(text) : JSON.parse(text)) as Json };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`error decoding the body as ${bare}: ${why}`);
  }
};
