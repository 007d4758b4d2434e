import type { Api } from './api.ts';
import { ApiError, badRequest, expired } from './errors.ts';
import type { JsonObject } from './objects.ts';
import type { Resource } from './resource.ts';
import { allOf, fieldPredicate, labelPredicate, type Predicate } from './selectors.ts';
import { type Entry, keyOf, type Snapshot } from './store.ts';

export interface Page {
  revision: number;
  entries: readonly Entry[];
  /** The token of the next page; '' on the last one. */
  continueToken: string;
  /** How many follow; undefined when a selector makes it unknowable, as on the real server. */
  remaining: number | undefined;
}

interface Token {
  rv: number;
  start: string;
}

const EXPIRED =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

const write = (token: Token): string => Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', ...token })).toString('base64url');

const read = (text: string): Token => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const token = parsed as Token;
    if (typeof token.rv === 'number' && typeof token.start === 'string') return token;
  } catch (cause) {
    throw Object.assign(badRequest('invalid continue token: continue key is not valid: it is no base64 of JSON'), { cause });
  }
  throw badRequest('continue key is not valid: incorrect encoded start resourceVersion');
};

/** The selection that a list, a watch or a deletecollection names in its query. @throws ApiError 400. */
export const selectionOf = (resource: Resource, namespace: string | undefined, query: URLSearchParams): Predicate | undefined =>
  allOf(
    namespace === undefined ? undefined : (object) => object.metadata.namespace === namespace,
    labelPredicate(query.get('labelSelector') ?? ''),
    fieldPredicate(resource, query.get('fieldSelector') ?? ''),
  );

/** @throws ApiError 400, 504 when the revision lies in the future. */
export const checkRevision = (text: string, current: number): number => {
  if (text === '') return 0;
  if (!/^\d+$/.test(text)) throw badRequest(`Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
  const revision = Number(text);
  if (revision <= current) return revision;
  throw new ApiError(504, 'Timeout', `Too large resource version: ${revision}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
};

const snapshotFor = (api: Api, resource: Resource, token: Token | undefined): Snapshot => {
  if (!token || token.rv < 0) return api.store.list(resource.storage);
  const kept = api.store.kept(resource.storage, token.rv);
  if (!kept) throw expired(EXPIRED, write({ rv: -1, start: token.start }));
  return kept;
};

const keyOfEntry = ({ object }: Entry): string => keyOf(object.metadata.namespace, object.metadata.name ?? '');

/** The place of the first entry behind `key`: they are in the order of keys. */
const placeAfter = (entries: readonly Entry[], key: string): number => {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry && keyOfEntry(entry) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** One page of a list. All pages of one list show the same moment. @throws ApiError 400, 410, 504. */
export const listPage = (api: Api, resource: Resource, namespace: string | undefined, query: URLSearchParams): Page => {
  const limit = Number(query.get('limit') ?? 0);
  const continued = query.get('continue') ?? '';
  const token = continued === '' ? undefined : read(continued);
  if (!token) checkRevision(query.get('resourceVersion') ?? '', api.store.revision);
  const snapshot = snapshotFor(api, resource, token);
  const selection = selectionOf(resource, namespace, query);
  const { revision } = snapshot;
  const rest = snapshot.entries.slice(token ? placeAfter(snapshot.entries, token.start) : 0);
  const selected = rest.values().filter(({ object }) => selection?.(object) ?? true);
  if (limit <= 0) return { revision, entries: [...selected], continueToken: '', remaining: undefined };
  // One more than is answered tells that there is more: who reads page after page is not to have the whole collection looked through each time.
  const found = [...selected.take(limit + 1)];
  if (found.length <= limit) return { revision, entries: found, continueToken: '', remaining: undefined };
  const entries = found.slice(0, limit);
  api.store.keep(resource.storage, snapshot);
  const last = entries.at(-1);
  const start = last ? keyOfEntry(last) : (token?.start ?? '');
  const isSelective = query.has('labelSelector') || query.has('fieldSelector');
  return {
    revision,
    entries,
    continueToken: write({ rv: token && token.rv < 0 ? -1 : revision, start }),
    remaining: isSelective ? undefined : countIn(rest, namespace) - limit,
  };
};

const countIn = (entries: readonly Entry[], namespace: string | undefined): number =>
  namespace === undefined ? entries.length : entries.filter(({ object }) => object.metadata.namespace === namespace).length;

export const listMeta = (resource: Resource, page: Page): JsonObject => ({
  resourceVersion: String(page.revision),
  // Lists of custom resources always bear the field, those of built-in ones only when it says something.
  ...(page.continueToken === '' && !resource.custom ? {} : { continue: page.continueToken }),
  ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
});
