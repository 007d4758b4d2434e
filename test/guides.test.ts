import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agrees, commandsOf, isLook, stepsOf } from './support/guide.ts';
import { playGuide } from './support/guide-player.ts';
import { GUIDES, type Guide, guideText } from './support/guides.ts';

const ROOT = join(import.meta.dirname, '..');
const NAMES = Object.keys(GUIDES) as Guide[];
/** What a reader has to have, and what every shell has. */
const KNOWN = ['kubectl', 'docker', 'kind', 'doctl', 'npm', 'cat', 'cp', 'echo', 'export', 'kill', 'mkdir', 'read', 'sed'];

const syntaxError = (script: string): string => spawnSync('bash', ['-n'], { input: script, encoding: 'utf8' }).stderr;
/** The first word, without what it assigns. */
const nameOf = (command: string): string => /^(?:\w+=(?:\$\()?)?([\w-]+)/.exec(command)?.[1] ?? '';

describe.each(NAMES)('docs/%s.md', (name) => {
  const page = guideText(name);
  const steps = stepsOf(page);

  test('says first what one needs, how long it takes and what it costs', () => {
    const rows = [...(page.split('\n## ')[0] ?? '').matchAll(/^\| (.+?) \| .{5,} \|$/gm)].map(([, what]) => what);
    expect(rows).toEqual(['You need', 'It takes', 'It costs']);
  });

  test('has nothing but commands, and what they print, which a test plays whole', () => {
    expect(steps.length).toBeGreaterThan(8);
    expect(steps.filter(({ prints }) => prints !== null).length).toBeGreaterThan(4);
    expect(existsSync(join(ROOT, GUIDES[name]))).toBe(true);
    expect(readFileSync(join(ROOT, GUIDES[name]), 'utf8')).toContain(`'${name}'`);
  });

  test('has commands that a shell reads, of programs that its reader is told to have', () => {
    for (const { script } of steps) expect([script, syntaxError(script)]).toEqual([script, '']);
    const unknown = steps.flatMap(commandsOf).filter((command) => !KNOWN.includes(nameOf(command)));
    expect(unknown).toEqual([]);
  });

  test('shows what is there after each step that only looks', () => {
    const silent = steps.filter((step) => isLook(step) && step.prints === null && !/rollout status/.test(step.script));
    expect(silent).toEqual([]);
  });
});

describe('a guide', () => {
  test('is read as steps, each with what it prints', () => {
    const page =
      'Words.\n\n```sh\nkubectl get pods   # all\n```\n\nWords.\n\n```text\nNAME\n```\n\n```sh\ncat <<END\n# no comment\nEND\n```\n';
    expect(stepsOf(page)).toEqual([
      { line: 4, script: 'kubectl get pods   # all\n', prints: 'NAME\n' },
      { line: 14, script: 'cat <<END\n# no comment\nEND\n', prints: null },
    ]);
    expect(stepsOf(page).map(commandsOf)).toEqual([['kubectl get pods'], ['cat']]);
  });

  test.each(['```yaml\na: b\n```\n', '```text\nof no step\n```\n', '```sh\nls\n```\n```text\n1\n```\n```text\n2\n```\n'])(
    'has no other block: %j',
    (page) => expect(() => stepsOf(page)).toThrow('is no step'),
  );

  test.each([
    ['kubectl -n flipop get pods', true],
    ['kubectl get pods\nkubectl routedip explain 203.0.113.1', true],
    ['kubectl wait --for=condition=Ready pool/a', true],
    ['kubectl get pods -o name > pods', false],
    ['kubectl get pods; kubectl delete pod a', false],
    ['A=$(kubectl get pods -o name)', false],
    ['kubectl get pods\nkubectl cordon a', false],
  ])('only looks by %j: %s', (script, expected) => expect(isLook({ line: 1, script, prints: null })).toBe(expected));

  test.each([
    ['A   B\na   b\n', 'A B\na b', true],
    ['AGE\n5s\n', 'AGE\n2m10s\n', true],
    ['AGE\n5m+\n', 'AGE\n1h', true],
    ['AGE\n5s\n', 'AGE\n<unknown>\n', false],
    ['operator-6c8d5b7f9c-2x4zq Running\n', 'operator-59f4c7d6f8-m9d5v Running\n', true],
    ['operator-6c8d5b7f9c-2x4zq Running\n', 'operator-59f4c7d6f8-m9d5v Pending\n', false],
    ['flipop-6c8d5b7f9-x2x4z…\n', 'flipop-584c4d9fdf-kqtj7_6f1ed002\n', true],
    ['flipop-6c8d5b7f9-x2x4z…\n', 'operator-584c4d9fdf-kqtj7_6f1ed002\n', false],
    ['at 2026-01-01T00:00:00Z\n', 'at 2026-11-24T08:00:01.123Z\n', true],
    ['assign 203.0.113.1 to play-…: 201\n', 'assign 203.0.113.1 to play-b: 201\n', true],
    ['assign 203.0.113.1 to play-…: 201\n', 'assign 203.0.113.1 to play-b: 422\n', false],
    ['…\nlast\n', 'first\nsecond\nlast\n', true],
    ['…\nlast\n', 'last\n', true],
    ['…\nlast\n', 'last\nmore\n', false],
    ['first\n…\nlast\n', 'first\nno end\n', false],
    ['203.0.113.1\n', '203.0.113.2\n', false],
    ['a.c\n', 'abc\n', false],
    ['\n', '', true],
    ['\n', 'a difference\n', false],
  ])('that says %j agrees with %j: %s', (prints, printed, expected) => expect(agrees(prints, printed)).toBe(expected));
});

describe('a guide is played', () => {
  let cwd: string;
  /** Of a cluster in which things are Pending at first. */
  const KUBECTL = '#!/bin/sh\necho asked >>asked; [ "$(wc -l <asked)" -gt 2 ] && echo Running || echo Pending\n';

  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'guide-'));
    writeFileSync(join(cwd, 'kubectl'), KUBECTL, { mode: 0o755 });
  });
  afterAll(() => rmSync(cwd, { recursive: true }));

  const play = async (page: string): Promise<readonly string[]> => {
    const printed: string[] = [];
    const env = { PATH: [cwd, process.env.PATH].join(delimiter) };
    await playGuide(page, { cwd, env, filledIn: { 'dop_v1_…': 'a-token' }, after: async (_, text) => void printed.push(text) });
    return printed;
  };
  const step = (script: string, prints?: string): string =>
    `\`\`\`sh\n${script}\n\`\`\`\n${prints === undefined ? '' : `\`\`\`text\n${prints}\n\`\`\`\n`}`;

  test('in one shell, with what a reader fills in', async () => {
    const page =
      step('export TOKEN=dop_v1_…\nmkdir overlay') + step('sleep 60 &\necho "$TOKEN in $(ls -d over*)"', 'a-token in …') + step('kill %1');
    expect(await play(page)).toEqual(['', 'a-token in overlay\n', '']);
  });

  test('waiting for what a step that only looks is to show', async () => {
    expect(await play(step('kubectl get pods', 'Running'))).toEqual(['Running\n']);
    expect(readFileSync(join(cwd, 'asked'), 'utf8').split('\n')).toHaveLength(4);
  });

  test.each([
    [
      'a command fails',
      step('echo first\nfalse\necho second'),
      'line 2 of the page: echo first\nfalse\necho second\nended with ended and printed\nfirst\n',
    ],
    ['a command of a pipe fails', step('false | cat'), 'ended with ended'],
    [
      'something else is printed',
      step('true') + step('echo active', 'error'),
      'line 5 of the page: echo active\nended with 0 and printed\nactive\n',
    ],
  ])('until %s', async (_, page, message) => expect(play(page)).rejects.toThrow(message));
});
