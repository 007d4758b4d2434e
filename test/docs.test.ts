import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LOG_KEYS } from '../actors/ports/observers.ts';
import { failureReason } from '../machines/model/failure.ts';
import type { ErrorKind } from '../machines/model/types.ts';
import * as recordSetReasons from '../machines/status/record-set-reasons.ts';
import { configurationPage, entriesOf, withSections } from '../tools/generate-docs.ts';
import { staleFiles } from '../tools/generated-files.ts';
import { filesOf } from './support/files.ts';
import { anchorsOf, codeOf, linksOf, namedPaths } from './support/markdown.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const files = filesOf(ROOT);
const pages = files.filter(({ path }) => path.endsWith('.md'));
const fileNames = new Set(files.map(({ path }) => basename(path)));

/** Why a link of `path` leads nowhere; null when it leads somewhere, or out of the project. */
const brokenLink = (path: string, link: string): string | null => {
  if (/^[a-z]+:/.test(link)) return null;
  const [file = '', anchor] = link.split('#');
  const target = file === '' ? path : relative(ROOT, resolve(ROOT, dirname(path), file));
  if (target.startsWith('..') || !existsSync(join(ROOT, target))) return `${path} links to ${link}, but there is no ${target}`;
  if (anchor === undefined || !target.endsWith('.md')) return null;
  return anchorsOf(read(target)).includes(anchor) ? null : `${path} links to ${link}, but ${target} has no heading for it`;
};

describe('the documentation', () => {
  test('links to what is there', () => {
    const links = pages.flatMap(({ path, text }) => linksOf(text).map((link) => ({ path, link })));
    expect(links.length).toBeGreaterThan(30);
    expect(links.filter(({ link }) => link.includes('#')).length).toBeGreaterThan(10);
    expect(links.flatMap(({ path, link }) => brokenLink(path, link) ?? [])).toEqual([]);
  });

  test.each(['gone.md', 'architecture.md#no-such-heading', '../../elsewhere.md'])('would not link to %s', (link) =>
    expect(brokenLink('docs/operations.md', link)).not.toBeNull(),
  );

  test('names files that are there', () => {
    const named = pages.flatMap(({ path, text }) => namedPaths(text).map((name) => ({ path, name })));
    expect(named.length).toBeGreaterThan(40);
    const isThere = (name: string): boolean => (name.includes('/') ? existsSync(join(ROOT, name)) : fileNames.has(name));
    expect(named.filter(({ name }) => !isThere(name))).toEqual([]);
  });

  test('tells to run scripts that package.json has', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
    const told = pages.flatMap(({ text }) => [...codeOf(text).matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test|start)\b)/g)]);
    const names = new Set(told.map(([, script, short]) => script ?? short ?? ''));
    expect([...names]).toEqual(expect.arrayContaining(['demo', 'test', 'start', 'generate', 'test:cluster']));
    expect([...names].filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

describe('README.md', () => {
  test('fits on 150 lines', () => expect(read('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150));
});

describe('docs/configuration.md', () => {
  const { path, text } = configurationPage();

  test('has the flags and variables of today', () => expect(staleFiles([{ path, text }])).toEqual([]));

  test('is found stale when a flag is another one', () => {
    expect(text).toContain('--verify-interval');
    expect(staleFiles([{ path, text: text.replaceAll('--verify-interval', '--check-interval') }])).toHaveLength(1);
  });

  test('takes a line of help that goes on below as one entry', () => {
    const help = 'Usage: x\n\nOptions:\n  --one <n>  says one thing\n             and goes on\n  --two      another\n\nEnvironment:\n';
    expect(entriesOf(help, 'Options')).toEqual([
      { term: '--one <n>', text: 'says one thing and goes on' },
      { term: '--two', text: 'another' },
    ]);
    expect(() => entriesOf(help, 'Environment')).toThrow('nothing under Environment');
  });

  test('must have a place for what is generated', () => {
    expect(() => withSections('# A page', { flags: 'a table' })).toThrow('no place for flags');
  });
});

/** By kind, so that a new one does not compile before it is here. */
const KINDS: Readonly<Record<ErrorKind, true>> = {
  NotFound: true,
  InProgress: true,
  NodeInUse: true,
  Conflict: true,
  RateLimited: true,
  Unauthorized: true,
  Invalid: true,
  Unavailable: true,
  Unsupported: true,
};

/** The reasons of all tables that say what to do, each with that. */
function rowsWithDeeds(page: string): readonly { readonly reason: string; readonly deed: string }[] {
  const found: { readonly reason: string; readonly deed: string }[] = [];
  let column = -1;
  let isInTable = false;
  for (const line of page.split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim());
    if (!line.startsWith('|')) isInTable = false;
    else if (!isInTable) {
      isInTable = true;
      column = cells.indexOf('Do');
    } else if (column > 0) {
      for (const [, reason = ''] of (cells[1] ?? '').matchAll(/`([A-Z]\w+)`/g)) found.push({ reason, deed: cells[column] ?? '' });
    }
  }
  return found;
}

describe('docs/conditions.md', () => {
  const page = read('docs/conditions.md');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const documented = new Set(
    rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name ?? '')),
  );

  /** Every word that stands for a reason in the files that give reasons. */
  const reasons = new Set([
    ...Object.keys(KINDS).map((kind) => failureReason({ kind: kind as ErrorKind })),
    ...Object.values(recordSetReasons).filter((reason) => typeof reason === 'string'),
    ...[
      'machines/status/pool.ts',
      'machines/pool/adoption.ts',
      'machines/status/nodes.ts',
      'machines/status/annotations.ts',
      'machines/pool/provisioning.ts',
      'actors/status/events.ts',
      'adapters/kubernetes/writer/write-trouble.ts',
      'machines/status/routedip.ts',
      'machines/status/routedip-events.ts',
      'machines/pool/ip-group-offer.ts',
      'machines/status/virtual-ip.ts',
      'machines/pool/service-observed.ts',
      'machines/spec/routedip.ts',
      'machines/model/parse.ts',
      'machines/spec/operator-credentials.ts',
      'machines/pool/service-ports.ts',
      'machines/spec/class.ts',
      'machines/pool/quota.ts',
      'actors/controllers/quota.ts',
      'actors/controllers/class-cache.ts',
      'actors/status/classes.ts',
      'actors/runtime/ailment.ts',
      'actors/ports/errors.ts',
      'actors/standing.ts',
      'actors/jobs/vacate.ts',
      'actors/unserved.ts',
    ].flatMap((path) =>
      read(path)
        .split('\n')
        .filter((line) => /\breason: /.test(line))
        .flatMap((line) => [...line.slice(line.indexOf('reason: ')).matchAll(/^reason: (?:[^,]|,(?= '))*/g)])
        .flatMap(([expression]) => [...expression.matchAll(/'([A-Z][A-Za-z]+)'/g)].map(([, name]) => name ?? '')),
    ),
    // With which the definitions begin a status.
    ...[...read('crds/floatingippools.yaml').matchAll(/^ +reason: (\w+)$/gm)].map(([, name]) => name ?? ''),
    ...[...read('machines/status/routedip-events.ts').matchAll(/warning\('(\w+)'/g)].map(([, name]) => name ?? ''),
    ...[...read('machines/spec/routedip.ts').matchAll(/new Refusal\('(\w+)'/g)].map(([, name]) => name ?? ''),
    ...[...(/readonly reason\?:(.*?)\n}/s.exec(read('machines/model/types.ts'))?.[1] ?? '').matchAll(/\| '(\w+)'/g)].map(
      ([, name]) => name ?? '',
    ),
  ]);

  test('is where docs/operations.md leads from each kind of trouble', () => {
    const asking = rowsWithDeeds(page).filter(({ deed }) => deed !== 'nothing');
    expect(asking.length).toBeGreaterThan(30);
    expect(asking.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['SafeHold', 'NameOutsideZone', 'IPGroupExhausted']));
    expect(asking.filter(({ deed }) => deed === '')).toEqual([]);
    const sections = page.split(/^(?=#{2,3} )/m).filter((section) => rowsWithDeeds(section).some(({ deed }) => deed !== 'nothing'));
    const anchors = sections.flatMap((section) => anchorsOf(section).slice(0, 1));
    expect(anchors).toEqual(expect.arrayContaining(['a-routedip', 'a-nodednsrecordset', 'of-what-is-not-served']));
    const links = linksOf(read('docs/operations.md'));
    expect(anchors.filter((anchor) => !links.includes(`conditions.md#${anchor}`))).toEqual([]);
  });

  test('says something about every reason', () => {
    expect([...reasons]).toEqual(expect.arrayContaining(['ClassNotFound', 'FirewallLimit', 'FirewallJobFailed', 'ServiceNotFound']));
    expect([...reasons]).toEqual(expect.arrayContaining(['AllActive', 'Waiting', 'NoEligibleNode', 'Forbidden', 'DriftDetected']));
    expect([...reasons].filter((name) => !documented.has(name))).toEqual([]);
  });

  test('says nothing about a reason that is gone', () => {
    const others = new Set(['Ready', 'Progressing', 'Degraded', 'Paused']);
    expect([...documented].filter((name) => !reasons.has(name) && !others.has(name))).toEqual([]);
  });

  test('has the texts of validation errors', () => {
    const paths = ['pool', 'routedip', 'class'].map((name) => `machines/spec/${name}.ts`);
    const texts = paths.flatMap((path) => [...read(path).matchAll(/refuse\(\s*(['`])(.*?)\1,?\s*\)/g)].map(([, , text]) => text ?? ''));
    expect(texts.length).toBeGreaterThan(18);
    const plain = (text: string): string => text.replace(/\$\{[^}]*\}.*$/, '').replace(/^"$/, '');
    const lost = texts.map(plain).filter((text) => text.length > 12 && !page.includes(text));
    expect(lost).toEqual([]);
  });
});

test('docs/operations.md tells of every key of the log, and of no other', () => {
  const [, section = ''] = read('docs/operations.md').split('\n### Keys of the log\n');
  const rows = (section.split('\n### ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  const told = rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, key = '']) => key));
  expect(told.sort()).toEqual(['level', 'time', 'msg', ...LOG_KEYS].sort());
});

describe('docs/at-3-am.md', () => {
  const [, index = ''] = read('docs/at-3-am.md').split('\n## Index\n');
  const indexed = new Set([...index.matchAll(/`([^`\n]+)`/g)].map(([, words = '']) => words));

  test('leads on from every alert', () => {
    const alerts = [...read('deploy/prometheus/rules.yaml').matchAll(/- alert: (\w+)/g)].map(([, alert = '']) => alert);
    expect(alerts.length).toBeGreaterThan(20);
    expect(alerts.filter((alert) => !indexed.has(alert))).toEqual([]);
  });

  test('leads on from every reason about which something is to be done', () => {
    const asking = rowsWithDeeds(read('docs/conditions.md')).filter(({ deed }) => deed !== 'nothing');
    expect(asking.length).toBeGreaterThan(30);
    expect(asking.map(({ reason }) => reason).filter((reason) => !indexed.has(reason))).toEqual([]);
  });

  test('leads on from every warning and error of the log, and from nothing that is not there', () => {
    const said = files
      .filter(({ path }) => /^((actors|adapters|composition)\/.*|main)\.ts$/.test(path))
      .flatMap(({ text }) => [...text.matchAll(/\blog\.(?:warn|error)\(\s*(?:[^'`\n]+ \? )?(['`])(.*?)\1(?: : (['`])(.*?)\3)?/g)])
      .flatMap(([, , message = '', , other]) => (other === undefined ? [message] : [message, other]))
      .map((message) => message.replace(/\$\{[^}]*\}/g, '…'));
    expect(said).toEqual(expect.arrayContaining(['a job failed', 'the store is another server than before', '… not written']));
    expect([...new Set(said)].filter((message) => !indexed.has(message))).toEqual([]);
    const [, messages = ''] = index.split('\n### Messages of the log\n');
    const listed = [...(messages.split('\n### ')[0] ?? '').matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message),
    );
    expect(listed.filter((message) => !said.includes(message))).toEqual([]);
  });
});

/** Tests that the rows of a page's tables name in their last cell. */
const testsNamedIn = (page: string): readonly { readonly file: string; readonly title: string }[] =>
  [...read(page).matchAll(/\| `(test\/[^`]+)`: (.+?) \|$/gm)].map(([, file = '', title = '']) => ({ file, title }));

test.each(['docs/flipop-defects.md', 'docs/security.md'])('%s names tests that exist', (page) => {
  const named = testsNamedIn(page);
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter(({ file, title }) => !read(file).includes(title))).toEqual([]);
});

test('the threat model says nothing without a test', () => {
  const [, model = ''] = read('docs/security.md').split('\n## Threat model\n');
  const rows = (model.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| ') && !line.endsWith('| Shown by |'));
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((row) => !/\| `test\/[^`]+`: .+ \|$/.test(row))).toEqual([]);
});
