import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { filesOf } from './support/files.ts';

const ROOT = join(import.meta.dirname, '..');

/** What may stand after `Status:`, and what the decision that it names says in return. */
const RETURNS: Readonly<Record<string, string>> = {
  supersedes: 'superseded by',
  'superseded by': 'supersedes',
  amends: 'amended by',
  'amended by': 'amends',
};
const FORM = /^Date: \d{4}-\d\d-\d\d · Status: (?<status>(?:accepted|superseded by).*)$/;
const NAMED = /(?<relation>superseded by|supersedes|amended by|amends) \[(?<number>\d+)\]\((?<file>[^)]+)\)/g;

interface Decision {
  readonly file: string;
  readonly status: string;
}

const decisions: readonly Decision[] = filesOf(ROOT)
  .filter(({ path }) => path.startsWith('docs/adr/'))
  .map(({ path, text }) => ({ file: basename(path), status: FORM.exec(text.split('\n')[2] ?? '')?.groups?.status ?? '' }));

/** `<file> <relation> <file>`, and what has to be said in return. */
const relations = ({ file, status }: Decision) =>
  [...status.matchAll(NAMED)].map(({ groups: { relation = '', number = '', file: other = '' } = {} }) => ({
    said: `${file} ${relation} ${other}`,
    returned: `${other} ${RETURNS[relation]} ${file}`,
    isNumbered: Number(other.slice(0, 4)) === Number(number),
  }));

describe('each decision in docs/adr/', () => {
  test('says its date and its status', () => {
    expect(decisions.length).toBeGreaterThan(20);
    expect(decisions.filter(({ status }) => status === '')).toEqual([]);
  });

  test('has a number of its own', () => {
    const numbers = decisions.map(({ file }) => Number(file.slice(0, 4))).sort((a, b) => a - b);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });

  test('that supersedes or amends another one is named by that one, and the other way round', () => {
    const all = decisions.flatMap(relations);
    expect(all.length).toBeGreaterThan(3);
    const said = new Set(all.map((relation) => relation.said));
    expect(all.filter(({ returned }) => !said.has(returned)).map(({ returned }) => returned)).toEqual([]);
    expect(all.filter(({ isNumbered }) => !isNumbered)).toEqual([]);
  });

  test('names another one in its status only by what it does to it', () => {
    const rest = decisions.map(({ file, status }) => ({ file, rest: status.replaceAll(NAMED, '') }));
    expect(rest.filter((each) => /\]\(/.test(each.rest))).toEqual([]);
    expect(rest.some((each) => each.rest === 'accepted')).toBe(true);
  });
});
