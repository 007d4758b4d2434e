import { describe, expect, test } from 'vitest';
import { charts } from '../../actors/controllers/chart-registry.ts';
import { DEFAULT_SETTINGS } from '../../actors/ports/settings.ts';
import type { Chart, Charts, StoredSnapshot } from '../../actors/runtime/charts.ts';
import type { AddressContext } from '../../machines/address/context.ts';
import type { FirewallContext } from '../../machines/firewall/context.ts';
import { restingStates, restsIn } from '../machines/explore.ts';
import { action, guard, type Spoil, state } from '../machines/mutations-spoil.ts';
import { type Journal, newestSet, openSet, readSet, sets, textOf } from './recorded-files.ts';
import type { Line } from './recorded-journal.ts';
import { RECORDINGS, record } from './recorded-make.ts';
import { changedMeanings } from './recorded-meaning.ts';
import { type Replay, replay } from './recorded-replay.ts';

/** All of them together, bytes. */
const MOST_BYTES = 600_000;

const today = (settings: Journal['settings'] = {}): Charts => charts({ ...DEFAULT_SETTINGS, ...settings }, () => 1);
const all = sets().flatMap((set) => [...readSet(set)].map(([name, journal]) => ({ name: `${set}/${name}`, set, journal })));
const newest = readSet(newestSet() ?? 0);

const replayed = ({ settings, lines }: Journal, change: (all: Charts) => Charts = (same) => same): Replay =>
  replay(lines, change(today(settings)));

describe('the recordings', () => {
  test('are those that are made, and small', () => {
    expect([...newest.keys()].sort()).toEqual(Object.keys(RECORDINGS).sort());
    expect(all.reduce((bytes, { journal }) => bytes + textOf(journal).length, 0)).toBeLessThan(MOST_BYTES);
  });

  test('are of every chart, and of every state in which one of them rests', () => {
    const known = today();
    const lines = [...newest.values()].flatMap((journal) => journal.lines);
    expect([...new Set(lines.map(({ chart }) => chart))].sort()).toEqual(Object.keys(known).sort());
    const visited = new Set(lines.flatMap(({ chart, value }) => restsIn(known[chart] as Chart, value).map((name) => `${chart} ${name}`)));
    const resting = Object.values(known).flatMap((chart) => restingStates(chart).map((each) => `${chart.name} ${each}`));
    expect(resting.length).toBeGreaterThan(30);
    // A pool rests there only after two statuses remembered a creation and its object was deleted; it waits for no job or timer.
    expect(resting.filter((name) => !visited.has(name))).toEqual(['pool Stopping.Concluding']);
  });

  test.each(['retire', 'names', 'routed-by-jobs', 'routed-created'])(
    'come out the same when they are made again, so that a change is seen in what changed: %s',
    async (name) => {
      expect(textOf(await record(name))).toBe(textOf(await record(name)));
    },
  );
});

describe('what is stored means today what it meant', () => {
  test.each(all)('$name', ({ set, journal: { settings, lines } }) => {
    const { differences, same } = replay(lines, today(settings), set === newestSet() ? 'newest' : 'older');
    expect(differences).toEqual([]);
    if (set === newestSet()) expect(same).toBe(lines.length);
    expect(lines.length).toBeGreaterThan(5);
  });
});

const changed =
  (name: string, change: (chart: Chart) => Chart) =>
  (known: Charts): Charts => ({ ...known, [name]: change(known[name] as Chart) });
const differences = (change: (known: Charts) => Charts): string =>
  [...newest.values()].flatMap((journal) => replayed(journal, change).differences).join('\n');

/** The same value with one word for another, as key and as text. */
function reworded(value: unknown, from: string, to: string): unknown {
  const word = (text: string): string => (text === from ? to : text);
  if (typeof value === 'string') return word(value);
  if (Array.isArray(value)) return value.map((each) => reworded(each, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [word(key), reworded(each, from, to)]));
}
const renamedState = state('Stable', (config) => reworded(config, 'Holding', 'Keeping') as typeof config);
/** `attempts` by another name. */
const renamedField: Spoil = action<AddressContext>('settle', ({ attempts, ...context }) => ({
  context: { ...context, tries: attempts } as never,
  effects: [],
}));
const renamedTimer = state('CoolOff', ({ after, ...config }) => ({ ...config, after: { 1000: after?.coolOff } }));

describe('a recording does not come out the same when', () => {
  test.each<[string, Spoil, string]>([
    ['a guard asks for something else', guard('differs', () => false), 'value was'],
    ['a field has another name', renamedField, 'context.tries was undefined, is 0'],
    ['a state has another name', renamedState, 'the chart has no state {"Stable":"Holding"}'],
    ['a timer has another name', renamedTimer, 'delays was'],
    ['an address with a firewall asks for something else', guard('opensFirst', () => false), 'value was'],
    [
      'an address claims something else',
      (chart) => ({ ...chart, claims: () => ({ provider: 'digitalocean', nodes: [], limit: 1 }) }),
      'claims was',
    ],
  ])('%s', (_, spoil, words) => {
    expect(differences((known) => known)).toBe('');
    expect(differences(changed('ip', spoil))).toContain(words);
  });

  test.each<[string, Spoil, string]>([
    ['a guard asks for something else', guard('mustRest', () => false), 'value was'],
    ['a rest has no end', state('Resting', ({ after: _, ...config }) => config), 'delays was'],
    [
      'a field has another name',
      action<FirewallContext>('beginPruning', ({ hasShrunk, ...context }) => ({
        context: { ...context, shrunk: hasShrunk } as never,
        effects: [],
      })),
      'context.shrunk was undefined',
    ],
  ])('of a firewall %s', (_, spoil, words) => {
    expect(differences(changed('firewall', spoil))).toContain(words);
  });
});

describe('a chart of a higher version', () => {
  const raised = (migrate?: NonNullable<Chart['migrate']>) =>
    changed('ip', (chart) => ({ ...renamedState(chart), version: chart.version + 1, ...(migrate && { migrate }) }));
  const sums = (change: (known: Charts) => Charts) => {
    const replays = [...newest.values()].map((journal) => replayed(journal, change));
    const sum = (of: (each: Replay) => number): number => replays.reduce((total, each) => total + of(each), 0);
    return { migrated: sum((each) => each.migrated), rebuilt: sum((each) => each.rebuilt), differ: sum((each) => each.differences.length) };
  };
  const move = ({ value, context }: StoredSnapshot): StoredSnapshot => ({ value: reworded(value, 'Holding', 'Keeping'), context });

  test('takes older records over by its migration', () => {
    const { migrated, differ } = sums(raised(move));
    expect([migrated > 20, differ]).toEqual([true, 0]);
  });

  test('has them rebuilt without one', () => {
    const { migrated, rebuilt, differ } = sums(raised());
    expect([migrated, rebuilt > 20, differ]).toEqual([0, true, 0]);
  });

  test('has a migration that is wrong refused', () => {
    expect(sums(raised((snapshot) => snapshot)).differ).toBeGreaterThan(0);
  });
});

/** The same value without a field, at whatever depth. */
const lacking = (value: Line['context'], field: string): Line['context'] =>
  JSON.parse(JSON.stringify(value), (key, each) => (key === field ? undefined : each));

describe('recordings are not made anew over those that', () => {
  const fresh = [...newest.values()];
  const without = (field: string): readonly Journal[] =>
    fresh.map((journal) => ({ ...journal, lines: journal.lines.map((line) => ({ ...line, context: lacking(line.context, field) })) }));

  test('are understood as before: they are', () => expect(changedMeanings(fresh, fresh, today())).toEqual([]));

  test.each<[string, readonly Journal[], readonly Journal[], (known: Charts) => Charts, string]>([
    [
      'have a field that nobody knows any more',
      fresh,
      without('holder'),
      (known) => known,
      'ip: the field holder is stored, and known no more',
    ],
    ['lack a field', without('holder'), fresh, (known) => known, 'ip: the field holder is new: stored records lack it'],
    [
      'lack a field of an address of a pool',
      without('rank'),
      fresh,
      (known) => known,
      'pool: the field members.*.rank is new: stored records lack it',
    ],
    [
      'lack a field of a claim of a firewall',
      without('isOpen'),
      fresh,
      (known) => known,
      'firewall: the field claims.*.isOpen is new: stored records lack it',
    ],
    ['are in a state that is gone', fresh, fresh, changed('ip', renamedState), 'ip has no state {"Stable":"Holding"}'],
    [
      'wait for a timer that is gone',
      fresh,
      fresh,
      changed('ip', renamedTimer),
      'ip: nobody waits for xstate.after.coolOff.ip.CoolOff any more',
    ],
  ])('%s', (_, former, made, change, reason) => {
    expect(changedMeanings(former, made, change(today()))).toContain(reason);
  });

  test('are of an older version: those stay as they are, and the new ones stand in a set of their own', () => {
    const raised = changed('ip', (chart) => ({ ...renamedState(chart), version: 2 }));
    expect(changedMeanings(fresh, fresh, raised(today()))).toEqual([]);
    const higher = new Map(
      [...newest].map(([name, { settings, lines }]) => [name, { settings, lines: lines.map((line) => ({ ...line, version: 2 })) }]),
    );
    expect([openSet(3, newest, newest), openSet(3, newest, higher), openSet(null, new Map(), newest)]).toEqual([3, 4, 1]);
    const [journal] = fresh;
    if (!journal) throw new Error('there are no recordings');
    const { same, rebuilt } = replay(journal.lines, raised(today(journal.settings)), 'older');
    expect([same, rebuilt]).toEqual([0, journal.lines.filter(({ chart }) => chart === 'ip').length]);
  });
});
