import { ProviderError } from '../../actors/errors.ts';
import { fields, items, total as totalIn } from '../http/read.ts';

/** The most that the API gives. */
const perPage = 200;

/** How many it takes for so many items. */
export const pagesFor = (items: number): number => Math.max(1, Math.ceil(items / perPage));

interface Wanted<T> {
  readonly get: (path: string) => Promise<unknown>;
  readonly path: string;
  /** Under which the items stand. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  /** What is kept of an item. */
  readonly read: (item: unknown) => T;
}

/**
 * Every item of a list. Pages are compared with `meta.total`: a list that came back cut, or changed while it was read, is an error. After each page
 * `onPage` is told how many are left to be read.
 */
export async function readPages<T>(
  { get, path, key, query, read }: Wanted<T>,
  onPage: (pagesLeft: number) => Promise<void>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = 1; ; page++) {
    const search = new URLSearchParams({ ...query, page: String(page), per_page: String(perPage) });
    const body = fields(await get(`${path}?${search}`), key);
    const found = items(body[key], key);
    const total = totalIn(fields(body.meta, 'total').total);
    // At once: an address comes with its whole droplet, 5 KB each.
    all.push(...found.map(read));
    if (all.length !== total && (found.length < perPage || all.length > total)) {
      throw new ProviderError('Unavailable', `list ${key}: ${all.length} of ${total} were shown`);
    }
    await onPage(pagesFor(total) - page);
    if (all.length === total) return all;
  }
}
