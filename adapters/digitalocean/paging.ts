import { ProviderError } from '../../actors/ports/errors.ts';
import { type Fields, fieldsOf, isFields } from '../../machines/model/types.ts';
import { fields, items, MOST_ITEMS, total as totalIn } from '../http/read.ts';

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

/** A list has fewer items than it says, or the same one twice: what it shows is there, and what it does not show may be there, too. */
export class CutList<T> extends ProviderError {
  readonly shown: readonly T[];

  constructor(message: string, shown: readonly T[]) {
    super('Unavailable', message);
    this.name = 'CutList';
    this.shown = shown;
  }
}

/**
 * Every item of a list. Pages follow one another as long as `links.pages` has a next one; of an API without links, until as many items were shown as `meta.total` says. After each page
 * `onPage` is told how many are left to be read. @throws CutList when fewer were shown than that in the end
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
    await onPage(pagesFor(total, perPage) - page);
    if (found.length > 0 && page < pagesFor(MOST_ITEMS, perPage) && (hasNext(body) ?? (found.length === perPage && all.length < total)))
      continue;
    if (all.length < total) throw new CutList(`list ${key}: ${all.length} of ${total} were shown`, all);
    return all;
  }
}

/** Undefined for an API that says nothing of pages. Where they are is not taken from it: the token is for this host. */
function hasNext({ links }: Fields): boolean | undefined {
  return isFields(links) ? typeof fieldsOf(links.pages).next === 'string' : undefined;
}
