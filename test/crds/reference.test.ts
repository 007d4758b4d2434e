import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { referencePages } from '../../tools/generate-reference.ts';
import { definitions } from '../../tools/generate-types.ts';
import { staleFiles } from '../../tools/generated-files.ts';
import type { CustomResourceDefinition, Schema } from '../../tools/print-types.ts';
import { fieldsOf, valuesOf } from '../../tools/reference-fields.ts';
import { referencePage } from '../../tools/reference-page.ts';

const REFERENCE = join(import.meta.dirname, '../../docs/reference');

const pageOf = (plural: string): string => readFileSync(join(REFERENCE, `${plural}.md`), 'utf8');

/** Every name below `properties`, found without the code that is tested: the last part of each field's path. */
const namesIn = (value: unknown): readonly string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(key === 'properties' ? Object.keys(inner) : []),
    // What `anyOf` and `not` say of fields is no definition of them.
    ...(['anyOf', 'oneOf', 'not', 'default'].includes(key) ? [] : namesIn(inner)),
  ]);
};

const widget = (schema: Schema): CustomResourceDefinition => ({
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
    versions: [{ name: 'v1', storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

const widgetPage = (spec: Schema, whole: Schema = {}): string =>
  referencePage(widget({ type: 'object', description: 'A widget.', properties: { spec }, ...whole }), 'crds/widgets.yaml', [], []);

const marks = { code: (text: string) => `<${text}>`, pattern: (text: string) => `/${text}/` };

describe('docs/reference/', () => {
  test('is what the definitions and samples say today, a page for each kind and one that lists them', () => {
    const pages = referencePages();
    expect(pages).toHaveLength(10);
    expect(staleFiles(pages)).toEqual([]);
    expect(readdirSync(REFERENCE).sort()).toEqual(pages.map(({ path }) => basename(path)).sort());
  });

  test('is found stale when a definition says something else', () => {
    const changed = referencePages().map((page) => ({ ...page, text: page.text.replace('`spec', '`wish') }));
    expect(staleFiles(changed)).toHaveLength(8);
  });

  test.each(definitions().map(({ crd }) => ({ crd, plural: crd.spec.names.plural })))('has every field of $plural', ({ crd, plural }) => {
    const schema = crd.spec.versions[0]?.schema.openAPIV3Schema ?? {};
    const fields = fieldsOf(schema, '');
    const leafs = fields.map(({ path }) =>
      path
        .split('.')
        .at(-1)
        ?.replaceAll(/\[\]|\{\}/g, ''),
    );
    expect(leafs.toSorted()).toEqual(namesIn(schema).toSorted());
    const rows = new Set([...pageOf(plural).matchAll(/^\| `((?:metadata|spec|status)\.[^`]+)` \|/gm)].map(([, path]) => path));
    const wanted = fields.map(({ path }) => path).filter((path) => path.includes('.'));
    // An IP has none: its name says all.
    expect(wanted.length > 2).toBe(plural !== 'ips');
    expect(wanted.filter((path) => !rows.has(path))).toEqual([]);
  });

  test.each(definitions().map(({ crd }) => ({ crd, plural: crd.spec.names.plural })))(
    'has the message of every rule of $plural, and every column',
    ({ crd, plural }) => {
      const [version] = crd.spec.versions;
      const page = pageOf(plural);
      const schema = version?.schema.openAPIV3Schema ?? {};
      const rules = [schema, ...fieldsOf(schema, '').map((field) => field.schema)].flatMap((one) => one['x-kubernetes-validations'] ?? []);
      const written = JSON.stringify(schema).split('"x-kubernetes-validations"').length > 1;
      expect(rules.length > 0).toBe(written);
      expect(rules.filter(({ message }) => !page.includes(message))).toEqual([]);
      const columns = version?.additionalPrinterColumns ?? [];
      expect(columns.length).toBeGreaterThan(2);
      expect(columns.filter(({ jsonPath }) => !page.includes(`\`${jsonPath}\``))).toEqual([]);
    },
  );

  test('shows an example of every kind that a user may write', () => {
    const without = definitions()
      .filter(({ crd }) => !pageOf(crd.spec.names.plural).includes(`\nkind: ${crd.spec.names.kind}\n`))
      .map(({ crd }) => crd.spec.names.kind);
    expect(without).toEqual(['IP']);
  });
});

describe('the values of a field', () => {
  test.each<[Schema, readonly string[]]>([
    [{ type: 'string' }, []],
    [{ type: 'string', enum: ['a', 'b'], default: 'a' }, ['default <a>', '<a>, <b>']],
    [{ type: 'integer', minimum: 0 }, ['at least 0']],
    [{ type: 'integer', minimum: 1, maximum: 1 }, ['exactly 1']],
    [{ type: 'integer', minimum: 1, maximum: 9 }, ['1 to 9']],
    [{ type: 'string', maxLength: 63, pattern: '^a$' }, ['at most 63 characters', 'matches /^a$/']],
    [
      { type: 'array', minItems: 1, 'x-kubernetes-list-type': 'set', items: { pattern: 'b' } },
      ['at least 1 item', 'none twice', 'each: matches /b/'],
    ],
    [{ type: 'array', 'x-kubernetes-list-map-keys': ['type'] }, ['one for each <type>']],
    [{ type: 'object', oneOf: [{ required: ['a'] }, { required: ['b'] }] }, ['exactly one of <a>, <b>']],
    [{ type: 'object', not: { anyOf: [{ required: ['a'] }] } }, ['without <a>']],
    [{ type: 'string', not: { pattern: 'x' } }, ['does not match /x/']],
    [{ type: 'object', anyOf: [{ minimum: 1 }] }, ['any of <[{"minimum":1}]>']],
  ])('%j', (schema, said) => expect(valuesOf(schema, marks)).toEqual(said));
});

describe('a page of the reference', () => {
  test('keeps a table whole when a pattern or a description has a bar', () => {
    const page = widgetPage({ type: 'object', properties: { size: { type: 'string', pattern: 'a|b', description: 'This | that <b>.' } } });
    expect(page).toContain('| `spec.size` | string | matches `a\\|b` | This \\| that \\<b>. |');
  });

  test('puts a long pattern below the table', () => {
    const pattern = `^${'a'.repeat(100)}$`;
    const page = widgetPage({ type: 'object', properties: { size: { type: 'string', pattern } } });
    expect(page).toContain('| matches the [pattern below](#patterns) |');
    expect(page).toContain(`## Patterns\n\n\`spec.size\`\n\n\`\`\`text\n${pattern}\n`);
  });

  test('has the rules of the object as a whole, and says when the spec is required', () => {
    const rules = { 'x-kubernetes-validations': [{ rule: 'self == self', message: 'must be itself' }] };
    const page = widgetPage({ type: 'object', description: 'Wanted.' }, { required: ['spec'], ...rules });
    expect(page).toContain('| the object | must be itself | `self == self` |');
    expect(page).toContain('## Spec\n\nRequired. Wanted.');
  });

  test('refuses what it cannot show as code', () => {
    expect(() => widgetPage({ type: 'object', properties: { size: { type: 'string', default: '`' } } })).toThrow('cannot be shown as code');
  });
});
