import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

const temporary = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

test('the command says in one line what to do under a Node that is too old', () => {
  // Node 24 that calls itself an older one: it shows the check, not that an older Node can read the file. test:package does that.
  const disguise = join(temporary(), 'older.cjs');
  writeFileSync(disguise, "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } });");
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--require', disguise, join(ROOT, 'bin/routedip-operator.mjs'), '--help'],
    { encoding: 'utf8' },
  );
  expect(status).toBe(1);
  expect(stdout).toBe('');
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^routedip-operator needs Node 24 or newer and this is Node 20\.11\.0 .*: install Node 24/),
  ]);
});

test.each(['routedip-operator', 'kubectl-routedip'])('%s ends quietly when who reads its output has read enough', (name) => {
  const command = `set -o pipefail; "${process.execPath}" "${join(ROOT, 'bin', `${name}.mjs`)}" --help | true`;
  const { status, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

describe('npm run test:cluster', () => {
  /** On a machine that has built nothing yet, with a Go that cannot. */
  const run = (assets: string, ...words: readonly string[]) => {
    const tools = temporary();
    writeFileSync(join(tools, 'go'), '#!/bin/sh\necho no module proxy >&2\nexit 1\n', { mode: 0o755 });
    return spawnSync(process.execPath, [join(ROOT, 'tools/test-cluster.mjs'), ...words], {
      encoding: 'utf8',
      env: { PATH: `${tools}${delimiter}${process.env.PATH}`, HOME: temporary(), KUBEBUILDER_ASSETS: assets },
    });
  };

  test('ends with 2 and the reason when there is no API server to test against, and none can be built', () => {
    const { status, stderr } = run('');
    expect(status).toBe(2);
    expect(stderr).toContain('no module proxy');
    expect(stderr).toContain('KUBEBUILDER_ASSETS is not set');
  });

  test('ends with 2 when the old one is asked for and not given', () => {
    const { status, stderr } = run('', '--old');
    expect(status).toBe(2);
    expect(stderr).toMatch(/^test:cluster:old: KUBEBUILDER_ASSETS is not set/);
  });

  test('ends with 2 and names what is missing in the folder', () => {
    const { status, stderr } = run(temporary());
    expect(status).toBe(2);
    expect(stderr).toContain('holds no kube-apiserver and no etcd that can be run');
  });
});

describe('npm run test:upgrade', () => {
  const run = (...words: readonly string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'tools/test-upgrade.ts'), ...words], { encoding: 'utf8' });

  test.each([
    ['a version that nobody knows', ['--from', 'v0.0.0-never'], 'There is no commit "v0.0.0-never"'],
    // It is no option of git's.
    ['what looks like an option', ['--from=--all'], 'There is no commit "--all"'],
    ['a seed that is no number', ['--seed', 'one'], '--seed wants a whole number, not "one"'],
    ['a flag that there is not', ['--form', 'main'], "Unknown option '--form'"],
  ])('ends with 2 and says so when it is given %s', (_, words, says) => {
    const { status, stdout, stderr } = run(...words);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`test:upgrade: ${says}`);
  });
});
