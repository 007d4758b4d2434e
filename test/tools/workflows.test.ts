import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runTool } from './tool.ts';

const FOLDER = join(import.meta.dirname, '../../.github/workflows');
const files = readdirSync(FOLDER).map((name) => join(FOLDER, name));

/** Not by shellcheck or pyflakes too, where a machine happens to have them. */
const judged = (args: readonly string[], input?: string) => runTool('actionlint', ['-shellcheck=', '-pyflakes=', ...args], input);

test.each(files)('actionlint minds nothing in %s', (file) => {
  expect(judged([file])).toMatchObject({ code: 0, output: '' });
});

test.each([
  ['a function that there is not', 'test.yaml', 'hashFiles(', 'hashFile(', 'hashFile'],
  ['an output that no step has', 'release.yaml', 'steps.names.outputs', 'steps.name.outputs', 'property "name" is not defined'],
  ['a right that there is not', 'release.yaml', 'packages: write', 'package: write', 'unknown permission scope "package"'],
  ['a job that waits for none', 'release.yaml', 'needs: [chart, npm]', 'needs: [charts, npm]', 'needs job "charts" which does not exist'],
])('actionlint would mind %s', (_, name, from, to, message) => {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  expect(text).toContain(from);
  const { code, output } = judged(['-'], text.replaceAll(from, to));
  expect([code, output]).toEqual([1, expect.stringContaining(message)]);
});

test('scripts that the workflows run are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(FOLDER, '../../package.json'), 'utf8')) as { readonly scripts: object };
  const run = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/npm (?:run )?(?:--silent )?([\w:]+)$/gm)].map(([, name]) => name),
  );
  expect(run).toContain('test');
  expect(run.filter((name) => name === undefined || !(name in scripts))).toEqual([]);
});
