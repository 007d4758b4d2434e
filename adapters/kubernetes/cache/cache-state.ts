/** State of the caches of one kind of object. */
export interface CacheState {
  readonly kind: string;
  /** All of the caches hold a complete list, and their watches work. */
  readonly synced: boolean;
  /** When the least recently updated cache last received anything from the server, ms since the epoch; null while one has received nothing. */
  readonly syncedAt: number | null;
}

/** A cache of objects of one kind. */
export interface Cache {
  readonly kind: string;
  readonly reflector: { readonly synced: boolean; readonly trouble: Error | null; readonly heardAt: number | null };
}

/** The state of each kind, by name. */
export function cacheStates(caches: readonly Cache[]): readonly CacheState[] {
  const kinds = [...new Set(caches.map(({ kind }) => kind))].sort();
  return kinds.map((kind) => {
    const own = caches.filter((cache) => cache.kind === kind).map(({ reflector }) => reflector);
    const times = own.map(({ heardAt }) => heardAt).filter((at) => at !== null);
    return {
      kind,
      synced: own.every(({ synced, trouble }) => synced && trouble === null),
      syncedAt: times.length === own.length ? Math.min(...times) : null,
    };
  });
}
