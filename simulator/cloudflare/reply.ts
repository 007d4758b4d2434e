import { type PageSizes, pageOf } from '../http/paging.ts';

/** What a route answers. */
export type Reply =
  | { readonly kind: 'result'; readonly result: unknown; readonly info?: Readonly<Record<string, number>> }
  /** Not JSON: an exported zone. */
  | { readonly kind: 'text'; readonly text: string };

export const result = (value: unknown): Reply => ({ kind: 'result', result: value });

export const isoTime = (ms: number): string => new Date(ms).toISOString().replace(/Z$/, '000Z');

/** One page of a list. */
export function page(url: URL, items: readonly unknown[], sizes: PageSizes): Reply {
  const { perPage, number } = pageOf(url, sizes);
  const shown = items.slice((number - 1) * perPage, number * perPage);
  const info = {
    page: number,
    per_page: perPage,
    count: shown.length,
    total_count: items.length,
    total_pages: Math.ceil(items.length / perPage),
  };
  return { kind: 'result', result: shown, info };
}
