import { Refusal } from './refusal.ts';

export interface RateLimit {
  readonly perHour: number;
  readonly perMinute: number;
}

export interface Quota {
  readonly headers: Readonly<Record<string, string>>;
  readonly remaining: number;
  /** The 429 to answer, or null when the request may go on. */
  readonly refusal: Refusal | null;
}

const hour = 3_600_000;
const minute = 60_000;

/**
 * Counts requests per token in two sliding windows: each request counts for one hour, and for one minute against the burst
 * limit. A refused request does not count. Only the burst refusal bears `retry-after` (API introduction, "Rate Limit").
 */
export function createRateLimiter(limit: RateLimit, now: () => number): (token: string) => Quota {
  const windows = new Map<string, Window>();
  return (token) => {
    const window = windows.get(token) ?? createWindow();
    windows.set(token, window);
    const at = now();
    const used = window.countSince(at - hour);
    const burst = window.countSince(at - minute);
    const exhausted = used >= limit.perHour;
    const bursting = burst >= limit.perMinute;
    if (!exhausted && !bursting) window.add(at);
    const oldest = window.oldestSince(at - hour) ?? at;
    const remaining = exhausted || bursting ? 0 : Math.max(0, Math.min(limit.perHour, Number.MAX_SAFE_INTEGER) - used - 1);
    const headers = {
      'ratelimit-limit': String(Math.min(limit.perHour, Number.MAX_SAFE_INTEGER)),
      'ratelimit-remaining': String(remaining),
      'ratelimit-reset': String(Math.ceil((oldest + hour) / 1000)),
    };
    if (!exhausted && !bursting) return { headers, remaining, refusal: null };
    const burstOldest = window.oldestSince(at - minute) ?? at;
    const retry: Record<string, string> = exhausted
      ? {}
      : { 'retry-after': String(Math.max(1, Math.ceil((burstOldest + minute - at) / 1000))) };
    return { headers, remaining, refusal: new Refusal(429, 'too_many_requests', 'API Rate limit exceeded.', retry) };
  };
}

interface Window {
  readonly add: (at: number) => void;
  readonly countSince: (at: number) => number;
  readonly oldestSince: (at: number) => number | undefined;
}

/** Times in rising order; counting is a binary search, so that a bench with many thousand requests stays fast. */
function createWindow(): Window {
  let times: number[] = [];
  const firstAfter = (at: number): number => {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((times[middle] ?? 0) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return {
    add: (at) => {
      const expired = firstAfter(at - hour);
      if (expired > 4096) times = times.slice(expired);
      times.push(at);
    },
    countSince: (at) => times.length - firstAfter(at),
    oldestSince: (at) => times[firstAfter(at)],
  };
}
