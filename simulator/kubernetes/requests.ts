import type { IncomingMessage } from 'node:http';
import { parse } from 'yaml';
import { badRequest, unsupportedMediaType } from './errors.ts';
import type { Json } from './objects.ts';
import { decodeProtobuf } from './protobuf/decode.ts';

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

const readAll = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
};

export interface Body {
  type: string;
  value: Json | undefined;
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf';

const READABLE = ['application/json', 'application/yaml'];

/** The parsed body with its content type; undefined when there is none. @throws ApiError 400 for a broken body, 415 for one of another form. */
export const bodyOf = async (request: IncomingMessage, type = request.headers['content-type'] ?? 'application/json'): Promise<Body> => {
  const bytes = await readAll(request);
  if (bytes.length === 0) return { type, value: undefined };
  const bare = type.split(';')[0]?.trim() ?? '';
  if (bare === PROTOBUF) return { type, value: decodeProtobuf(bytes) };
  if (!READABLE.includes(bare) && !bare.endsWith('+json') && !bare.endsWith('+yaml')) {
    throw unsupportedMediaType(['application/json', 'application/yaml']);
  }
  const text = bytes.toString('utf8');
  try {
    return { type, value: (bare.endsWith('yaml') ? parse(text) : JSON.parse(text)) as Json };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(`error decoding the body as ${bare}: ${why}`);
  }
};
