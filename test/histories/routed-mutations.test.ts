import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { shareOf } from '../support/extent.ts';
import { ROUTED_END_MUTATIONS, ROUTED_MUTATIONS, type RoutedMutation } from './routed-mutations.ts';
import { ROUTED_MARK_END_MUTATIONS, ROUTED_MARK_MUTATIONS } from './routed-mutations-marks.ts';
import { RoutedPlay } from './routed-play.ts';

/** Where rules of every moment stand. */
const RULES = ['firewall-rules.ts', 'routed-rules.ts', 'marks.ts'].map((file) => join(import.meta.dirname, '../support', file));

afterEach(() => void vi.restoreAllMocks());

interface Outcome {
  /** The rules that were broken. */
  readonly broken: readonly string[];
  /** What was not right in the end. */
  readonly end: readonly string[];
}

/** Lets a history happen, with the defect of the mutation or without. */
async function played({ history, spoil, sabotage }: RoutedMutation, isMutated: boolean): Promise<Outcome> {
  const play = new RoutedPlay(history, isMutated && spoil ? { spoil } : {});
  if (isMutated) sabotage?.(play.world);
  const end = await play.run().then(
    () => [],
    (error: Error) => [error.message],
  );
  return { broken: play.violations().map(({ rule }) => rule), end };
}

const ALL = { ...ROUTED_MUTATIONS, ...ROUTED_MARK_MUTATIONS };

const SOUND: Outcome = { broken: [], end: [] };

describe('each rule of every moment of RoutedIPs', () => {
  test('has a defect that it must catch', () => {
    const source = RULES.map((file) => readFileSync(file, 'utf8')).join('\n');
    const noted = [...source.matchAll(/#note\(\s*'(?<rule>[^']+)'/g)].map(({ groups }) => groups?.rule);
    expect(noted).toContain('one address for each');
    expect(Object.keys(ALL).sort()).toEqual([...new Set(noted)].sort());
  });

  const rows = Object.entries(ALL).flatMap(([rule, all]) =>
    all.map((mutated): [string, string, RoutedMutation] => [rule, mutated.mutation, mutated]),
  );
  test.each(shareOf(rows, 3))('%s — catches: %s', async (rule, _, mutated) => {
    expect(await played(mutated, false)).toEqual(SOUND);
    expect((await played(mutated, true)).broken).toContain(rule);
  });
});

describe('what is asked when a history of RoutedIPs is over', () => {
  const rows = Object.entries({ ...ROUTED_END_MUTATIONS, ...ROUTED_MARK_END_MUTATIONS }).map(
    ([words, mutated]): [string, string, RoutedMutation] => [words, mutated.mutation, mutated],
  );
  test.each(shareOf(rows, 3))('%s — catches: %s', async (words, _, mutated) => {
    expect(await played(mutated, false)).toEqual(SOUND);
    expect((await played(mutated, true)).end.join('; ')).toContain(words);
  });
});
