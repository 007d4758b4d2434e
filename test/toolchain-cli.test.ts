import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

describe('npm run test:cluster', () => {
  const run = (assets: string | undefined) => {
    const { KUBEBUILDER_ASSETS: _, ...env } = process.env;
    return spawnSync(process.execPath, [join(ROOT, 'tools/test-cluster.mjs')], {
      encoding: 'utf8',
      env: assets === undefined ? env : { ...env, KUBEBUILDER_ASSETS: assets },
    });
  };

  test('ends with 2 and the reason when there is no API server to test against', () => {
    const { status, stderr } = run(undefined);
    expect(status).toBe(2);
    expect(stderr).toContain('KUBEBUILDER_ASSETS is not set');
  });

  test('ends with 2 and names what is missing in the folder', () => {
    const { status, stderr } = run(temporary());
    expect(status).toBe(2);
    expect(stderr).toContain('holds no kube-apiserver and no etcd that can be run');
  });
});
