import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse as parseDemo } from '../demo/args.ts';
import { filesOf } from './support/files.ts';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('.editorconfig', () => {
  const settings = read('.editorconfig');
  const { formatter, javascript } = JSON.parse(read('biome.json')) as {
    readonly formatter: Readonly<Record<'indentStyle' | 'indentWidth' | 'lineWidth', unknown>>;
    readonly javascript: unknown;
  };

  test('says of indents and lines what biome.json says', () => {
    expect(javascript).toBeDefined();
    const [, all = ''] = settings.split('[*]\n');
    expect(all).toContain(`indent_style = ${formatter.indentStyle}\nindent_size = ${formatter.indentWidth}\n`);
    expect(settings).toContain(`max_line_length = ${formatter.lineWidth}\n`);
  });

  test('is what the files are', () => {
    const copied = /^(crds\/samples|test\/scenarios\/published|test\/recorded-exchanges)\//;
    const files = filesOf(ROOT).filter(({ path, text }) => !copied.test(path) && text !== '' && !path.endsWith('.tsv'));
    expect(files.length).toBeGreaterThan(1000);
    const wrong = files.flatMap(({ path, text }) => [
      ...(text.endsWith('\n') ? [] : [`${path} does not end with a newline`]),
      ...(text.includes('\r\n') ? [`${path} has lines that end with CRLF`] : []),
      ...(/[ \t]$/m.test(text) ? [`${path} has blanks at the end of a line`] : []),
      ...(/^\t/m.test(text) && !/(\.go|\.mod|\.sum)$/.test(path) ? [`${path} is indented with tabs`] : []),
    ]);
    expect(wrong).toEqual([]);
  });
});

describe('.vscode/launch.json', () => {
  const text = read('.vscode/launch.json').replaceAll(/^\s*\/\/.*$/gm, '');
  const { configurations } = JSON.parse(text) as {
    readonly configurations: readonly { readonly name: string; readonly program?: string; readonly args?: readonly string[] }[];
  };
  const argsOf = (name: string): readonly string[] => configurations.find((each) => each.name === name)?.args ?? [];
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> };

  test('starts tests as npm test does, without the browser', () => {
    const words = argsOf('the test file that is open').join(' ');
    expect(scripts.test?.replace(' --chromium', '')).toBe(
      `node tools/setup.mjs ${words.slice(0, words.indexOf(' --no-file-parallelism'))}`,
    );
  });

  test('starts what npm run dev starts, with time to look around', () => {
    const words = argsOf('the operator of npm run dev');
    expect(`exec node tools/setup.mjs ${words.slice(0, -2).join(' ')}`).toBe(scripts.dev);
    expect(parseDemo(words.slice(2))).toMatchObject({ watch: true, deadlineMs: 3_600_000 });
  });
});

test('neither the package nor the images have what is for editors', () => {
  const { files } = JSON.parse(read('package.json')) as { readonly files: readonly string[] };
  expect(files.filter((name) => /^\.|\*/.test(name))).toEqual([]);
  const [first, ...others] = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(first).toBe('*');
  expect(others.filter((line) => /editorconfig|vscode/.test(line))).toEqual([]);
});
