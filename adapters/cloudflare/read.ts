import { text, unreadable } from '../http/read.ts';

/** An identifier of the API, safe for use in a path. */
export function identifier(value: unknown, what: string): string {
  const id = text(value, what);
  if (!isIdentifier(id)) throw unreadable(what);
  return id;
}

export const isIdentifier = (value: string): boolean => /^[0-9a-f]{32}$/.test(value);
