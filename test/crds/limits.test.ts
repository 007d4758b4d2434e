import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { LIMITS } from '../../machines/spec/limits.ts';
import { limitOf, limitsFile, schemasOf } from '../../tools/generate-limits.ts';
import { definitions } from '../../tools/generate-types.ts';
import { staleFiles } from '../../tools/generated-files.ts';
import type { CustomResourceDefinition, Schema } from '../../tools/print-types.ts';

const ROOT = join(import.meta.dirname, '../..');

const byKind = new Map(definitions().map(({ crd }) => [crd.spec.names.kind, schemasOf(crd)]));

/** JobSpecs of batch/v1: the server that makes the Jobs and Pods has the last word on what stands there, and the object as a whole is limited. */
const KEPT_AS_GIVEN = ['spec.updateRoutedIP.template.spec.containers', 'spec.updateFirewall.template.spec.containers'];

const isKeptAsGiven = (kind: string, path: string): boolean =>
  kind === 'ClusterRoutedIPClass' && KEPT_AS_GIVEN.some((area) => path.startsWith(area));

/** What its values are says how long they can be. */
const isClosed = ({ enum: values, format }: Schema): boolean => values !== undefined || format === 'date-time';

const isGrowing = (schema: Schema): boolean => ['string', 'array'].includes(schema.type ?? '') || schema.additionalProperties !== undefined;

const unlimited = (schemas: ReadonlyMap<string, Schema>, kind = ''): readonly string[] =>
  [...schemas].flatMap(([path, schema]) =>
    isGrowing(schema) && !isClosed(schema) && limitOf(schema) === undefined && !isKeptAsGiven(kind, path) ? [path] : [],
  );

/** Explanations for people, which may bear what a provider says. */
const isProse = (path: string): boolean => /\.(error|message)$/.test(path);

const withSpec = (properties: Record<string, Schema>): CustomResourceDefinition => ({
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
    versions: [{ name: 'v1', storage: true, schema: { openAPIV3Schema: { properties: { spec: { type: 'object', properties } } } } }],
  },
});

describe('the definitions', () => {
  test('are nine, with fields that grow in spec and status', () => {
    expect(byKind.size).toBe(9);
    const growing = [...byKind.values()].flatMap((schemas) => [...schemas].filter(([, schema]) => isGrowing(schema)));
    expect(growing.length).toBeGreaterThan(150);
  });

  test.each([...byKind])('have a limit for every text, list and map of a %s', (kind, schemas) =>
    expect(unlimited(schemas, kind)).toEqual([]),
  );

  test.each([...byKind])('have a pattern for every text of a %s but those that explain', (kind, schemas) => {
    const texts = [...schemas].filter(([path, schema]) => schema.type === 'string' && !isClosed(schema) && !isProse(path));
    const free = texts.filter(([path, { pattern, not }]) => !pattern && !not?.pattern && !isKeptAsGiven(kind, path));
    expect(free.map(([path]) => path)).toEqual(kind === 'IPGroup' ? ['metadata.name'] : []);
  });

  test('keep nothing as it is given but the templates of Jobs', () => {
    const kept = [...byKind].flatMap(([kind, schemas]) =>
      [...schemas].flatMap(([path, schema]) => (schema['x-kubernetes-preserve-unknown-fields'] ? [`${kind} ${path}`] : [])),
    );
    const isTemplate = (path: string): boolean => /^ClusterRoutedIPClass spec\.(updateRoutedIP|updateFirewall)\b/.test(path);
    expect(kept.filter((path) => !isTemplate(path))).toEqual([]);
    expect(kept).not.toEqual([]);
  });

  test.each<[string, Schema]>([
    ['a', { type: 'string' }],
    ['a', { type: 'array', items: { type: 'integer' } }],
    ['a[]', { type: 'array', maxItems: 3, items: { type: 'string' } }],
    ['a{}', { type: 'object', maxProperties: 3, additionalProperties: { type: 'string' } }],
    ['a', { type: 'object', additionalProperties: { type: 'integer' } }],
    ['a[].b', { type: 'array', maxItems: 3, items: { type: 'object', properties: { b: { type: 'string' } } } }],
  ])('would be refused with spec.%s of %j', (path, schema) =>
    expect(unlimited(schemasOf(withSpec({ a: schema })))).toEqual([`spec.${path}`]),
  );
});

describe('the limits that the operator checks and writes by', () => {
  test('are those of the definitions', () => expect(staleFiles([limitsFile()])).toEqual([]));

  test('let stand what the operator writes in the largest clusters', () => {
    const { 'status.assignableNodes': nodes, 'status.conditions[].message': message, 'status.ips': ips } = LIMITS.FloatingIPPool;
    expect({ nodes, message, ips }).toEqual({ nodes: 10_000, message: 32_768, ips: 5_000 });
    expect(LIMITS.FloatingIPPool['spec.ips']).toBe(1_000);
    expect(LIMITS.ClusterRoutedIPClass['status.routedIPs']).toBe(10_000);
  });

  test('are the same wherever two kinds have the same field', () => {
    const said = new Map<string, Set<number>>();
    for (const limits of Object.values(LIMITS))
      for (const [path, most] of Object.entries(limits)) said.set(path, (said.get(path) ?? new Set()).add(most));
    // A RoutedIP may have a provider of its class alone, whose key names the Secrets.
    said.delete('status.pendingCreate.provider');
    expect([...said].filter(([, limits]) => limits.size > 1).map(([path]) => path)).toEqual([]);
  });
});

test.each(readdirSync(join(ROOT, 'crds/samples')).filter((file) => /^(floatingippool|nodednsrecordset).*\.yaml$/.test(file)))(
  'what FLIPOP’s manifest %s says is far below every limit',
  (file) => {
    for (const document of parseAllDocuments(readFileSync(join(ROOT, 'crds/samples', file), 'utf8'))) {
      const { kind, spec } = document.toJS();
      const limits: Readonly<Record<string, number>> = LIMITS[kind as 'FloatingIPPool' | 'NodeDNSRecordSet'];
      const lengths = Object.entries(spec).flatMap(([name, value]) => (typeof value === 'string' ? [[`spec.${name}`, value.length]] : []));
      for (const [path, length] of lengths) expect(limits[path as string] ?? Number.POSITIVE_INFINITY).toBeGreaterThan(3 * Number(length));
    }
  },
);
