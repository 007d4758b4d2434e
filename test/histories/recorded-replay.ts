import { isDeepStrictEqual } from 'node:util';
import type { Chart, Charts, StoredSnapshot } from '../../actors/runtime/charts.ts';
import { fits, step } from '../../actors/runtime/step.ts';
import { follow, type Line, lineOf, type Snapshots } from './recorded-journal.ts';

/** What the charts of today make of a recording. */
export interface Replay {
  /** What comes out otherwise than it did, one sentence each: what is stored means something else by now. */
  readonly differences: readonly string[];
  /** Lines that came out the same. */
  readonly same: number;
  /** Lines of an older version of a chart that a migration takes over. */
  readonly migrated: number;
  /** Lines of an older version that no migration takes over: those actors are rebuilt. */
  readonly rebuilt: number;
}

/** Lets each line happen again, from what was recorded before it. Of a set that is not the newest only the lines of older versions count: what the present
 *  version of a chart does is shown by newer recordings. */
export function replay(lines: readonly Line[], charts: Charts, set: 'newest' | 'older' = 'newest'): Replay {
  const snapshots: Snapshots = new Map();
  const differences: string[] = [];
  const counts = { same: 0, migrated: 0, rebuilt: 0 };
  for (const [index, line] of lines.entries()) {
    const before = follow(snapshots, line);
    if (set === 'older' && line.version === charts[line.chart]?.version) continue;
    const verdict = judged(line, before, charts[line.chart]);
    if (typeof verdict === 'string') counts[verdict] += 1;
    else
      differences.push(
        `line ${index + 1}, ${line.actor}, ${line.events.map(({ type }) => type).join(', ') || 'begins'}: ${verdict.differs}`,
      );
  }
  return { ...counts, differences };
}

type Verdict = 'same' | 'migrated' | 'rebuilt' | { readonly differs: string };

function judged(line: Line, before: StoredSnapshot | null, chart: Chart | undefined): Verdict {
  if (!chart) return { differs: `there is no chart ${line.chart} any more` };
  if (line.version > chart.version) return { differs: `it was recorded at version ${line.version}, the chart is at ${chart.version}` };
  if (line.version < chart.version) return before ? migrated(line, before, chart) : 'rebuilt';
  if (before && !fits(chart, before)) return { differs: `the chart has no state ${JSON.stringify(before.value)}` };
  return compared(line, lineOf(chart, line.actor, before, line));
}

function compared(was: Line, is: Line): Verdict {
  const parts = (line: Line): Readonly<Record<string, unknown>> => ({
    value: line.value,
    ...Object.fromEntries(Object.entries(line.context).map(([name, field]) => [`context.${name}`, field])),
    claims: line.claims,
    ...line.does,
    done: line.done,
  });
  const [then, now] = [parts(was), parts(is)];
  const other = [...new Set([...Object.keys(then), ...Object.keys(now)])].filter((part) => !isDeepStrictEqual(then[part], now[part]));
  if (other.length === 0) return 'same';
  return { differs: other.map((part) => `${part} was ${JSON.stringify(then[part])}, is ${JSON.stringify(now[part])}`).join('; ') };
}

/** What was stored by an older version has to fit and to go on; how, is today's business. */
function migrated(line: Line, before: StoredSnapshot, chart: Chart): Verdict {
  const taken = chart.migrate?.(before, line.version) ?? null;
  if (!taken) return 'rebuilt';
  if (!fits(chart, taken)) return { differs: `the migration makes a state that the chart has not: ${JSON.stringify(taken.value)}` };
  try {
    let snapshot = taken;
    for (const event of line.events) snapshot = step(chart, snapshot, event).snapshot;
    return 'migrated';
  } catch (error) {
    return { differs: `what the migration makes does not go on: ${String(error)}` };
  }
}
