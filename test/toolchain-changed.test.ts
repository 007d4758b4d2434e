import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changes, countsAsChanged, type Source } from '../tools/changed.ts';
import { filesOf } from './support/files.ts';

const ROOT = join(import.meta.dirname, '..');
const sources: readonly Source[] = filesOf(ROOT).filter(({ path }) => /\.(ts|mts|mjs|js)$/.test(path));
const reachedBy = (...paths: string[]): readonly string[] => countsAsChanged(paths, sources);

describe('npm test -- --changed', () => {
  test.each([
    ['what starts the operator, when a chart changes', 'machines/address/address.machine.ts', 'test/support/operator.ts'],
    ['what starts the plugin, when one of its commands changes', 'plugin/program.ts', 'test/support/plugin.ts'],
    ['the test of a page, when that changes', 'docs/conditions.md', 'test/docs.test.ts'],
    ['the test of every chart in a folder', 'machines/address/address.machine.ts', 'test/diagram.test.ts'],
    ['the test of a manifest', 'deploy/rbac.yaml', 'test/cluster/least-privilege.test.ts'],
    ['the test that starts a program of tools/', 'tools/setup.mjs', 'test/toolchain-setup.test.ts'],
    ['the same, when something changes that the program imports', 'tools/redis.mjs', 'test/toolchain-setup.test.ts'],
    ['the test that starts the demo, when the story changes', 'demo/story.ts', 'test/demo/demo.test.ts'],
    ['the test that starts a file beside it', 'test/adapters/bullmq/fatal-worker.ts', 'test/adapters/bullmq/fatal.test.ts'],
    ['what looks at every file of the project', 'SECURITY.md', 'test/support/files.ts'],
  ])('reaches %s', (_, changed, expected) => {
    expect(sources.some(({ path }) => path === expected)).toBe(true);
    expect(reachedBy(changed)).toEqual(expect.arrayContaining([changed, expected]));
  });

  // Else each change of a chart would run everything.
  test('takes what vitest loads before all tests for changed only when it is', () => {
    const before = [
      'vitest.config.ts',
      'test/support/bundled-operator.ts',
      'test/support/entry.ts',
      'tools/build-ref.ts',
      'tools/bundle.ts',
    ];
    expect(
      reachedBy('machines/address/decisions.ts', 'crds/floatingippools.yaml', 'simulator/kubernetes/api.ts').filter((path) =>
        before.includes(path),
      ),
    ).toEqual([]);
    expect(reachedBy('tools/bundle.ts')).toContain('tools/bundle.ts');
  });

  test('leaves out what has nothing to do with the change', () => {
    const reached = reachedBy('test/machines/builders.ts');
    expect(reached.filter((path) => /^test\/(e2e|adapters|actors)\//.test(path))).toEqual([]);
    expect(reachedBy()).toEqual([]);
  });
});

describe('what has changed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'routedip-changed-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const git = (...words: string[]): void => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false', '-c', 'init.defaultBranch=main'];
    const done = spawnSync('git', [...who, ...words], { cwd: folder, encoding: 'utf8' });
    if (done.status !== 0) throw new Error(done.stderr);
  };
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const changed = async (changedSince: string | true): Promise<readonly string[]> => {
    const found = await changes.findChangedFiles({ root: folder, changedSince } as Parameters<typeof changes.findChangedFiles>[0]);
    return found.map((path) => path.slice(folder.length + 1)).filter((path) => path.endsWith('.txt'));
  };

  beforeAll(() => {
    git('init', '--quiet');
    for (const name of ['committed', 'staged', 'edited', 'removed', 'same']) write(`${name}.txt`, 'one\n');
    git('add', '.');
    git('commit', '--quiet', '--message=first');
    git('tag', 'first');
    write('committed.txt', 'two\n');
    git('commit', '--quiet', '--all', '--message=second');
  });

  test('is nothing when all is committed', async () => expect(await changed(true)).toEqual([]));

  test('is what is staged, edited, removed or new, and since a commit what was committed, too', async () => {
    write('staged.txt', 'two\n');
    git('add', 'staged.txt');
    write('edited.txt', 'two\n');
    write('new.txt', 'one\n');
    rmSync(join(folder, 'removed.txt'));
    const now = ['edited.txt', 'new.txt', 'removed.txt', 'staged.txt'];
    expect(await changed(true)).toEqual(now);
    expect(await changed('first')).toEqual(['committed.txt', ...now]);
  });

  test('is refused for a commit that is not there', async () => {
    await expect(changed('no-such-commit')).rejects.toThrow('there is no commit "no-such-commit"');
  });
});
