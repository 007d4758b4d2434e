import type { IncomingHttpHeaders } from 'node:http';
import { at, isObject, type Json } from '../../../simulator/kubernetes/objects.ts';

/** What a server answered. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The headers that a client of Kubernetes goes by; the others tell of the connection, or of the server's own bookkeeping. */
const HEADERS = ['content-type', 'cache-control', 'warning', 'retry-after', 'allow', 'etag', 'vary'];

/** What tells the members of a list apart, whatever their order: as a client finds them. */
const KEYS: readonly (readonly string[])[] = [
  ['metadata', 'name'],
  ['object', 'metadata', 'name'],
  ['groupVersion'],
  ['resource'],
  ['subresource'],
  ['name'],
  ['version'],
  ['type'],
];

const keysOf = (items: readonly Json[]): readonly string[] | undefined => {
  for (const path of KEYS) {
    const keys = items.map((item) => at(item, ...path));
    if (keys.every((key) => typeof key === 'string' && key !== '') && new Set(keys).size === keys.length) return keys as string[];
  }
  return undefined;
};

export const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

export type Leaves = Readonly<Record<string, Json>>;

/** Stands for a member of a list as a whole. */
export const MEMBER = '(member)';

/** The members by what tells them apart, and their order. */
const listLeaves = (items: readonly Json[], path: string): [string, Json][] => {
  const keys = keysOf(items);
  if (!keys) return items.flatMap((item, index) => leavesOf(item, `${path}[${index}]`));
  const inner = items.flatMap((item, index): [string, Json][] => {
    const member = `${path}[${keys[index]}]`;
    return [[member, MEMBER], ...leavesOf(item, member)];
  });
  return items.length > 1 ? [[`${path}(order)`, keys.join(' ')], ...inner] : inner;
};

const leavesOf = (value: Json | undefined, path: string): [string, Json][] => {
  if (value === undefined) return [];
  if (Array.isArray(value)) return value.length === 0 ? [[path, '[]']] : listLeaves(value, path);
  if (!isObject(value)) return [[path, value]];
  const entries = Object.entries(value);
  return entries.length === 0 ? [[path, '{}']] : entries.flatMap(([key, item]) => leavesOf(item, path === '' ? key : `${path}.${key}`));
};

/** Every value of a document by its path: `spec.ports[http].port`. What is empty is a value too. */
export const leaves = (value: Json | undefined, path: string): Leaves => Object.fromEntries(leavesOf(value, path));

/** Every value of an answer by its path. */
export const answerLeaves = ({ code, headers, text }: Answer): Leaves => {
  const chosen = HEADERS.flatMap((name): [string, Json][] => {
    const value = headers[name];
    return value === undefined ? [] : [[`header ${name}`, String(value)]];
  });
  return { 'status code': code, ...Object.fromEntries(chosen), ...leaves(parsed(text), 'body') };
};
