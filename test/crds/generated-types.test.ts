import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RULES as CLASS_RULES, DEFAULTS } from '../../crds/generated/clusterroutedipclass.ts';
import { RULES } from '../../crds/generated/floatingippool.ts';
import { RULES as RECORD_SET_RULES } from '../../crds/generated/nodednsrecordset.ts';
import { RULES as ROUTED_IP_RULES } from '../../crds/generated/routedip.ts';
import { DEFAULTS as ISSUER_DEFAULTS, RULES as ISSUER_RULES } from '../../crds/generated/routedipissuer.ts';
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
    const names = ['clusterroutedipclass', 'floatingippool', 'ipgroup', 'ip', 'nodednsrecordset', 'routedipissuer', 'routedip'];
    const legacy = ['groupsegmentmapping', 'virtualip'];
    expect(typeFiles().map(({ path }) => path)).toEqual([...names, ...legacy].map((name) => join(crds, `generated/${name}.ts`)));
    expect(staleFiles(typeFiles())).toEqual([]);
  });

  test('are found stale when the YAML says something else', () => {
    const changed = typeFiles().map((file) => ({ ...file, text: file.text.replace('readonly spec', 'readonly wish') }));
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
    ['routedips.yaml', ROUTED_IP_RULES, 'set exactly one of className and issuerRef'],
    ['routedipissuers.yaml', ISSUER_RULES, 'nodePortRange must be'],
    ['clusterroutedipclasses.yaml', CLASS_RULES, 'className cannot change'],
  ])('carry every CEL message of %s', (file, rules, one) => {
    const messages = readFileSync(join(crds, file), 'utf8')
      .split('\n')
      .flatMap((line) => line.match(/^ +message: "?(.*?)"?$/)?.[1] ?? [])
      // That of the condition that a status begins with.
      .filter((message) => message !== 'the operator has not looked at it yet');
    expect(messages.join('\n')).toContain(one);
    expect(rules.map(({ message }) => message).sort()).toEqual(messages.sort());
  });

  test('give an issuer the defaults of a class, without leave to serve other namespaces', () => {
    const { allowCrossNamespace, ...shared } = DEFAULTS;
    expect(allowCrossNamespace).toBe(false);
    expect(ISSUER_DEFAULTS).toEqual(shared);
  });

  test('describe every field', () => {
    const undescribed = (schema: Schema, path: string): readonly string[] => [
      ...(schema.description === undefined && !path.endsWith('[]') && !path.endsWith('.metadata') ? [path] : []),
      ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) => undescribed(property, `${path}.${name}`)),
      ...(schema.items ? undescribed(schema.items, `${path}[]`) : []),
      ...(schema.additionalProperties ? undescribed(schema.additionalProperties, `${path}{}`) : []),
    ];
    const files = ['', 'legacy/']
      .flatMap((folder) => readdirSync(join(crds, folder)).map((name) => folder + name))
      .filter((name) => name.endsWith('.yaml'));
    expect(files).toHaveLength(9);
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

  test('lets an object that keeps unknown fields have any, and knows no other', () => {
    const template: Schema = {
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { suspend: { type: 'boolean', enum: [false] } },
    };
    const schema: Schema = { title: 'Widget', type: 'object', properties: { template } };
    const printed = printTypes(crdWith(schema), 'crds/widgets.yaml');
    expect(printed).toContain('readonly suspend?: false;');
    expect(printed.split('readonly [field: string]: unknown;')).toHaveLength(2);
  });

  test('prints the defaults of the spec as a constant, and none where there are none', () => {
    const spec = (size: Schema): Schema => ({
      title: 'Widget',
      type: 'object',
      properties: { spec: { type: 'object', properties: { size, tags: { type: 'array', items: { type: 'string' }, default: ['a'] } } } },
    });
    const printed = printTypes(crdWith(spec({ type: 'string', default: '1-2' })), 'crds/widgets.yaml');
    expect(printed).toContain("export const DEFAULTS = {\n  size: '1-2',\n  tags: ['a'],\n} as const;");
    expect(printTypes(crdWith({ title: 'Widget', type: 'object' }), 'crds/widgets.yaml')).not.toContain('DEFAULTS');
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
