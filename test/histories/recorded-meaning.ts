import type { Charts } from '../../actors/runtime/charts.ts';
import { unfit } from '../../actors/runtime/step.ts';
import type { Journal } from './recorded-files.ts';
import { follow, type Line, type Snapshots } from './recorded-journal.ts';

/** Why records that look like those of `former` are not understood any more by charts of the same version, one sentence each. What the charts do with them
 *  is not asked: only whether they can read them. */
export function changedMeanings(former: readonly Journal[], fresh: readonly Journal[], charts: Charts): readonly string[] {
  const was = former.flatMap(({ lines }) => lines).filter(({ chart, version }) => charts[chart]?.version === version);
  const is = fresh.flatMap(({ lines }) => lines);
  const reasons = [...changedFields(was, is), ...unheard(was, charts), ...former.flatMap(({ lines }) => unread(lines, charts))];
  return [...new Set(reasons)].sort();
}

function changedFields(was: readonly Line[], is: readonly Line[]): readonly string[] {
  return [...new Set(was.map(({ chart }) => chart))].flatMap((chart) => {
    const [then, now] = [fieldsOf(was, chart), fieldsOf(is, chart)];
    const lost = [...then].filter((field) => !now.has(field)).map((field) => `${chart}: the field ${field} is stored, and known no more`);
    const added = [...now]
      .filter((field) => !then.has(field))
      .map((field) => `${chart}: the field ${field} is new: stored records lack it`);
    return [...lost, ...added];
  });
}

/** Fields that are keyed by addresses, nodes or claimants: what matters is the fields of what they hold. */
const KEYED: ReadonlySet<string> = new Set(['members', 'backOff', 'claims', 'waiting']);

const fieldsOf = (lines: readonly Line[], chart: string): ReadonlySet<string> =>
  new Set(lines.filter((line) => line.chart === chart).flatMap(({ context }) => Object.entries(context).flatMap(namesOf)));

const namesOf = ([name, field]: readonly [string, unknown]): readonly string[] =>
  KEYED.has(name)
    ? Object.values(field as object).flatMap((held: object) => Object.keys(held).map((inner) => `${name}.*.${inner}`))
    : [name];

/** Outcomes and timers bear the names under which they are stored as waited for. */
const unheard = (was: readonly Line[], charts: Charts): readonly string[] =>
  was.flatMap(({ chart, events }) =>
    events
      .filter(({ type }) => type.startsWith('xstate.') && !charts[chart]?.machine.events.includes(type))
      .map(({ type }) => `${chart}: nobody waits for ${type} any more`),
  );

function unread(lines: readonly Line[], charts: Charts): readonly string[] {
  const snapshots: Snapshots = new Map();
  return lines.flatMap((line) => {
    follow(snapshots, line);
    const chart = charts[line.chart];
    const snapshot = snapshots.get(line.actor);
    const why = chart?.version === line.version && snapshot ? unfit(chart, snapshot) : null;
    return why === null ? [] : [`${line.chart} ${why}`];
  });
}
