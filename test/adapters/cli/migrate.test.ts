import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { addMigrate } from '../../../adapters/cli/migrate.ts';
import { parseCommandLine } from '../../../adapters/cli/options.ts';
import { entryOf } from '../../support/entry.ts';
import { legacyCluster } from '../kubernetes/writer/migration-support.ts';

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'migrate-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
};

const fileOf = (text: string): string => {
  const path = join(folder(), 'file.yaml');
  writeFileSync(path, text);
  return path;
};

/** `routedip-operator …` as a user calls it. */
const run = async (args: readonly string[], input = '') => {
  const child = spawn(process.execPath, [entryOf('routedip-operator'), ...args], { env: { PATH: '', KUBECONFIG: '/nowhere' } });
  let [out, problems] = ['', ''];
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    problems += data;
  });
  child.stdin.end(input);
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, out, problems };
};

const mapping = (name: string, spec?: object) => ({
  apiVersion: 'paas.org/v1',
  kind: 'GroupSegmentMapping',
  metadata: { name, uid: 'u', resourceVersion: '7', generation: 2, creationTimestamp: '2022-01-24T00:00:00Z', labels: { a: 'b' } },
  ...(spec && { spec }),
});
const FIRST = mapping('keepalived-1', { keepalivedGroup: 'group1', segment: '1.1.1.0/29', excludedIPs: ['1.1.1.0'] });
const SECOND = mapping('keepalived-2', { keepalivedGroup: 'group2', segment: '1.1.2.0/29', excludedIPs: [] });

const documentsIn = (text: string): unknown[] => parseAllDocuments(text).map((document) => document.toJS());
const group = (name: string, segment: string, excludedIPs: readonly string[]) => ({
  apiVersion: 'paas.org/v1',
  kind: 'IPGroup',
  metadata: { name },
  spec: { segment, excludedIPs },
});

describe('routedip-operator migrate gsm', () => {
  test('prints the IPGroups for the GroupSegmentMappings of a file, and nothing that the server adds', async () => {
    const list = stringify({ apiVersion: 'v1', kind: 'List', items: [SECOND, FIRST] });
    const { code, out, problems } = await run(['migrate', 'gsm', '-f', fileOf(list)]);
    expect([code, problems]).toEqual([0, '']);
    expect(documentsIn(out)).toEqual([group('keepalived-1', '1.1.1.0/29', ['1.1.1.0']), group('keepalived-2', '1.1.2.0/29', [])]);
  });

  test('prints those that will work and says what is wrong with the others', async () => {
    const bad = [mapping('no-spec'), mapping('banana', { keepalivedGroup: 'g', segment: 'banana', excludedIPs: [] })];
    const overlapping = mapping('overlapping', { keepalivedGroup: 'g', segment: '1.1.1.0/30', excludedIPs: [] });
    const text = [FIRST, ...bad, overlapping, { kind: 'Secret', metadata: { name: 'x' } }].map((each) => stringify(each)).join('---\n');
    const { code, out, problems } = await run(['migrate', 'gsm', '-f', '-'], text);
    expect(code).toBe(3);
    expect(documentsIn(out)).toEqual([group('keepalived-1', '1.1.1.0/29', ['1.1.1.0']), group('overlapping', '1.1.1.0/30', [])]);
    expect(problems.trim().split('\n')).toEqual([
      'Secret x is left out: it is no GroupSegmentMapping',
      'banana is left out: invalid CIDR address: banana',
      expect.stringMatching(/^no-spec is left out: .*no spec/),
      'keepalived-1 and overlapping overlap',
    ]);
  });

  test('reads those of a cluster, and what it prints is taken by the API server', async () => {
    const cluster = await legacyCluster({ groups: false });
    const { code, out, problems } = await run(['migrate', 'gsm', '--kubeconfig', fileOf(cluster.simulator.kubeconfig())]);
    expect([code, problems]).toEqual([0, '']);
    const [printed] = documentsIn(out);
    expect(printed).toMatchObject({ kind: 'IPGroup', metadata: { name: 'keepalived-2' } });
    cluster.store.create(printed as Parameters<typeof cluster.store.create>[0]);
    expect(cluster.find('IPGroup', 'keepalived-2')?.spec).toEqual({
      segment: '1.1.2.0/29',
      excludedIPs: ['1.1.2.0', '1.1.2.1', '1.1.2.5', '1.1.2.7'],
    });
  });

  test.each([
    { title: 'a file that is not there', args: ['migrate', 'gsm', '-f', '/nowhere/x'] },
    { title: 'a cluster that nobody names', args: ['migrate', 'gsm'] },
  ])('ends with 1 for $title', async ({ args }) => {
    const { code, out, problems } = await run(args);
    expect([code, out]).toEqual([1, '']);
    expect(problems).toContain('cannot read GroupSegmentMappings');
  });

  test.each([
    { title: 'a flag that there is not', args: ['migrate', 'gsm', '--nope'], says: 'unknown option' },
    { title: 'a file and a cluster', args: ['migrate', 'gsm', '-f', 'x', '--kubeconfig', 'y'], says: 'cannot be used with' },
    { title: 'no word of what', args: ['migrate'], says: 'gsm' },
  ])('ends with 2 for $title', ({ args, says }) => {
    onTestFinished(() => {
      vi.restoreAllMocks();
      process.exitCode = undefined;
    });
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    let asked = 0;
    const add = (program: Command) =>
      addMigrate(program, () => {
        asked += 1;
      });
    expect(parseCommandLine(args, {}, '0.0.0', add)).toBeNull();
    expect([process.exitCode, asked]).toEqual([2, 0]);
    expect(said.mock.calls.join()).toContain(says);
  });

  test('says so when there is nothing to be migrated', async () => {
    expect(await run(['migrate', 'gsm', '-f', '-'], '---\n')).toEqual({ code: 3, out: '', problems: 'there is no GroupSegmentMapping\n' });
  });
});

test('routedip-operator without a command starts the operator, as it always did', async () => {
  const { code, out, problems } = await run(['--metrics-bind-addr=']);
  expect(code).toBe(1);
  expect(out + problems).toContain('cannot run');
});
