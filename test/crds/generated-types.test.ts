import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RULES } from '../../crds/generated/floatingippool.ts';
import { RULES as RECORD_SET_RULES } from '../../crds/generated/nodednsrecordset.ts';
import { typeFiles } from '../../tools/generate-types.ts';
import { staleFiles } from '../../tools/generated-files.ts';
import { type CustomResourceDefinition, printTypes, type Schema } from '../../tools/print-types.ts';

const crds = join(import.meta.dirname, '../../crds');

const crdWith = (schema: Schema): CustomResourceDefinition => ({
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
    versions: [{ name: 'v1', storage: true, schema: { openAPIV3Schema: schema } }],
  },
});

describe('the types generated from the CRDs', () => {
  test('are those on disk', () => {
    expect(typeFiles().map(({ path }) => path)).toEqual([
      join(crds, 'generated/floatingippool.ts'),
      join(crds, 'generated/nodednsrecordset.ts'),
    ]);
    expect(staleFiles(typeFiles())).toEqual([]);
  });

  test('are found stale when the YAML says something else', () => {
    const changed = typeFiles().map((file) => ({ ...file, text: file.text.replace('recordName', 'hostName') }));
    expect(staleFiles(changed)).toHaveLength(changed.length);
  });

  test('are found stale when a file is missing', () => {
    expect(staleFiles([{ path: join(crds, 'generated/nothing.ts'), text: '' }])).toHaveLength(1);
  });

  test('come out the same each time', () => {
    expect(typeFiles()).toEqual(typeFiles());
  });

  test.each([
    ['floatingippools.yaml', RULES, 'ips or desiredIPs must be provided'],
    ['nodednsrecordsets.yaml', RECORD_SET_RULES, 'invalid dnsRecordSet specification'],
  ])('carry every CEL message of %s', (file, rules, one) => {
    const messages = readFileSync(join(crds, file), 'utf8')
      .split('\n')
      .flatMap((line) => line.match(/^ +message: (.*)$/)?.[1] ?? []);
    expect(messages).toContain(one);
    expect(rules.map(({ message }) => message).sort()).toEqual(messages.sort());
  });

  test('describe every field', () => {
    const undescribed = (schema: Schema, path: string): readonly string[] => [
      ...(schema.description === undefined && !path.endsWith('[]') ? [path] : []),
      ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => undescribed(property, `${path}.${name}`)),
      ...(schema.items ? undescribed(schema.items, `${path}[]`) : []),
      ...(schema.additionalProperties ? undescribed(schema.additionalProperties, `${path}{}`) : []),
    ];
    const files = readdirSync(crds).filter((name) => name.endsWith('.yaml'));
    expect(files).toHaveLength(2);
    for (const file of files) {
      const crd: CustomResourceDefinition = parse(readFileSync(join(crds, file), 'utf8'));
      expect(crd.spec.versions).toHaveLength(1);
      expect(crd.spec.versions.flatMap((version) => undescribed(version.schema.openAPIV3Schema, version.name))).toEqual([]);
    }
  });
});

describe('the type printer', () => {
  test('makes fields readonly, and optional unless required', () => {
    const printed = printTypes(
      crdWith({
        title: 'Widget',
        type: 'object',
        required: ['size'],
        properties: { size: { type: 'integer' }, tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } } },
      }),
      'crds/widgets.yaml',
    );
    expect(printed).toContain('readonly size: number;');
    expect(printed).toContain("readonly tags?: readonly ('a' | 'b')[];");
  });

  test('refuses two types of one name', () => {
    const schema: Schema = { title: 'Widget', type: 'object', properties: { inner: { title: 'Widget', type: 'object' } } };
    expect(() => printTypes(crdWith(schema), 'crds/widgets.yaml')).toThrow('two schemas are titled Widget');
  });

  test('refuses what it has no type for', () => {
    const schema: Schema = { title: 'Widget', type: 'object', properties: { inner: {} } };
    expect(() => printTypes(crdWith(schema), 'crds/widgets.yaml')).toThrow('no type for the schema');
  });
});
