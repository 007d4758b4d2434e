import { ServerUnreachable } from './api-error.ts';
import type { Connection, Query } from './connection.ts';
import type { WatchQuery } from './selection.ts';
import type { Trimmed } from './trim.ts';

/** A page is trimmed as it arrives, so this bounds only how long one request takes. */
const PAGE_LIMIT = 250;

export interface Listed<T> {
  readonly entries: readonly Trimmed<T>[];
  /** What a watch goes on from. */
  readonly resourceVersion: string;
}

interface Page {
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
  return { resourceVersion, next: typeof next === 'string' ? next : '' };
};

/** All objects of a query at one moment, each trimmed as soon as it is read. Complete, or an error: nothing is told of a part.
 *  @throws ServerUnreachable | ApiError (`Gone` when the list took too long to be continued) */
export const listAll = async <T>(
  connection: Connection,
  { path, labelSelector, fieldSelector }: WatchQuery,
  trim: (object: unknown) => Trimmed<T> | null,
): Promise<Listed<T>> => {
  const entries: Trimmed<T>[] = [];
  const base = { limit: PAGE_LIMIT, labelSelector: labelSelector === '' ? undefined : labelSelector, fieldSelector };
  let query: Query = base;
  for (;;) {
    const answer = await connection.list({ path, query }, (item) => {
      const entry = trim(item);
      if (entry !== null) entries.push(entry);
    });
    const { resourceVersion, next } = pageOf(answer, path);
    if (next === '') return { entries, resourceVersion };
    query = { ...base, continue: next };
  }
};
