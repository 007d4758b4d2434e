import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { shareOf } from '../support/extent.ts';
import type { History } from './history.ts';
import { ADOPTION_END_MUTATIONS, ADOPTION_MUTATIONS } from './mutations/adoption.ts';
import { JOB_MUTATIONS } from './mutations/jobs.ts';
import { MARK_END_MUTATIONS, MARK_MUTATIONS } from './mutations/marks.ts';
import type { Mutation } from './mutations/mutation.ts';
import { WIDE_END_MUTATIONS, WIDE_MUTATIONS } from './mutations/names.ts';
import { PATIENCE_MUTATIONS, RESTLESS, ROUTED_PATIENCE_MUTATIONS } from './mutations/patience.ts';
import { END_MUTATIONS, MUTATIONS } from './mutations/pools.ts';
import { ROUTED_END_MUTATIONS, ROUTED_MUTATIONS } from './mutations/routed-ips.ts';
import { ROUTED_MARK_END_MUTATIONS, ROUTED_MARK_MUTATIONS } from './mutations/routed-marks.ts';
import { VIP_MUTATIONS } from './mutations/vips.ts';
import { VIRTUAL_END_MUTATIONS, VIRTUAL_MUTATIONS } from './mutations/virtual-ips.ts';
import { WATCH_END_MUTATIONS } from './mutations/watches.ts';
import { Simulation } from './run.ts';
import { ofPools, ofRouted, ofVips, ofVirtualIPs } from './short.ts';

/** Where rules of every moment stand. */
const RULES = join(import.meta.dirname, '../support');

interface Row {
  readonly check: string;
  readonly mutation: string;
  readonly mutated: Mutation<History>;
  /** How long all may take to be right, ms; an hour unless given. */
  readonly rightWithinMs: number | undefined;
}

/** With how long all may take to be right where the defect keeps it from ever being so. */
const rows = <H>(
  mutations: Readonly<Record<string, Mutation<H> | readonly Mutation<H>[]>>,
  of: (history: H) => History,
  rightWithinMs?: number,
): readonly Row[] =>
  Object.entries(mutations).flatMap(([check, all]) =>
    [all].flat().map((each) => {
      const one = each as Mutation<H>;
      return { check, mutation: one.mutation, mutated: { ...one, history: of(one.history) }, rightWithinMs };
    }),
  );

afterEach(() => void vi.restoreAllMocks());

interface Outcome {
  /** The rules that were broken. */
  readonly broken: readonly string[];
  /** What was not right in the end, and errors that were logged. */
  readonly end: readonly string[];
}

/** Lets a history happen, with the defect of the mutation or without. */
async function played({ mutated: { history, spoil, sabotage }, rightWithinMs }: Row, isMutated: boolean): Promise<Outcome> {
  const play = new Simulation(history, isMutated && spoil ? { spoil } : {});
  if (isMutated) sabotage?.(play.world);
  const end = await play.run(rightWithinMs).then(
    () => [],
    (error: Error) => [error.message],
  );
  const logged = play.world.log.filter(({ level }) => level === 'error').map(({ message }) => message);
  return { broken: play.violations().map(({ rule }) => rule), end: [...end, ...logged] };
}

const SOUND: Outcome = { broken: [], end: [] };

/** What is the same in the worlds of all: the rules of marks are broken by pools and by RoutedIPs. */
const OF_EVERY_MOMENT: readonly Row[] = [
  ...rows({ ...MUTATIONS, ...WIDE_MUTATIONS, ...PATIENCE_MUTATIONS, ...MARK_MUTATIONS, 'comes to rest': RESTLESS }, ofPools),
  ...rows({ ...ROUTED_MUTATIONS, ...ROUTED_MARK_MUTATIONS, ...ROUTED_PATIENCE_MUTATIONS }, ofRouted),
  ...rows(JOB_MUTATIONS, ofRouted),
  ...rows(ADOPTION_MUTATIONS, ofRouted),
  ...rows(VIP_MUTATIONS, ofVips, 5_000),
  ...rows(VIRTUAL_MUTATIONS, ofVirtualIPs, 200_000),
];
const OF_THE_END: readonly Row[] = [
  ...rows({ ...END_MUTATIONS, ...WIDE_END_MUTATIONS, ...MARK_END_MUTATIONS }, ofPools),
  ...rows(WATCH_END_MUTATIONS, ofPools),
  ...rows({ ...ROUTED_END_MUTATIONS, ...ROUTED_MARK_END_MUTATIONS }, ofRouted),
  ...rows(ADOPTION_END_MUTATIONS, ofRouted, 200_000),
  ...rows(VIRTUAL_END_MUTATIONS, ofVirtualIPs, 200_000),
];
const tabled = (all: readonly Row[]): readonly [string, string, Row][] => shareOf(all, 3).map((row) => [row.check, row.mutation, row]);

describe('each rule of every moment', () => {
  test('has a defect that it must catch', () => {
    const source = readdirSync(RULES)
      .map((file) => readFileSync(join(RULES, file), 'utf8'))
      .join('\n');
    const noted = [...source.matchAll(/#note\(\s*'(?<rule>[^']+)'/g)].map(({ groups }) => groups?.rule);
    expect(noted).toContain('one assign at a time');
    expect([...new Set(OF_EVERY_MOMENT.map(({ check }) => check))].sort()).toEqual([...new Set(noted)].sort());
  });

  test.each(tabled(OF_EVERY_MOMENT))('%s — catches: %s', async (rule, _, row) => {
    expect(await played(row, false)).toEqual(SOUND);
    expect((await played(row, true)).broken).toContain(rule);
  });
});

describe('what is asked when a history is over', () => {
  test.each(tabled(OF_THE_END))('%s — catches: %s', async (words, _, row) => {
    expect(await played(row, false)).toEqual(SOUND);
    expect((await played(row, true)).end.join('; ')).toContain(words);
  });
});
