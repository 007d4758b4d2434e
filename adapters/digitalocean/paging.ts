import { ProviderError } from '../../actors/errors.ts';
import { fields, items, total as totalIn } from '../http/read.ts';

/** The most that the API gives. */
const MOST_PER_PAGE = 200;
/** Half of what DigitalOcean's own cloud controller asks for. */
const FEWEST_PER_PAGE = 25;
/** How long after a failure larger pages are tried again, ms. */
const LARGER_AFTER_MS = 3_600_000;

/** How many pages it takes for so many items. */
export const pagesFor = (items: number, perPage: number): number => Math.max(1, Math.ceil(items / perPage));

/** How large the pages of each list are: smaller ones after the server has failed, which large ones may be too much for, and larger ones again an hour later. */
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
  /** Under which the items stand. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly perPage: number;
  /** What is kept of an item. */
  readonly read: (item: unknown) => T;
}

/**
 * Every item of a list. Pages are compared with `meta.total`: a list that came back cut, or changed while it was read, is an error. After each page
 * `onPage` is told how many are left to be read.
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
    // At once: an address comes with its whole droplet, 5 KB each.
    all.push(...found.map(read));
    if (all.length !== total && (found.length < perPage || all.length > total)) {
      throw new ProviderError('Unavailable', `list ${key}: ${all.length} of ${total} were shown`);
    }
    await onPage(pagesFor(total, perPage) - page);
    if (all.length === total) return all;
  }
}
