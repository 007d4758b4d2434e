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
  /** The provider's own by default; with or without the path under which the API stands. */
  readonly url?: string | undefined;
  /** For a whole verb, milliseconds; 15 s by default. */
  readonly deadlineMs?: number | undefined;
  /** Must stay within what the API allows the token. */
  readonly budget: Budget;
  readonly log: Log;
  readonly probe?: Probe | undefined;
  readonly heard?: Listener | undefined;
}

/** Where requests go: `url`, with `path` at its end exactly once. */
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

/** Errors of an unexpected kind may hold the request with its token: only their message goes on. */
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

/** Nobody sends with this token for so long; that it cannot be said to the others is no reason to fail. */
export async function closeBudget({ budget, log }: RequestLayerOptions, ms: number): Promise<void> {
  await budget.close(ms).catch((error: unknown) => {
    log.warn('could not close the request budget', { error: error instanceof Error ? error.message : String(error) });
  });
}

export const shortestWaitMs = 1000;
const longestWaitMs = 3_600_000;
/** No limit of an API lasts so long: what asks for more is mistaken. */
const incredibleWaitMs = 24 * longestWaitMs;

/** A wait that an API asks for, kept between a second and an hour. */
export const boundedWaitMs = (ms: number): number => Math.min(longestWaitMs, Math.max(shortestWaitMs, ms));

/** How long it is until `time` (ms since the epoch) by the clock of whoever answered, ms; by our own where the answer bears no date. */
export function untilByServer({ headers }: Reply, time: number): number {
  const now = Date.parse(headers.date ?? '');
  return time - (Number.isNaN(now) ? Date.now() : now);
}

/** What `Retry-After` asks for, in seconds or as a date (RFC 9110, 10.2.3), bounded; undefined when it says nothing. */
export function retryAfterMs(reply: Reply): number | undefined {
  const after = reply.headers['retry-after'];
  const seconds = counted(after);
  const ms = seconds === undefined ? untilByServer(reply, Date.parse(/^[A-Z]/.test(after ?? '') ? (after ?? '') : '')) : seconds * 1000;
  return Number.isNaN(ms) || ms > incredibleWaitMs ? undefined : boundedWaitMs(ms);
}
