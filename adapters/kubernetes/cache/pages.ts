import { fieldsOf } from '../../../machines/model/types.ts';
import { isListOf, isOf, unreadable } from '../client/answers.ts';
import type { Connection, Query } from '../client/connection.ts';
import { type Trimmed, text } from './trim.ts';

/** A page is trimmed as it arrives, so this bounds only how long one request takes. */
const PAGE_LIMIT = 250;

/** A list of a million objects is not a real list: its pages loop. */
const MOST_PAGES = 4_000;
const MOST_ENTRIES = MOST_PAGES * PAGE_LIMIT;

/** A server without pagination returns all objects at once. A response far larger than any cluster never ends, and would fill the memory until the timeout. */
const MOST_AT_ONCE = 200_000;

export interface Listed<T> {
  readonly entries: readonly Trimmed<T>[];
  /** Where a watch continues. */
  readonly resourceVersion: string;
}

interface Page {
  readonly resourceVersion: string;
  /** Empty on the last page. */
  readonly next: string;
}

/** @throws ServerUnreachable for anything else: a proxy's response must not count as an empty list */
const pageOf = (answer: unknown, path: string): Page => {
  const list = fieldsOf(answer);
  const metadata = fieldsOf(list.metadata);
  const resourceVersion = text(metadata.resourceVersion);
  // The items themselves were streamed to the caller. Go sometimes encodes an empty list as null.
  const isEmptied = list.items === null || (Array.isArray(list.items) && list.items.length === 0);
  if (resourceVersion === '' || !isEmptied || !isListOf(path, list)) throw unreadable({ verb: 'list', path }, 'the answer is no list');
  return { resourceVersion, next: text(metadata.continue) };
};

/** A consistent list of all objects of a query, each trimmed as soon as it is read. Complete or an error, never partial.
 *  @throws ServerUnreachable | ApiError (`Gone` when the list took too long to be continued) */
export const listAll = async <T>(
  connection: Connection,
  { path, labelSelector, fieldSelector }: WatchQuery,
  trim: (object: unknown) => Trimmed<T> | null,
): Promise<Listed<T>> => {
  const entries: Trimmed<T>[] = [];
  const base = { limit: PAGE_LIMIT, labelSelector: labelSelector === '' ? undefined : labelSelector, fieldSelector };
  let query: Query = base;
  const unending = (): Error => unreadable({ verb: 'list', path }, 'it does not end');
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const most = Math.min(entries.length + MOST_AT_ONCE, MOST_ENTRIES);
    const answer = await connection.list({ path, query }, (item) => {
      // An unexpected item must not be skipped: the object would count as deleted.
      if (!isOf(path, item)) throw unreadable({ verb: 'list', path }, 'one of its items is no such object');
      const entry = trim(item);
      if (entry !== null) entries.push(entry);
      if (entries.length > most) throw unending();
    });
    const { resourceVersion, next } = pageOf(answer, path);
    if (next === '') return { entries, resourceVersion };
    query = { ...base, continue: next };
  }
  throw unending();
};

/** The query of one watch. Equal queries share one watch. */
export interface WatchQuery {
  /** Path of the collection, including the namespace. */
  readonly path: string;
  readonly labelSelector: string;
  /** E.g. `metadata.name=web`; absent for all. */
  readonly fieldSelector?: string;
}
