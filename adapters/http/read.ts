import { ProviderError } from '../../actors/errors.ts';
import { type ErrorKind, type Fields, isFields } from '../../machines/types.ts';

/** What can be done about an answer of this status, at every provider. */
export const KIND_OF_STATUS: Readonly<Record<number, ErrorKind>> = {
  401: 'Unauthorized',
  403: 'Unauthorized',
  404: 'NotFound',
  408: 'Unavailable',
  409: 'Conflict',
};

/** Readers of an API's answers: each returns what it is named for or throws, since an answer that lacks it cannot be trusted. */
export const unreadable = (what: string): ProviderError => new ProviderError('Unavailable', `the answer bears no readable ${what}`);

export function fields(value: unknown, what: string): Fields {
  if (!isFields(value)) throw unreadable(what);
  return value;
}

export function items(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw unreadable(what);
  return value;
}

export function integer(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw unreadable(what);
  return value;
}

export function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw unreadable(what);
  return value;
}

/** A body as JSON; undefined when it is not JSON, an empty one included. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}
