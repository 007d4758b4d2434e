import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImportRule, ruleFor } from '../test/support/import-table.ts';
import { withSections } from './generate-docs.ts';
import { type GeneratedFile, generate } from './generated-files.ts';

const ROOT = join(import.meta.dirname, '..');
const CODE = /\.(ts|mjs|js)$/;
const NOT_OURS = /^(\.|node_modules$|dist$|coverage$)/;
/** So many names still say something beside an arrow. */
const NAMED = 3;

/** Boxes of the picture: what stands in one, by the first pattern that fits. Each adapter alone would hide the rest; those that others share are named. */
const BOXES: readonly { readonly title: string; readonly files: RegExp }[] = [
  { title: 'main.ts, composition/', files: /^(main\.ts$|composition\/)/ },
  { title: 'plugin/', files: /^plugin\// },
  { title: 'actors/', files: /^actors\// },
  { title: 'machines/*.machine.ts', files: /^machines\/.*\.machine\.ts$/ },
  { title: 'machines/', files: /^machines\// },
  { title: 'adapters/http/', files: /^adapters\/http\// },
  { title: 'adapters/listener/', files: /^adapters\/listener\// },
  { title: 'adapters/memory/', files: /^adapters\/memory\// },
  { title: 'adapters/<system>/', files: /^adapters\// },
  { title: 'crds/generated/', files: /^crds\/generated\// },
  { title: 'bin/', files: /^bin\// },
  { title: 'dashboard/', files: /^dashboard\// },
  { title: 'simulator/', files: /^simulator\// },
  { title: 'demo/', files: /^demo\// },
  { title: 'deploy/chart/files/', files: /^deploy\/chart\/files\// },
  { title: 'tools/', files: /^tools\// },
  { title: 'test/, bench/', files: /^(test\/|bench\/|[^/]+\.config\.ts$)/ },
];

const idOf = (title: string): string => title.replaceAll(/\W+/g, '_').replace(/_$/, '');
const allows = ({ what, never = [] }: ImportRule, path: string): boolean =>
  what.some((pattern) => pattern.test(path)) && !never.some((pattern) => pattern.test(path));
/** Of main.ts and the tests: everything but what is named. */
const takesAll = ({ what }: ImportRule): boolean => what.some(({ source }) => source === '.');

interface Box {
  readonly title: string;
  readonly paths: readonly string[];
  /** The rules of its files, first that of most. */
  readonly rules: readonly ImportRule[];
}

/** @throws Error when a file stands in no box: the picture would be silent about it */
function boxesOf(paths: readonly string[]): readonly Box[] {
  const inBox = Map.groupBy(paths, (path) => BOXES.find(({ files }) => files.test(path))?.title);
  const lost = inBox.get(undefined);
  if (lost) throw new Error(`BOXES of tools/generate-architecture.ts has no place for ${lost.join(', ')}`);
  return BOXES.flatMap(({ title }) => {
    const own = inBox.get(title) ?? [];
    const byName = Map.groupBy(
      own.flatMap((path) => ruleFor(path) ?? []),
      ({ name }) => name,
    );
    const rules = [...byName.values()].sort((a, b) => b.length - a.length).flatMap(([rule]) => rule ?? []);
    return own.length === 0 ? [] : [{ title, paths: own, rules }];
  });
}

/** What an arrow from `box` to `other` says: null for none, nothing when all of `other` may be imported by all of `box`. */
function arrowOf(box: Box, other: Box): string | null {
  const free = box.rules.filter((rule) => other.paths.some((path) => allows(rule, path)));
  const [first] = free;
  if (first === undefined) return null;
  // Adapters differ in what they need of each other.
  if (box.title.startsWith('adapters/')) return partOf(free, other);
  return first === box.rules[0] ? partOf([first], other) : first.name;
}

function partOf(rules: readonly ImportRule[], other: Box): string {
  const taken = other.paths.filter((path) => rules.some((rule) => allows(rule, path)));
  if (taken.length === other.paths.length) return '';
  const folder = /^[^/]+\//;
  const names = new Set(taken.map((path) => path.replace(folder, '').replace(/[/.].*$/, '')));
  return names.size <= NAMED ? [...names].sort().join(', ') : 'some';
}

/** The boxes and who may import what of them, as a flowchart of Mermaid. */
export function importsDiagram(paths: readonly string[]): string {
  const boxes = boxesOf(paths);
  const drawn = boxes.filter(({ rules }) => !rules.some(takesAll));
  const all = boxes.filter(({ rules }) => rules.some(takesAll));
  const node = ({ title }: Box): string => `${idOf(title)}["${title.replace('<', '&lt;').replace('>', '&gt;')}"]`;
  const arrows = drawn.flatMap((box) =>
    drawn.flatMap((other) => {
      const said = other === box ? null : arrowOf(box, other);
      if (said === null) return [];
      return [`  ${idOf(box.title)} -->${said === '' ? '' : `|"${said}"|`} ${idOf(other.title)}`];
    }),
  );
  const free = all.map((box) => {
    const never = boxes.filter((other) => other !== box && !other.paths.some((path) => box.rules.some((rule) => allows(rule, path))));
    const said = never.length === 0 ? 'everything' : `everything but ${never.map(({ title }) => title).join(', ')}`;
    return `  ${node(box)} -->|"${said}"| project`;
  });
  return [
    '```mermaid',
    'flowchart TB',
    '  subgraph project[" "]',
    ...drawn.map((box) => `    ${node(box)}`),
    '  end',
    ...arrows,
    ...free,
    '```',
  ].join('\n');
}

const pathsBelow = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.test(name))
    .flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? pathsBelow(path) : [path];
    });

/** docs/architecture.md as it should be: what people wrote, with the picture of the import table. */
export function architecturePage(): GeneratedFile {
  const path = join(ROOT, 'docs/architecture.md');
  const sources = pathsBelow('').filter((source) => CODE.test(source));
  return { path, text: withSections(readFileSync(path, 'utf8'), { imports: importsDiagram(sources) }) };
}

if (import.meta.main) process.exitCode = generate([architecturePage()], process.argv.slice(2));
