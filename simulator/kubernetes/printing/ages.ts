import type { Json } from '../objects.ts';

const twoUnits = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`;

interface Span {
  /** Seconds from which the next row holds. */
  below: number;
  text(seconds: number): string;
}

const DAY = 86_400;

/** kubectl prints two units while the larger is small, then only that one. */
const SPANS: readonly Span[] = [
  { below: -1, text: () => '<invalid>' },
  { below: 0, text: () => '0s' },
  { below: 120, text: (seconds) => `${seconds}s` },
  { below: 600, text: (seconds) => twoUnits(Math.floor(seconds / 60), 'm', seconds % 60, 's') },
  { below: 3 * 3600, text: (seconds) => `${Math.floor(seconds / 60)}m` },
  { below: 8 * 3600, text: (seconds) => twoUnits(Math.floor(seconds / 3600), 'h', Math.floor(seconds / 60) % 60, 'm') },
  { below: 2 * DAY, text: (seconds) => `${Math.floor(seconds / 3600)}h` },
  { below: 8 * DAY, text: (seconds) => twoUnits(Math.floor(seconds / DAY), 'd', Math.floor(seconds / 3600) % 24, 'h') },
  { below: 2 * 365 * DAY, text: (seconds) => `${Math.floor(seconds / DAY)}d` },
  { below: 8 * 365 * DAY, text: (seconds) => twoUnits(Math.floor(seconds / (365 * DAY)), 'y', Math.floor(seconds / DAY) % 365, 'd') },
  { below: Number.POSITIVE_INFINITY, text: (seconds) => `${Math.floor(seconds / (365 * DAY))}y` },
];

/** A span of time as kubectl prints ages. */
export const age = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  return SPANS.find(({ below }) => seconds < below)?.text(seconds) ?? '';
};

export const since = (time: Json | undefined): string => (typeof time === 'string' ? age(Date.now() - Date.parse(time)) : '<unknown>');
