import { ServerUnreachable } from './api-error.ts';
import type { Connection, Query } from './connection.ts';
import type { WatchQuery } from './selection.ts';
import type { Trimmed } from './trim.ts';

/** Small pages: a page is held as text and as objects before it is trimmed, and pods of 8 KiB and more are common. */
export const PAGE_LIMIT = 100;

export interface Listed<T> {
  readonly entries: readonly Trimmed<T>[];
  /** What a watch goes on from. */
  readonly resourceVersion: string;
}

interface Page {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly next: string;
}

/** @throws ServerUnreachable for anything else: a proxy's idea of an answer must not count as an empty list */
const pageOf = (answer: unknown, path: string): Page => {
  const { metadata, items } = answer as {
    readonly metadata?: { readonly resourceVersion?: unknown; readonly continue?: unknown };
    readonly items?: unknown;
  };
  const { resourceVersion, continue: next } = metadata ?? {};
  // Go writes an empty list as null in places.
  if (typeof resourceVersion !== 'string' || resourceVersion === '' || !(Array.isArray(items) || items === null)) {
    throw new ServerUnreachable(`list ${path}: the answer is no list`);
  }
  return { items: items ?? [], resourceVersion, next: typeof next === 'string' ? next : '' };
};

/** All objects of a query at one moment, each trimmed before the next page is read. Complete, or an error: nothing is told of a part.
 *  @throws ServerUnreachable | ApiError (`Gone` when the list took too long to be continued) */
export const listAll = async <T>(
  connection: Connection,
  { path, labelSelector }: WatchQuery,
  trim: (object: unknown) => Trimmed<T> | null,
): Promise<Listed<T>> => {
  const entries: Trimmed<T>[] = [];
  const base = { limit: PAGE_LIMIT, labelSelector: labelSelector === '' ? undefined : labelSelector };
  let query: Query = base;
  for (;;) {
    const { items, resourceVersion, next } = pageOf(await connection.send({ method: 'GET', path, query }), path);
    for (const item of items) {
      const entry = trim(item);
      if (entry !== null) entries.push(entry);
    }
    if (next === '') return { entries, resourceVersion };
    query = { ...base, continue: next };
  }
};
