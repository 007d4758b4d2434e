import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../actors/ports/records.ts';

export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is known about a value that must change. `undefined` means absent. */
export interface Known {
  /** The server's current value. */
  readonly present: Json | undefined;
  /** What was sent last, and what the server stored: a server drops fields unknown to its schema, and sets defaults. */
  readonly sent: Json | undefined;
  readonly answered: Json | undefined;
}

const member = (value: Json | undefined, key: string): Json | undefined =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** True when this was sent before and the server's result is unchanged: sending it again would never change anything. */
const inVain = ({ present, sent, answered }: Known, desired: Json | undefined): boolean =>
  isDeepStrictEqual(sent, desired) && isDeepStrictEqual(present, answered);

/** The JSON merge patch (RFC 7396) that makes `present` into `desired`; undefined when there is nothing to do. Lists are replaced whole. */
export const difference = (known: Known, desired: Json | undefined): Json | undefined => {
  const { present } = known;
  if (isDeepStrictEqual(present, desired)) return undefined;
  if (isObject(desired) && (present === undefined || isObject(present))) return ofMembers(known, desired);
  return inVain(known, desired) ? undefined : (desired ?? null);
};

const ofMembers = (known: Known, desired: JsonObject): Json | undefined => {
  const { present, sent, answered } = known;
  const keys = new Set([...(isObject(present) ? Object.keys(present) : []), ...Object.keys(desired)]);
  const patch: Record<string, Json> = {};
  for (const key of keys) {
    const inner = { present: member(present, key), sent: member(sent, key), answered: member(answered, key) };
    const change = difference(inner, member(desired, key));
    if (change !== undefined) patch[key] = change;
  }
  if (Object.keys(patch).length > 0) return patch;
  // An empty object differs from an absent one.
  return present === undefined && !inVain(known, desired) ? {} : undefined;
};
