import { relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartValues } from '../../tools/chart-values.ts';
import { chartFiles, valuesSection } from '../../tools/generate-chart.ts';
import { staleFiles } from '../../tools/generated-files.ts';

const SCHEMA = {
  properties: {
    global: { type: 'object' },
    size: { type: 'integer', minimum: 1 },
    limits: { type: 'object' },
    page: { properties: { enabled: { type: 'boolean' } } },
    store: { properties: { mode: { enum: ['a', 'b'] }, login: { properties: { name: { type: 'string' } } } } },
  },
};
const VALUES = `# How many.
size: 2

# What it may take.
limits:
  memory: 1Gi

# Shows a page.
page:
  enabled: false

# Where it is kept.
store:
  # Which way:
  # a | b.
  mode: a
  login:
    # Who.
    name: ""
`;

describe('the pages of the chart', () => {
  test('are what the values, the schema and the definitions say today', () => {
    expect(staleFiles(chartFiles()).map(({ path }) => relative('.', path))).toEqual([]);
  });

  test('bear an icon and kinds that Artifact Hub can show', () => {
    const text = chartFiles().find(({ path }) => path.endsWith('Chart.yaml'))?.text ?? '';
    const { icon, annotations } = parse(text) as { readonly icon: string; readonly annotations: Readonly<Record<string, string>> };
    const [head, data = ''] = icon.split(',');
    expect(head).toBe('data:image/svg+xml;base64');
    expect(Buffer.from(data, 'base64').toString()).toMatch(/^<svg .*<\/svg>\s*$/s);
    const kinds: readonly Readonly<Record<string, string>>[] = parse(annotations['artifacthub.io/crds'] ?? '');
    expect(kinds).toHaveLength(7);
    for (const card of kinds) expect(Object.values(card).every((said) => said.length > 1)).toBe(true);
    const examples: readonly { readonly kind: string }[] = parse(annotations['artifacthub.io/crdsExamples'] ?? '');
    expect(examples.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['FloatingIPPool', 'RoutedIP', 'IPGroup']));
  });
});

describe('values of a chart', () => {
  test('have a type by the schema and a description by their comment', () => {
    const groups = chartValues(VALUES, SCHEMA);
    expect(groups.map(({ name, description }) => [name, description])).toEqual([
      ['size', ''],
      ['limits', ''],
      ['page', 'Shows a page.'],
      ['store', 'Where it is kept.'],
    ]);
    expect(groups.flatMap(({ values }) => values.map((value) => Object.values(value)))).toEqual([
      ['size', 'integer from 1', '2', 'How many.'],
      ['limits', 'object', '{"memory":"1Gi"}', 'What it may take.'],
      ['page.enabled', 'boolean', 'false', 'Shows a page.'],
      ['store.mode', 'one of `a`, `b`', '"a"', 'Which way: a | b.'],
      ['store.login.name', 'string', '""', 'Who.'],
    ]);
    expect(valuesSection(groups)).toContain('| `store.mode` | one of `a`, `b` | `"a"` | Which way: a \\| b. |');
  });

  test.each([
    ['a comment', VALUES.replace('    # Who.\n', ''), 'store.login.name has no description'],
    ['the comment of a group of two', VALUES.replace('  # Which way:\n  # a | b.\n', ''), 'store.mode has no description'],
    ['a place in the schema', `${VALUES}more: 1\n`, 'more is not in the schema'],
    ['a default', VALUES.replace(/^# How many\.\nsize: 2\n/, ''), 'size is in the schema alone'],
  ])('without %s are refused', (_, text, message) => expect(() => chartValues(text, SCHEMA)).toThrow(message));
});
