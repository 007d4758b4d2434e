/** Milliseconds since the epoch with fractions, by the same clock as the simulated DigitalOcean's call log. */
export const now = (): number => performance.timeOrigin + performance.now();

/** A duration as people read it: `0.4 ms`, `38 ms`, `1.32 s`, `2 min 5 s`. */
export function span(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 9_995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Whole seconds, for what changes while one looks at it. */
export const coarseSpan = (ms: number): string => (ms < 59_950 ? `${Math.floor(Math.max(0, ms) / 1000)} s` : span(ms));
