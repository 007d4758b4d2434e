import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/your-first-change.md');

const changes = [...page.matchAll(/```diff\n--- ([^\n]+)\n(.*?)```/gs)].map(([, path = '', text = '']) => ({
  path,
  lines: text.trimEnd().split('\n'),
}));
/** What has to be in the file, one below the other. */
const before = (lines: readonly string[]): string =>
  lines
    .filter((line) => !line.startsWith('+'))
    .map((line) => `${line.slice(1)}\n`)
    .join('');
const added = (lines: readonly string[]): readonly string[] => lines.filter((line) => line.startsWith('+')).map((line) => line.slice(1));

describe('docs/your-first-change.md', () => {
  test('has changes to show', () => expect(changes.length).toBeGreaterThan(6));

  test.each(changes.map(({ path, lines }) => [path, lines] as const))('changes what is there in %s, once', (path, lines) => {
    expect(read(path).split(before(lines))).toHaveLength(2);
    expect(added(lines).length).toBeGreaterThan(0);
  });

  test('adds a state that is not there', () => expect(read('machines/address/address.machine.ts')).not.toContain('Pausing:'));

  test('names tests by what they are called', () => {
    const named = [
      ['test/machines/address/address.test.ts', 'an address that a list shows elsewhere'],
      ['test/machines/address/address.test.ts', 'stays when the read shows it in its place, or fails'],
      ['test/diagram.test.ts', 'is what the charts say today'],
      ['test/machines/address/invariants.ts', 'a wait has an end, and a timer for it'],
      ['test/machines/address/address.chart.test.ts', 'a restart goes on there: '],
      ['test/histories/recorded.test.ts', 'are of every chart, and of every state in which one of them rests'],
      ['test/histories/recorded.test.ts', 'what is stored means today what it meant'],
    ] as const;
    for (const [path, title] of named) {
      expect(page).toContain(`"${title.trimEnd()}`);
      expect(read(path)).toContain(title);
    }
  });
});
