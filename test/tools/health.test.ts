import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { installCrds, objectsIn } from '../support/kube-apply.ts';
import { blocksOf } from '../support/markdown.ts';
import { isSo, KINDS, Play, type Shown } from './health-objects.ts';
import { outputOf, temporaryFolder } from './tool.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/gitops.md'), 'utf8');
const [SCRIPT = ''] = blocksOf(PAGE, 'lua');

interface Verdict {
  readonly status: string;
  readonly message: string;
}

interface Judged {
  readonly kstatus: Verdict;
  readonly argo: Verdict;
}

const spansOf = (cell = ''): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

/** The rows of the table: all that has to be so for one to count, and what follows. */
const rows = PAGE.split('\n')
  .filter((line) => /^\| .*`.*\|$/.test(line))
  .map((line) => line.split('|').slice(1))
  .map(([says, kstatus, , argo]) => ({
    wants: spansOf(says).filter((span) => /^(deletionTimestamp|observedGeneration|\w+=\w+)$/.test(span)),
    kstatus: spansOf(kstatus)[0],
    argo: spansOf(argo)[0],
  }));

const rowOf = (object: Shown) => rows.find(({ wants }) => wants.every((want) => isSo(want, object)));

/** What the libraries say of the objects. */
const judge = (objects: readonly unknown[], script = SCRIPT): readonly Judged[] => {
  const file = join(temporaryFolder(), 'health.lua');
  writeFileSync(file, script);
  const lines = outputOf('health', [file], objects.map((object) => JSON.stringify(object)).join('\n')).trim();
  return lines.split('\n').map((line) => JSON.parse(line));
};

let cluster: Cluster;
let play: Play;

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  play = await Play.open(cluster.kubeconfig);
  await play.run();
}, 180_000);
afterAll(async () => {
  await play?.close();
  await cluster?.stop();
});

describe('docs/gitops.md', () => {
  test('says of every object what kstatus and Argo CD make of it', () => {
    const objects = play.seen.map(({ object }) => object);
    const told = objects.map((object) => ({ ...nameOf(object), kstatus: rowOf(object)?.kstatus, argo: rowOf(object)?.argo }));
    const found = judge(objects).map(({ kstatus, argo }, index) => ({
      ...nameOf(objects[index]),
      kstatus: kstatus.status,
      argo: argo.status,
    }));
    expect(found).toEqual(told);
  });

  test('says so by the row that is about the object, and has no row that no object is like', () => {
    expect(play.seen.filter(({ so, object }) => rowOf(object)?.wants.join() !== so.join())).toEqual([]);
    expect(rows.length).toBeGreaterThan(7);
    expect([...new Set(play.seen.map(({ so }) => so.join()))].sort()).toEqual(rows.map(({ wants }) => wants.join()).sort());
  });

  test('tells Argo CD of each kind that has conditions', () => {
    const definitions = globSync('crds/*.yaml', { cwd: ROOT }).flatMap((path) => objectsIn(join(ROOT, path))) as unknown as readonly {
      readonly spec: { readonly group: string; readonly names: { readonly kind: string }; readonly versions: readonly object[] };
    }[];
    const having = definitions.filter(({ spec }) => JSON.stringify(spec.versions).includes('"conditions":{"type":"array"'));
    expect(having.map(({ spec }) => spec.names.kind).sort()).toEqual([...KINDS].sort());
    const keys = having.map(({ spec: { group, names } }) => `resource.customizations.health.${group}_${names.kind}`);
    expect(blocksOf(PAGE, 'text')[0]?.split('\n')).toEqual(keys.sort());
  });
});

describe('the script', () => {
  test('has the words of the object in what it says, and the operator’s where there are none', () => {
    const said = judge(play.seen.map(({ object }) => object)).map(({ argo }) => argo.message);
    expect(said).toEqual(expect.arrayContaining([expect.stringMatching(/^AddressNotFound: /), expect.stringMatching(/^AllActive: /)]));
    const [bare] = judge([{ apiVersion: 'routedip.io/v1alpha1', kind: 'RoutedIP', metadata: { name: 'bare', generation: 1 } }]);
    expect(bare?.argo).toEqual({ status: 'Progressing', message: 'the operator has not looked at it yet' });
  });

  // As Argo CD has it: these are what a script may not do.
  test.each([
    ['uses a library that is not opened', 'return { status = string.upper("healthy") }', 'attempt to index a non-table object'],
    ['does not end', 'while true do end', 'context deadline exceeded'],
    ['has a word of its own', 'return { status = "Fine" }', 'invalid health status'],
  ])('that %s is of no use', (_, script, message) => {
    const [found] = judge([{ apiVersion: 'v1', kind: 'RoutedIP', metadata: { name: 'any' } }], script);
    expect(found?.argo).toEqual({ status: 'Unknown', message: expect.stringContaining(message) });
  });
});

const nameOf = (object: Shown | undefined) => ({
  kind: object?.kind,
  name: object?.metadata.name,
  says: object?.status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
});
