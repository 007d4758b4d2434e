import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { architecturePage, importsDiagram } from '../tools/generate-architecture.ts';
import { staleFiles } from '../tools/generated-files.ts';
import { filesOf } from './support/files.ts';
import { ROOMS } from './support/import-table.ts';

const ROOT = join(import.meta.dirname, '..');
const sources = filesOf(ROOT)
  .map(({ path }) => path)
  .filter((path) => /\.(ts|mjs|js)$/.test(path));

/** A page as one has it before one's eyes, the picture apart. */
const LINES = 120;

describe('docs/architecture.md', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');

  test('has the picture of the import table of today', () => expect(staleFiles([architecturePage()])).toEqual([]));

  test('is found stale when the picture is another one', () => {
    const { path, text } = architecturePage();
    expect(text).toContain('actors --> machines\n');
    expect(staleFiles([{ path, text: text.replace('actors --> machines\n', '') }])).toHaveLength(1);
  });

  test('stays on one page', () => {
    const own = page.replaceAll(/```mermaid\n.*?\n```/gs, '');
    expect(own.trimEnd().split('\n').length).toBeLessThanOrEqual(LINES);
  });

  test('names every folder of sources', () => {
    const folders = new Set(sources.filter((path) => path.includes('/')).map((path) => path.split('/')[0]));
    expect(folders.size).toBeGreaterThan(10);
    expect([...folders].filter((folder) => !page.includes(`\`${folder}/`))).toEqual([]);
  });

  test('names every room', () => {
    const rooms = Object.values(ROOMS).flatMap((each) => Object.keys(each).filter((room) => room !== '.'));
    expect(rooms.length).toBeGreaterThan(15);
    expect(rooms.filter((room) => !page.includes(`\`${room}/\``))).toEqual([]);
  });
});

describe('the picture of the import table', () => {
  const picture = importsDiagram(sources);
  const arrow = (from: string, to: string): string | undefined =>
    picture.split('\n').find((line) => line.startsWith(`  ${from} -->`) && line.endsWith(` ${to}`));

  test.each([
    ['plugin', 'adapters_memory', '  plugin --> adapters_memory'],
    ['actors', 'machines_machine_ts', '  actors --> machines_machine_ts'],
    ['adapters_system', 'actors', '  adapters_system -->|"ports"| actors'],
    ['adapters_system', 'adapters_http', '  adapters_system --> adapters_http'],
    ['demo', 'tools', '  demo -->|"free-ports"| tools'],
    ['tools', 'machines_machine_ts', '  tools -->|"the diagram generator"| machines_machine_ts'],
  ])('has the arrow from %s to %s', (from, to, line) => expect(arrow(from, to)).toBe(line));

  test.each([
    ['machines', 'actors'],
    ['machines', 'machines_machine_ts'],
    ['actors', 'adapters_system'],
    ['actors', 'adapters_memory'],
    ['adapters_system', 'adapters_memory'],
    ['simulator', 'machines'],
    ['demo', 'actors'],
    ['bin', 'actors'],
  ])('has none from %s to %s', (from, to) => {
    expect(picture).toContain(`    ${from}["`);
    expect(arrow(from, to)).toBeUndefined();
  });

  test('says of what may import everything what it may not', () => {
    expect(picture).toContain('test_bench["test/, bench/"] -->|"everything but main.ts, composition/"| project');
  });

  test('refuses a file for which it has no box', () => {
    expect(() => importsDiagram([...sources, 'utils/strings.ts'])).toThrow('no place for utils/strings.ts');
  });
});
