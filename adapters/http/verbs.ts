import type { Budget } from '../../actors/ports/budget.ts';
import { Fenced, ProviderError, Unreachable } from '../../actors/ports/errors.ts';
import type { Log, Probe } from '../../actors/ports/observers.ts';
import type { Call } from '../../actors/ports/provider.ts';
import type { Listener, Reply, Verb } from './exchange.ts';
import { counted } from './read.ts';

export interface RequestLayerOptions {
  readonly token: string;
  /** `routedip-operator` by default. */
  readonly userAgent?: string | undefined;
  /** The provider's own by default; with or without the API's base path. */
  readonly url?: string | undefined;
  /** Deadline of a whole verb, ms; 15 s by default. */
  readonly deadlineMs?: number | undefined;
  /** Must stay within the API's limits for the token. */
  readonly budget: Budget;
  readonly log: Log;
  readonly probe?: Probe | undefined;
  readonly heard?: Listener | undefined;
}

/** The base URL of requests: `url` with `path` appended, unless it already ends in it. */
export function baseURLOf(url: string, path: string): string {
  const bare = url.replace(/\/+$/, '');
  return bare.endsWith(path) ? bare : bare + path;
}

export const userAgentOf = ({ userAgent }: RequestLayerOptions): string => userAgent ?? 'routedip-operator';

const defaultDeadlineMs = 15_000;

export const verbOf = (options: RequestLayerOptions, what: string, call: Call): Verb => ({
  what,
  call,
  deadlineAt: performance.now() + (options.deadlineMs ?? defaultDeadlineMs),
});

/** Unexpected errors may contain the request with its token: only their message is kept. */
export function withoutSecrets(error: unknown, what: string): unknown {
  if (error instanceof ProviderError || error instanceof Fenced || error instanceof Unreachable) return error;
  const message = error instanceof Error ? error.message : 'an unknown error';
  return new ProviderError('Unavailable', `${what}: ${message}`, { unknownOutcome: true });
}

/** Resolves when `requests` of the verb are paid for. @throws ProviderError RateLimited when the budget does not allow them now; Unavailable */
export async function pay(budget: Budget, verb: Verb, requests = 1): Promise<void> {
  const { purpose, namespaces, prepaid = { atOnce: 1, left: 0, made: 0 } } = verb.call;
  const missing = Math.max(requests - prepaid.left, prepaid.made === 0 ? prepaid.atOnce : 0);
  const waitMs =
    missing <= 0
      ? 0
      : await budget.pay(purpose, missing, namespaces).catch((cause: unknown) => {
          const why = cause instanceof Error ? `: ${cause.message}` : '';
          throw new ProviderError('Unavailable', `${verb.what}: the request budget cannot be read${why}`, { cause });
        });
  if (waitMs > 0) throw new ProviderError('RateLimited', `${verb.what}: the request budget is spent`, { retryAfterMs: waitMs });
  prepaid.left += Math.max(0, missing) - requests;
  prepaid.made += requests;
}

/** No process sends with this token for `ms`; a failure to record that is only logged. */
export async function closeBudget({ budget, log }: RequestLayerOptions, ms: number): Promise<void> {
  await budget.close(ms).catch((error: unknown) => {
    log.warn('could not close the request budget', { error: error instanceof Error ? error.message : String(error) });
  });
}

export const shortestWaitMs = 1000;
const longestWaitMs = 3_600_000;
/** No API limit lasts longer: a longer wait is invalid. */
const incredibleWaitMs = 24 * longestWaitMs;

/** A wait requested by an API, clamped between a second and an hour. */
export const boundedWaitMs = (ms: number): number => Math.min(longestWaitMs, Math.max(shortestWaitMs, ms));

/** The time until `time` (ms since the epoch) by the server's clock, ms; by our own where the response has no date. */
export function untilByServer({ headers }: Reply, time: number): number {
  const now = Date.parse(headers.date ?? '');
  return time - (Number.isNaN(now) ? Date.now() : now);
}

/** `Retry-After` in seconds or as a date (RFC 9110, 10.2.3), as bounded ms; undefined when absent or invalid. */
export function retryAfterMs(reply: Reply): number | undefined {
  const after = reply.headers['retry-after'];
  const seconds = counted(after);
  const ms = seconds === undefined ? untilByServer(reply, Date.parse(/^[A-Z]/.test(after ?? '') ? (after ?? '') : '')) : seconds * 1000;
  return Number.isNaN(ms) || ms > incredibleWaitMs ? undefined : boundedWaitMs(ms);
}
