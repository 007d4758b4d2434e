import { pageOf } from '../http/paging.ts';

/** What a route answers; the server adds the rate-limit headers. */
export interface Reply {
  readonly status: number;
  readonly body?: Readonly<Record<string, unknown>>;
}

export const noContent: Reply = { status: 204 };

export const ok = (body: Readonly<Record<string, unknown>>, status = 200): Reply => ({ status, body });

export const maxPerPage = 200;
export const defaultPerPage = 20;

/** One page of a list, with `links.pages` holding only the links that make sense there and `meta.total`. */
export function page<T>(url: URL, key: string, items: readonly T[], render: (item: T) => unknown = (item) => item): Reply {
  const { perPage, number } = pageOf(url, { fallback: defaultPerPage, max: maxPerPage });
  const last = Math.max(1, Math.ceil(items.length / perPage));
  const link = (target: number): string => {
    const next = new URL(url);
    next.searchParams.set('page', String(target));
    next.searchParams.set('per_page', String(perPage));
    return next.toString();
  };
  const pages: Record<string, string> = {};
  if (number > 1) {
    pages.first = link(1);
    pages.prev = link(number - 1);
  }
  if (number < last) {
    pages.next = link(number + 1);
    pages.last = link(last);
  }
  return ok({
    [key]: items.slice((number - 1) * perPage, number * perPage).map((item) => render(item)),
    links: Object.keys(pages).length === 0 ? {} : { pages },
    meta: { total: items.length },
  });
}
