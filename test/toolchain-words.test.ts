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
