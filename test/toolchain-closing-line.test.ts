import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isShare } from '../tools/closing-line.ts';

const ROOT = join(import.meta.dirname, '..');

const suites: Readonly<Record<string, string>> = {
  'passes.test.ts': "test('one', () => {}); test('two', () => {});",
  'fails.test.ts': "test('wrong', () => { expect(1).toBe(2) }); test.skip('later', () => {});",
  'breaks.test.ts': "import './is-not-there.ts'; test('never seen', () => {});",
  'unprepared.test.ts':
    "describe('a server', () => { beforeAll(() => { throw new Error('no port') }); test('answers', () => {}); test('stops', () => {}); });",
  'throws.test.ts':
    "test('fine', () => {}); setTimeout(() => { throw new Error('outside of any test') }, 0); test('waits', () => new Promise((done) => setTimeout(done, 100)));",
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'routedip-closing-'));
  for (const [name, text] of Object.entries(suites)) writeFileSync(join(folder, name), text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly status: number | null;
  readonly last: string | undefined;
  readonly failures: readonly string[];
}

/** The exit code, the last line and the lines about failures of a run of vitest as `npm test` does it, over some of the files above. */
const run = (...filters: string[]): Run => {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const reporters = ['--reporter=default', `--reporter=${join(ROOT, 'tools/closing-line.ts')}`];
  const { status, stdout } = spawnSync(process.execPath, [vitest, 'run', '--root', folder, '--globals', ...reporters, ...filters], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const lines = stdout.trimEnd().split('\n');
  return { status, last: lines.at(-1), failures: lines.filter((line) => line.startsWith('FAILED ')) };
};

describe('the closing line of a test run', () => {
  test('counts the tests', () => {
    expect(run('passes')).toEqual({ status: 0, last: '2 passed, 0 failed', failures: [] });
  });

  test('counts failed and skipped ones too, and the run fails', () => {
    expect(run('passes', 'fails')).toEqual({
      status: 1,
      last: '2 passed, 1 failed, 1 skipped',
      failures: ['FAILED fails.test.ts > wrong: expected 1 to be 2 // Object.is equality'],
    });
  });

  test('counts a file that cannot be loaded as failed', () => {
    const { failures, ...rest } = run('passes', 'breaks');
    expect(rest).toEqual({ status: 1, last: '2 passed, 1 failed' });
    expect(failures).toEqual([expect.stringMatching(/^FAILED breaks\.test\.ts: .*is-not-there\.ts/)]);
  });

  test('counts an error outside any test as failed', () => {
    expect(run('throws')).toEqual({ status: 1, last: '2 passed, 1 failed', failures: ['FAILED outside of any test: outside of any test'] });
  });

  test('names a suite whose preparation failed, and counts what could not run', () => {
    expect(run('unprepared')).toEqual({
      status: 1,
      last: '0 passed, 1 failed, 2 skipped',
      failures: ['FAILED unprepared.test.ts > a server: no port'],
    });
  });

  test('comes after a word about all histories when a share of them was shown', () => {
    expect(isShare(['run'], {})).toBe(true);
    expect([isShare(['run'], { TEST_EXTENT: 'all' }), isShare(['run'], { TEST_TARGET: 'cluster' }), isShare(['run', 'docs'], {})]).toEqual([
      false,
      false,
      false,
    ]);
  });

  test('makes a run without any test a failure', () => {
    expect(run('passes', '-t', 'no such name')).toEqual({ status: 1, last: '0 passed, 0 failed, 2 skipped', failures: [] });
    expect(run('no-such-file')).toEqual({ status: 1, last: '0 passed, 0 failed', failures: [] });
  });
});
