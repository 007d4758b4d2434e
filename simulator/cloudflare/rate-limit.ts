import { type Refusal, tooManyRequests } from './refusal.ts';

export interface RateLimit {
  readonly requests: number;
  readonly windowMs: number;
}

export interface Quota {
  readonly headers: Readonly<Record<string, string>>;
  readonly remaining: number;
  /** The 429 to answer, or null when the request may go on. */
  readonly refusal: Refusal | null;
}

interface Window {
  endsAt: number;
  used: number;
  blocked: boolean;
}

/**
 * Counts requests per token in windows that begin with a request. One request too many blocks the token for a whole window from then on
 * (API reference, "Rate limits"). Headers after the IETF draft that the reference names: `Ratelimit`, `Ratelimit-Policy`, `retry-after`.
 */
export function createRateLimiter(limit: RateLimit, now: () => number): (token: string) => Quota {
  const windows = new Map<string, Window>();
  return (token) => {
    const at = now();
    const known = windows.get(token);
    const window = known !== undefined && at < known.endsAt ? known : { endsAt: at + limit.windowMs, used: 0, blocked: false };
    windows.set(token, window);
    if (!window.blocked && window.used >= limit.requests) {
      window.blocked = true;
      window.endsAt = at + limit.windowMs;
    }
    if (!window.blocked) window.used += 1;
    const remaining = window.blocked ? 0 : limit.requests - window.used;
    const seconds = Math.max(1, Math.ceil((window.endsAt - at) / 1000));
    const headers = {
      ratelimit: `"default";r=${remaining};t=${seconds}`,
      'ratelimit-policy': `"default";q=${limit.requests};w=${Math.ceil(limit.windowMs / 1000)}`,
    };
    const refusal = window.blocked ? tooManyRequests({ ...headers, 'retry-after': String(seconds) }) : null;
    return { headers, remaining, refusal };
  };
}
