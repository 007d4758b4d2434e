import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesOf, type TextFile } from './support/files.ts';

/** What only its authors understand: notes kept elsewhere, their numbering, and paths of their machines. */
const PRIVATE: readonly { readonly what: string; readonly pattern: RegExp; readonly except?: readonly string[] }[] = [
  // The one script of the continuous integration that asks for a prepared API server.
  { what: 'a folder beside the project', pattern: /\.\.\/shared\b|\bshared\/(design|kube|seeds|hooks)\b/, except: ['.ci/run'] },
  { what: 'a note that is not in the project', pattern: /(?<![-\w])(routedip|flipop|stack|style|testing|vip-allocator)\.md\b/ },
  { what: 'a tag of the notes', pattern: /(^|[\s(])\[[UPDS]\]/ },
  { what: 'a numbered finding', pattern: /(^|[\s(,–])(F\d{1,2}|A\d{1,2}|I\d{1,2}|V-\d{1,2})(?=$|[\s),.:;–])/ },
  { what: 'a path of one machine', pattern: /(^|[\s'"`(=:])\/(work|root|home\/\w+)\// },
];

/** What a reader has to read twice in a document, with what is clearer. */
const TWICE: readonly { readonly phrase: RegExp; readonly instead: string }[] = [
  { phrase: /\bwhoever\b/i, instead: 'anyone who, the leader, the holder' },
  { phrase: /\b(of|by) which\b|\bof whom\b/i, instead: 'a second sentence' },
  { phrase: /\b(is|are|was|were) to be\b/i, instead: 'should, must, will' },
  { phrase: /\bany more\b|\bneeded no more\b/i, instead: 'no longer' },
  { phrase: /\b(tells?|told|telling)\b/i, instead: 'send, report, show, log' },
  { phrase: /\banew\b/i, instead: 'again' },
  { phrase: /\ball the same\b/i, instead: 'anyway, still' },
  { phrase: /\bas ever\b/i, instead: 'as before' },
  { phrase: /\bfor ever\b/i, instead: 'forever' },
  { phrase: /\bseldom\b/i, instead: 'less often' },
  { phrase: /\b(is|are) looked (at|for|after)\b|\blooks? on\b/i, instead: 'read, check, serve' },
  { phrase: /\b(is|are|be|was) found out\b/i, instead: 'who finds it' },
  { phrase: /\bbec[ao]mes? of\b/i, instead: 'happens to, outcome' },
  { phrase: /\bbears?\b/i, instead: 'has, contains' },
  { phrase: /\bmend(s|ed)?\b/i, instead: 'fix, correct, repair' },
  { phrase: /\bbe had\b|\bhas it that\b|\bbe it (by|for|of|more)\b/i, instead: 'a verb for it' },
  { phrase: /\bfor want of\b|\bin vain\b|\bhindrances?\b|\bheeds?\b/i, instead: 'a word of today' },
  { phrase: /\bat the most\b|\bin the place of\b/i, instead: 'at most, instead of' },
  { phrase: /\bwhat is [\w ]{1,30}\bis\b|\bcomes of (it|what)\b/i, instead: 'a noun for it' },
  { phrase: /\b(is|are) put right\b|\bputs? right\b/i, instead: 'correct' },
];

/** What people read first, and its sources; the decisions and the changelog are history, and docs/states.md comes from the charts. */
const isProse = (path: string): boolean =>
  /^(docs\/[\w-]+|README|CONTRIBUTING|SECURITY)\.md$|^tools\/state-notes\.yaml$/.test(path) && path !== 'docs/states.md';

const NOT_SENTENCES = [
  /^(```|~~~)[^\n]*\n[\s\S]*?^\1\s*$/gm,
  /<!-- generated[\s\S]*?<!-- end of/g,
  // The title of a test, in the last cell of a row.
  /\| `test\/[^`\n]+`: .+ \|$/gm,
  /`[^`\n]*`/g,
  /\]\([^)\s]*\)/g,
];

/** The same lines, with what nobody reads as a sentence left out. */
const sentencesOf = (text: string): string =>
  NOT_SENTENCES.reduce((rest, pattern) => rest.replace(pattern, (found) => found.replace(/[^\n]/g, '')), text);

const riddlesIn = ({ path, text }: TextFile): string[] =>
  sentencesOf(text)
    .split('\n')
    .flatMap((line, index) =>
      TWICE.flatMap(({ phrase, instead }) => {
        const found = phrase.exec(line)?.[0];
        return found === undefined ? [] : [`${path}:${index + 1} says "${found}": clearer is ${instead}`];
      }),
    );

const isProduct = (path: string): boolean => /^(machines|actors|adapters|composition|plugin)\/.+\.ts$|^main\.ts$/.test(path);

/** The lines of comments, which stand by themselves in our sources. */
const commentsOf = ({ path, text }: TextFile): TextFile => ({
  path,
  text: text.replace(/^(?!\s*(\/\*\*|\*|\/\/)).*$/gm, ''),
});

const WRITTEN = /(^|\/)[^.]+$|\.(ts|mts|mjs|js|json|md|ya?ml|sh|html|css)$/;

const violationsIn = ({ path, text }: TextFile): string[] =>
  PRIVATE.filter(({ except = [] }) => !except.includes(path)).flatMap(({ what, pattern }) =>
    text.split('\n').flatMap((line, index) => {
      const found = pattern.exec(line)?.[0].trim();
      return found === undefined ? [] : [`${path}:${index + 1} names ${what} (${found}): say it in words`];
    }),
  );

const files = filesOf(join(import.meta.dirname, '..')).filter(
  ({ path }) => WRITTEN.test(path) && path !== 'package-lock.json' && path !== 'test/toolchain-words.test.ts',
);

test('nothing in the project is written in a shorthand of its authors', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap(violationsIn)).toEqual([]);
});

test.each([
  'see ../shared/kube/up',
  'as routedip.md says',
  'it waits [U] for the grant',
  '// F12: the schedule is inverted',
  'invariants I1–I16 hold',
  'edge (V-3)',
  "const home = '/work/main/tools'",
])('finds: %s', (text) => {
  expect(violationsIn({ path: 'docs/notes.md', text })).toHaveLength(1);
});

test.each([
  'one shared watch per kind',
  'docs/architecture.md',
  'type Values<T> = { [P in keyof T]: T[P] }',
  'kind: A record',
  'IPv4 203.0.113.7',
])('accepts: %s', (text) => {
  expect(violationsIn({ path: 'docs/notes.md', text })).toEqual([]);
});

test('no document makes a reader read a sentence twice', () => {
  const prose = files.filter(({ path }) => isProse(path));
  expect(prose.length).toBeGreaterThan(30);
  expect(prose.flatMap(riddlesIn)).toEqual([]);
});

test('no comment of the product makes a reader read a sentence twice', () => {
  const sources = files.filter(({ path }) => isProduct(path));
  expect(sources.length).toBeGreaterThan(500);
  expect(sources.map(commentsOf).flatMap(riddlesIn)).toEqual([]);
});

test('of a source the comments are read, and nothing else', () => {
  const text = ["const told = 'whoever';", '/** Whoever leads', ' *  is told. */', '  // begins anew', 'any(more);'].join('\n');
  expect(riddlesIn(commentsOf({ path: 'actors/x.ts', text }))).toHaveLength(3);
});

test.each([
  'Whoever leads writes it',
  'is to be deleted',
  'does not match any more',
  'an Event tells it',
  'begins anew',
  'for as long as it bears it',
])('finds the phrase in: %s', (text) => expect(riddlesIn({ path: 'docs/notes.md', text })).toHaveLength(1));

test.each([
  'the log has `an outcome is not told`',
  '```\nit is to be\n```',
  '[why](adr/0028-whoever-has-it-keeps-it.md)',
  '| x | `test/actors/pool/edits.test.ts`: moves what does not match any more |',
  'forbear, recommended, anywhere',
])('finds no phrase in: %s', (text) => expect(riddlesIn({ path: 'docs/notes.md', text })).toEqual([]));
