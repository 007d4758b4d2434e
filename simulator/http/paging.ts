export interface PageSizes {
  /** When nothing is wished. */
  readonly fallback: number;
  /** The largest page there is, which a wish for more gets as well. */
  readonly max: number;
}

/** Which page of a list the query asks for: `number` counts from 1. */
export function pageOf(url: URL, sizes: PageSizes): { readonly perPage: number; readonly number: number } {
  return {
    perPage: Math.min(sizes.max, positive(url.searchParams.get('per_page')) ?? sizes.fallback),
    number: positive(url.searchParams.get('page')) ?? 1,
  };
}

function positive(value: string | null): number | undefined {
  const number = Number(value);
  return value !== null && Number.isInteger(number) && number >= 1 ? number : undefined;
}
