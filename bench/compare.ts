import { loadavg } from 'node:os';
import type { Figure } from './figures.ts';
import type { Measured } from './scenario.ts';
import { type Aim, aimOf, ratioOf, type Spread, spreadOf, type Verdict, verdictOf } from './spread.ts';

/** The build that is compared with, and the present one. */
export type Side = 'former' | 'current';

/** One figure of both builds. */
export interface Row extends Pick<Figure, 'what' | 'unit'> {
  /** What is better. */
  readonly aim: Aim;
  readonly former: Spread;
  readonly current: Spread;
  /** Of the medians, `current` to `former`; null when that is no number. */
  readonly ratio: number | null;
  readonly verdict: Verdict;
}

export interface Compared {
  readonly scenario: string;
  readonly conditions: readonly string[];
  readonly rows: readonly Row[];
  /** Which build each measurement was of. The samples of a side are in this order. */
  readonly order: readonly Side[];
  readonly seconds: number;
  /** Load of the machine over the last minute, before and after. */
  readonly load: readonly [number, number];
}

/** The other build cannot be measured by this scenario. */
export class NotComparable extends Error {}

/** Each build once a round, and the one that was second is first in the next: a machine that becomes slower or faster does so for both. */
export const orderOf = (rounds: number): readonly Side[] =>
  Array.from({ length: rounds }, (_, round): readonly Side[] => (round % 2 === 0 ? ['former', 'current'] : ['current', 'former'])).flat();

/**
 * Measures both builds by turns.
 * @throws NotComparable when the first measurement of the former build fails, and whatever another one fails with
 */
export async function compare(
  rounds: number,
  measure: (side: Side, nth: number) => Promise<Measured>,
): Promise<Omit<Compared, 'scenario'>> {
  const order = orderOf(rounds);
  const [startedAt, before] = [performance.now(), loadavg()[0] ?? 0];
  const measured: Readonly<Record<Side, Measured[]>> = { former: [], current: [] };
  for (const [index, side] of order.entries()) measured[side].push(await attempt(index, () => measure(side, index)));
  return {
    conditions: measured.current[0]?.conditions ?? [],
    rows: rowsOf(measured.former, measured.current),
    order,
    seconds: (performance.now() - startedAt) / 1000,
    load: [before, loadavg()[0] ?? 0],
  };
}

async function attempt(index: number, measure: () => Promise<Measured>): Promise<Measured> {
  try {
    return await measure();
  } catch (cause) {
    if (index > 0) throw cause;
    throw new NotComparable(cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause), { cause });
  }
}

const rowsOf = (former: readonly Measured[], current: readonly Measured[]): readonly Row[] =>
  (current[0]?.figures ?? []).map((figure, place) => {
    const { what, unit } = figure;
    const samplesOf = (all: readonly Measured[]) => all.map(({ figures }) => valueAt(figures, place, what));
    const [before, now, aim] = [spreadOf(samplesOf(former)), spreadOf(samplesOf(current)), aimOf(figure)];
    return { what, unit, aim, former: before, current: now, ratio: ratioOf(before, now), verdict: verdictOf(before, now, aim) };
  });

/** By its place: names alone may be there twice, below different ones. */
function valueAt(figures: readonly Figure[], place: number, what: string): number {
  const figure = figures[place];
  if (figure?.what !== what) throw new Error(`"${what}" was not measured in every round`);
  return figure.value;
}
