const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Parses a Go-style duration (`1m30s`, `250ms`, `1.5h`), in ms. @throws Error that says what was expected */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) {
    throw new Error(`"${text}" is no duration; write for example 250ms, 15s or 5m`);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNITS[unit ?? ''] ?? 0), 0);
}

/** A comma-separated table of durations, in ms. */
export const parseDurations = (text: string): readonly number[] => text.split(',').map((part) => parseDuration(part.trim()));
