/** What a route answers. */
export type Reply =
  | { readonly kind: 'result'; readonly result: unknown; readonly info?: Readonly<Record<string, number>> }
  /** Not JSON: an exported zone. */
  | { readonly kind: 'text'; readonly text: string };

export const result = (value: unknown): Reply => ({ kind: 'result', result: value });

export const isoTime = (ms: number): string => new Date(ms).toISOString().replace(/Z$/, '000Z');

/** One page of a list; `max` is the largest page there is, which a wish for more gets as well. */
export function page(url: URL, items: readonly unknown[], sizes: { readonly fallback: number; readonly max: number }): Reply {
  const perPage = Math.min(sizes.max, positive(url.searchParams.get('per_page')) ?? sizes.fallback);
  const number = positive(url.searchParams.get('page')) ?? 1;
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

function positive(value: string | null): number | undefined {
  const number = Number(value);
  return value !== null && Number.isInteger(number) && number >= 1 ? number : undefined;
}
