import type { Compared, Row } from './compare.ts';
import type { Spread } from './spread.ts';
import { rounded, WIDTH, wrapped } from './table.ts';

/** Longer names go on in a line of their own. */
const NAME_WIDTH = 50;
const GAP = '  ';
/** Name, unit, two columns for each build, ratio, verdict. */
const TITLES = ['', '', 'median', '[low, high]', 'median', '[low, high]', 'ratio', ''];
const LEFT = new Set([0, 1, 7]);

/** The lines of a table with both builds' medians, their intervals, the ratio and the verdict of every figure. */
export function compareTable(compared: Compared, former: string, current: string): readonly string[] {
  const { scenario, conditions, rows, order, seconds, load } = compared;
  const cells = [TITLES, ...rows.flatMap(cellsOf)];
  const widths = TITLES.map((_, column) => (column === 0 ? NAME_WIDTH : Math.max(...cells.map((row) => row[column]?.length ?? 0))));
  const widthOf = (column: number): number => widths[column] ?? 0;
  const line = (row: readonly string[]): string =>
    GAP + row.map((cell, column) => (LEFT.has(column) ? cell.padEnd(widthOf(column)) : cell.padStart(widthOf(column)))).join(GAP);
  const above = [
    ' '.repeat(widthOf(0)),
    ' '.repeat(widthOf(1)),
    over(former, widthOf(2), widthOf(3)),
    over(current, widthOf(4), widthOf(5)),
  ];
  return [
    '',
    `${scenario}  (${order.length / 2} rounds of each in ${seconds.toFixed(0)} s, load ${load.map((one) => one.toFixed(1)).join(' -> ')})`,
    ...conditions.flatMap((text) => wrapped(text, WIDTH - 4).map((part) => `    ${part}`)),
    `${GAP}${above.join(GAP)}`,
    ...cells.map(line),
  ].map((text) => text.trimEnd());
}

/** One row, after others that hold what its name is too long for. */
function cellsOf(row: Row): readonly (readonly string[])[] {
  const { what, unit, former, current, verdict } = row;
  const names = wrapped(what, NAME_WIDTH - GAP.length).map((part, index) => (index === 0 ? part : `${GAP}${part}`));
  const figures = [rounded(former.median), interval(former), rounded(current.median), interval(current)];
  return [...names.slice(0, -1).map((part) => [part]), [names.at(-1) ?? '', unit, ...figures, ratioText(row), verdict]];
}

const interval = ({ low, high }: Spread): string => `[${rounded(low)}, ${rounded(high)}]`;

/** With more digits where "1.00" beside "worse" or "better" would make no sense. */
function ratioText({ ratio, verdict }: Row): string {
  if (ratio === null) return '-';
  const short = ratio.toFixed(2);
  return short === '1.00' && (verdict === 'worse' || verdict === 'better') ? ratio.toFixed(4) : short;
}

/** The name of a build over its two columns. */
function over(name: string, ...widths: readonly [number, number]): string {
  const width = widths[0] + GAP.length + widths[1];
  const dashes = Math.max(0, width - name.length - 2);
  return `${'-'.repeat(Math.floor(dashes / 2))} ${name} ${'-'.repeat(Math.ceil(dashes / 2))}`;
}
