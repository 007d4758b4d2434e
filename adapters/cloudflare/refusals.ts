import { ProviderError } from '../../actors/ports/errors.ts';
import { type ErrorKind, isFields } from '../../machines/model/types.ts';
import type { Reply } from '../http/exchange.ts';
import { KIND_OF_STATUS } from '../http/read.ts';
import { boundedWaitMs, retryAfterMs } from '../http/verbs.ts';

interface ApiError {
  readonly code: number;
  readonly message: string;
}

/** Error codes that the API returns under several statuses: there the code decides. */
const kindOfCode: ReadonlyMap<number, ErrorKind> = new Map([
  // Tokens: malformed headers (the error chain says which), missing headers, an unknown token, a token without the permission.
  [6003, 'Unauthorized'],
  [6111, 'Unauthorized'],
  [9106, 'Unauthorized'],
  [9109, 'Unauthorized'],
  [10_000, 'Unauthorized'],
  // Unknown identifiers.
  [1001, 'NotFound'],
  [1049, 'NotFound'],
  [7000, 'NotFound'],
  [7003, 'NotFound'],
  [81_044, 'NotFound'],
  // Conflicting records: a host with a CNAME, an identical record.
  [81_053, 'Conflict'],
  [81_054, 'Conflict'],
  [81_057, 'Conflict'],
  [81_058, 'Conflict'],
]);

/** The error for an unsuccessful response. `write`: whether the request may have changed something. */
export function refusal(reply: Reply, data: unknown, what: string, write: boolean): ProviderError {
  const { status } = reply;
  const errors = errorsOf(data);
  const reason = errors.map(({ code, message }) => `${message} (${code})`).join('; ') || '(no message)';
  const wait = waitMs(reply);
  const isForeign = errors.length === 0;
  const more = {
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    unknownOutcome: write && status !== 429 && (isForeign || isUnclear(status)),
  };
  return new ProviderError(kindOf(status, errors), `${what}: ${status} ${reason.slice(0, 300)}`, more);
}

/** The effect is unknown when the response is not from the API itself, or reports both success and failure. */
const isUnclear = (status: number): boolean => status >= 500 || status < 400;

function kindOf(status: number, errors: readonly ApiError[]): ErrorKind {
  if (status === 429) return 'RateLimited';
  // A refusal without an API error comes from a proxy: its 404 says nothing about a zone.
  if (status >= 500 || errors.length === 0) return 'Unavailable';
  const byCode = errors.map(({ code }) => kindOfCode.get(code)).find((kind) => kind !== undefined);
  return byCode ?? KIND_OF_STATUS[status] ?? (status < 400 ? 'Unavailable' : 'Invalid');
}

/** The errors of an envelope, each followed by its chain, which often says more than the error itself. */
function errorsOf(data: unknown): readonly ApiError[] {
  const listed = isFields(data) && Array.isArray(data.errors) ? data.errors : [];
  return listed.flatMap(chainOf);
}

function chainOf(value: unknown): ApiError[] {
  if (!isFields(value)) return [];
  const { code, message, error_chain: chain } = value;
  const error = { code: typeof code === 'number' ? code : 0, message: typeof message === 'string' ? message : '(no message)' };
  return [error, ...(Array.isArray(chain) ? chain.flatMap(chainOf) : [])];
}

/** A token over its limit is blocked for five minutes: one request a minute is cheap when no wait is named. */
const unnamedWaitMs = 60_000;

/** How long the API asks to wait, ms: `Retry-After`, otherwise on a 429 until the end of the window. */
export function waitMs(reply: Reply): number | undefined {
  const named = retryAfterMs(reply);
  return named === undefined && reply.status === 429 ? (windowOf(reply)?.endsInMs ?? unnamedWaitMs) : named;
}

/** Parses the header `Ratelimit: "default";r=50;t=30`: remaining requests, and when the window ends. */
export function windowOf({ headers }: Reply): { readonly remaining: number; readonly endsInMs: number } | undefined {
  const said = String(headers.ratelimit ?? '');
  const remaining = /;\s*r=(\d+)/.exec(said)?.[1];
  const seconds = /;\s*t=(\d+)/.exec(said)?.[1];
  if (remaining === undefined || seconds === undefined) return undefined;
  return { remaining: Number(remaining), endsInMs: boundedWaitMs(Number(seconds) * 1000) };
}
