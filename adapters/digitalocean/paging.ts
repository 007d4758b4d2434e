import { ProviderError } from '../../actors/ports/errors.ts';
import { type Fields, fieldsOf, isFields } from '../../machines/model/types.ts';
import { fields, items, MOST_ITEMS, total as totalIn } from '../http/read.ts';

/** The API's maximum. */
const MOST_PER_PAGE = 200;
/** Half of what DigitalOcean's own cloud controller requests. */
const FEWEST_PER_PAGE = 25;
/** How long after a failure larger pages are tried again, ms. */
const LARGER_AFTER_MS = 3_600_000;

/** Number of pages for that many items. */
export const pagesFor = (items: number, perPage: number): number => Math.max(1, Math.ceil(items / perPage));

/** Page size of each list: halved after a server error, since large pages may overload the server, and doubled again every hour. */
export class PageSizes {
  readonly #smaller = new Map<string, { readonly perPage: number; readonly since: number }>();

  of(path: string, at: number): number {
    const { perPage = MOST_PER_PAGE, since = at } = this.#smaller.get(path) ?? {};
    return Math.min(MOST_PER_PAGE, perPage * 2 ** Math.floor((at - since) / LARGER_AFTER_MS));
  }

  failed(path: string, at: number): void {
    this.#smaller.set(path, { perPage: Math.max(FEWEST_PER_PAGE, this.of(path, at) / 2), since: at });
  }
}

interface Wanted<T> {
  readonly get: (path: string) => Promise<unknown>;
  readonly path: string;
  /** Field that contains the items. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly perPage: number;
  /** Extracts what is kept of an item. */
  readonly read: (item: unknown) => T;
}

/** A list has fewer items than its total: the items shown exist, and others may exist, too. */
export class CutList<T> extends ProviderError {
  readonly shown: readonly T[];

  constructor(message: string, shown: readonly T[]) {
    super('Unavailable', message);
    this.name = 'CutList';
    this.shown = shown;
  }
}

/**
 * Every item of a list. Reads pages while `links.pages` has a next one; for an API without links, until `meta.total` items were shown. After each page
 * `onPage` receives the number of pages left. @throws CutList when fewer than `meta.total` were shown in the end
 */
export async function readPages<T>(
  { get, path, key, query, perPage, read }: Wanted<T>,
  onPage: (pagesLeft: number) => Promise<void>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (let page = 1; ; page++) {
    const search = new URLSearchParams({ ...query, page: String(page), per_page: String(perPage) });
    const body = fields(await get(`${path}?${search}`), key);
    const found = items(body[key], key);
    const total = totalIn(fields(body.meta, 'total').total);
    // Reduced immediately: an address comes with its whole droplet, 5 KB each.
    all.push(...found.map(read));
    await onPage(pagesFor(total, perPage) - page);
    if (found.length > 0 && page < pagesFor(MOST_ITEMS, perPage) && (hasNext(body) ?? (found.length === perPage && all.length < total)))
      continue;
    if (all.length < total) throw new CutList(`list ${key}: ${all.length} of ${total} were shown`, all);
    return all;
  }
}

/** Undefined for an API without page links. Their URLs are not followed: the token is for this host. */
function hasNext({ links }: Fields): boolean | undefined {
  return isFields(links) ? typeof fieldsOf(links.pages).next === 'string' : undefined;
}
