import { stringify } from 'yaml';
import { visible } from '../machines/model/visible.ts';
import type { Session } from './ports.ts';

const GAP = '   ';

/** Columns as wide as their widest cell, headed; the last one is not padded. An empty cell shows as `-`. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const lines = [heads, ...rows.map((row) => row.map((cell) => visible(cell) || '-'))];
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) => `${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(GAP)}`.trimEnd());
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const;

/** A duration as kubectl shows ages: one unit, used from two of it on, so that 90 s are not `1m`. Negative durations count as zero. */
export function age(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= 2 * length) ?? ['s', 1000];
  return `${Math.max(0, Math.floor(ms / size))}${unit}`;
}

/** The value as `-o json` and `-o yaml` print it; null where a table is asked for. */
export function data({ output }: Pick<Session, 'output'>, value: unknown): readonly string[] | null {
  if (output === 'json') return JSON.stringify(value, null, 2).split('\n');
  // YAML 1.1 parsers would read unquoted text as times.
  return output === 'yaml' ? stringify(value, { lineWidth: 0, version: '1.1' }).trimEnd().split('\n') : null;
}
