import type { Dispatcher } from 'undici';
import { parseBounded } from '../../../actors/ports/bounded-json.ts';
import { type Fields, fieldsOf, isFields } from '../../../machines/model/types.ts';
import { nameIn, pluralIn, refusal, ServerUnreachable, type Target } from './api-error.ts';

/** Maximum size of a response, list item or watch line, bytes. A server accepts objects up to 3 MiB, and may escape a character as six. */
export const LONGEST = 16 * 2 ** 20;

type Body = Dispatcher.ResponseData['body'];

const tooLong = (what: string): Error => new Error(`${what} of more than ${LONGEST / 2 ** 20} MiB`);

/** The whole body as text. @throws Error when it is too long */
const textOf = async (body: Body): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LONGEST) throw tooLong('an answer');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString('utf8');
};

const messageIn = (text: string): string => {
  try {
    const { message } = fieldsOf(parseBounded(text));
    if (typeof message === 'string') return message;
  } catch {
    // An error page of a proxy.
  }
  return text.slice(0, 200).trim();
};

/** The body of a successful response. @throws ServerUnreachable | ApiError for any other, including a redirect: credentials go to no other server */
export const granted = async ({ status, body, retryAfterMs }: Answer, target: Target): Promise<Body> => {
  if (status >= 200 && status < 300) return body;
  throw refusal(target, status, messageIn(await textOf(body)), retryAfterMs);
};

export interface Answer {
  readonly status: number;
  readonly body: Body;
  readonly retryAfterMs: number | null;
}

/** Parses a body. When an object was requested by name it must be that object: a proxy's response must not count as an object without its fields.
 *  @throws ServerUnreachable for anything else */
export const objectIn = async (body: Body, target: Target): Promise<unknown> => {
  const object = fieldsIn(await textOf(body), target);
  const name = target.verb === 'delete' ? null : nameIn(target.path);
  if (name !== null && (!isWhole(object) || fieldsOf(object.metadata).name !== name)) throw unreadable(target, `the answer is not ${name}`);
  return object;
};

export const fieldsIn = (text: string, target: Target): Fields => {
  let value: unknown;
  try {
    value = parseBounded(text);
  } catch {
    throw unreadable(target, 'the answer is no JSON');
  }
  if (!isFields(value)) throw unreadable(target, 'the answer is no JSON object');
  return value;
};

export const unreadable = ({ verb, path }: Target, why: string): ServerUnreachable => new ServerUnreachable(`${verb} ${path}: ${why}`);

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** It has the metadata of every stored object. Without a uid it would count as a new object, and the known one as deleted. */
export const isWhole = (object: unknown): boolean => {
  const { name, uid, resourceVersion } = fieldsOf(fieldsOf(object).metadata);
  return isText(name) && isText(uid) && isText(resourceVersion);
};

/** A stored object of the kind that this path lists or watches; an absent `kind` is accepted. */
export const isOf = (path: string, object: unknown): boolean => isWhole(object) && isKindOf(path, fieldsOf(object).kind);

export const isListOf = (path: string, { kind }: Fields): boolean =>
  isKindOf(path, typeof kind === 'string' ? kind.replace(/List$/, '') : kind);

/** Items of built-in lists have no `kind`. */
const isKindOf = (path: string, kind: unknown): boolean => {
  if (typeof kind !== 'string') return kind === undefined;
  const name = kind.toLowerCase();
  return [`${name}s`, `${name}es`, name.replace(/y$/, 'ies')].includes(pluralIn(path));
};

/** Splits a watch stream into lines, from chunks of any length. */
export class Lines {
  readonly #rest: Buffer[] = [];
  #length = 0;

  /** The lines completed by this chunk. @throws Error for a line that is too long */
  push(chunk: Buffer): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', from)) {
      this.#keep(chunk.subarray(from, end));
      const line = Buffer.concat(this.#rest.splice(0), this.#length).toString('utf8').trim();
      this.#length = 0;
      if (line !== '') lines.push(line);
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#length += piece.length;
    if (this.#length > LONGEST) throw tooLong('a line');
    this.#rest.push(piece);
  }
}
