import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runTool } from './tool.ts';

const FOLDER = join(import.meta.dirname, '../../.github/workflows');
const files = readdirSync(FOLDER).map((name) => join(FOLDER, name));

/** Not by shellcheck or pyflakes too, where a machine happens to have them. */
const judged = (args: readonly string[], input?: string) => runTool('actionlint', ['-shellcheck=', '-pyflakes=', ...args], input);

test('actionlint minds nothing in the workflows', () => {
  expect(files.length).toBeGreaterThan(0);
  expect(judged(files)).toMatchObject({ code: 0, output: '' });
});

test('actionlint would mind a step that cannot be read', () => {
  const [text = ''] = files.map((file) => readFileSync(file, 'utf8'));
  const { code, output } = judged(['-'], text.replace('hashFiles(', 'hashFile('));
  expect([code, output]).toEqual([1, expect.stringContaining('hashFile')]);
});

test('scripts that the workflows run are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(FOLDER, '../../package.json'), 'utf8')) as { readonly scripts: object };
  const run = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/npm (?:run )?(?:--silent )?([\w:]+)$/gm)].map(([, name]) => name),
  );
  expect(run).toContain('test');
  expect(run.filter((name) => name === undefined || !(name in scripts))).toEqual([]);
});
