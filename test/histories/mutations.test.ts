import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { shareOf } from '../support/extent.ts';
import { END_MUTATIONS, MUTATIONS, type Mutation } from './mutations.ts';
import { MARK_END_MUTATIONS, MARK_MUTATIONS } from './mutations-marks.ts';
import { PATIENCE_MUTATIONS, RESTLESS } from './mutations-patience.ts';
import { WIDE_END_MUTATIONS, WIDE_MUTATIONS } from './mutations-wide.ts';
import { Play } from './play.ts';

/** Where rules of every moment stand. */
const RULES = ['invariants.ts', 'creations.ts', 'names.ts', 'patience.ts', 'marks.ts'].map((file) =>
  join(import.meta.dirname, '../support', file),
);

const ALL = { ...MUTATIONS, ...WIDE_MUTATIONS, ...PATIENCE_MUTATIONS, ...MARK_MUTATIONS, 'comes to rest': [RESTLESS] };

afterEach(() => void vi.restoreAllMocks());

interface Outcome {
  /** The rules that were broken. */
  readonly broken: readonly string[];
  /** What was not right in the end, and errors that were logged. */
  readonly end: readonly string[];
}

/** Lets a history happen, with the defect of the mutation or without. */
async function played({ history, spoil, sabotage }: Mutation, isMutated: boolean): Promise<Outcome> {
  const play = new Play(history, isMutated && spoil ? { spoil } : {});
  if (isMutated) sabotage?.(play.world);
  const end = await play.run().then(
    () => [],
    (error: Error) => [error.message],
  );
  const logged = play.world.log.filter(({ level }) => level === 'error').map(({ message }) => message);
  return { broken: play.violations().map(({ rule }) => rule), end: [...end, ...logged] };
}

const SOUND: Outcome = { broken: [], end: [] };
const rows = (mutations: Readonly<Record<string, readonly Mutation[]>>): [string, string, Mutation][] =>
  Object.entries(mutations).flatMap(([check, all]) => all.map((mutated): [string, string, Mutation] => [check, mutated.mutation, mutated]));

describe('each rule of every moment', () => {
  test('has a defect that it must catch', () => {
    const source = RULES.map((file) => readFileSync(file, 'utf8')).join('\n');
    const noted = [...source.matchAll(/#note\(\s*'(?<rule>[^']+)'/g)].map(({ groups }) => groups?.rule);
    expect(noted).toContain('one assign at a time');
    expect(Object.keys(ALL).sort()).toEqual([...new Set(noted)].sort());
  });

  test.each(shareOf(rows(ALL), 3))('%s — catches: %s', async (rule, _, mutated) => {
    expect(await played(mutated, false)).toEqual(SOUND);
    expect((await played(mutated, true)).broken).toContain(rule);
  });
});

describe('what is asked when a history is over', () => {
  test.each(shareOf(rows({ ...END_MUTATIONS, ...WIDE_END_MUTATIONS, ...MARK_END_MUTATIONS }), 3))(
    '%s — catches: %s',
    async (check, _, mutated) => {
      expect(await played(mutated, false)).toEqual(SOUND);
      expect((await played(mutated, true)).end.join('; ')).toContain(check);
    },
  );
});
