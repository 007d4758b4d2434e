import { parseBounded } from '../../actors/ports/bounded-json.ts';
import { ProviderError } from '../../actors/ports/errors.ts';
import { type ErrorKind, type Fields, isFields } from '../../machines/model/types.ts';

/** The error kind by response status, common to all providers. */
export const KIND_OF_STATUS: Readonly<Record<number, ErrorKind>> = {
  401: 'Unauthorized',
  403: 'Unauthorized',
  404: 'NotFound',
  408: 'Unavailable',
  409: 'Conflict',
};

/** Readers of API responses: each returns what it is named for or throws, since a response without it cannot be trusted. */
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
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw unreadable(what);
  return value;
}

export function text(value: unknown, what: string): string {
  if (typeof value !== 'string') throw unreadable(what);
  return value;
}

/** Maximum items of a list: a larger total is invalid, and its pages would cost budget. */
export const MOST_ITEMS = 100_000;

export function total(value: unknown): number {
  const count = integer(value, 'total');
  if (count < 0 || count > MOST_ITEMS) throw unreadable('total');
  return count;
}

/** A numeric header; undefined for anything else. */
export const counted = (header: string | readonly string[] | undefined): number | undefined =>
  typeof header === 'string' && /^\d{1,12}$/.test(header) ? Number(header) : undefined;

/** A body as JSON; undefined when it is empty or not JSON. */
export function parsed(body: string): unknown {
  try {
    return parseBounded(body);
  } catch {
    return undefined;
  }
}
