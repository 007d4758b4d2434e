import { type Figure, isReached, type Target } from './figures.ts';

/** What one scenario came to. */
export interface Result {
  readonly scenario: string;
  /** The conditions under which it was measured, for people. */
  readonly conditions: readonly string[];
  readonly figures: readonly Figure[];
  readonly seconds: number;
  /** Load of the machine over the last minute, before and after. */
  readonly load: readonly [number, number];
}

/** Columns of a terminal that no line goes beyond. */
export const WIDTH = 120;

/** The text in lines of at most so many characters, broken at spaces. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** The lines of a table with every figure, its target and whether that is reached. */
export function table(results: readonly Result[]): readonly string[] {
  const rows = results.flatMap(({ figures }) => figures.map(cells));
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)));
  return results.flatMap(({ scenario, conditions, figures, seconds, load }) => [
    '',
    `${scenario}  (${seconds.toFixed(0)} s, load ${load.map((one) => one.toFixed(1)).join(' -> ')})`,
    ...conditions.flatMap((line) => wrapped(line, WIDTH - 4).map((part) => `    ${part}`)),
    ...figures.map((figure) => {
      const [what = '', value = '', target = '', verdict = ''] = cells(figure);
      return `  ${what.padEnd(widths[0] ?? 0)}  ${value.padStart(widths[1] ?? 0)}  ${target.padEnd(widths[2] ?? 0)}  ${verdict}`.trimEnd();
    }),
  ]);
}

function cells(figure: Figure): readonly string[] {
  const reached = isReached(figure);
  const { what, value, unit, target } = figure;
  return [
    what,
    shown(value, unit),
    target === undefined ? '' : `${wanted(target)} ${unit}`.trimEnd(),
    reached === null ? '' : reached ? 'ok' : 'MISSED',
  ];
}

const shown = (value: number, unit: string): string => `${rounded(value)} ${unit}`.trimEnd();

function wanted(target: Target): string {
  if ('atMost' in target) return `<= ${rounded(target.atMost)}`;
  return 'atLeast' in target ? `>= ${rounded(target.atLeast)}` : `= ${rounded(target.exactly)}`;
}

/** Three digits that count, two of what is less than a tenth, and no digits behind the point of what has more than three before it. */
export function rounded(value: number): string {
  if (Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  if (size < 0.1) return value.toPrecision(2);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}
