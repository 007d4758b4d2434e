import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { definitions } from '../../tools/generate-types.ts';

const all = definitions().map(({ crd }) => crd);

describe('the names of kinds', () => {
  test.each(all)('$spec.names.kind is found by the category of all', ({ spec }) => {
    expect(spec.names.categories).toContain('routedip-all');
  });

  test('are of one kind each', () => {
    const names = all.flatMap(({ spec: { names } }) => [names.plural, names.singular, ...(names.shortNames ?? [])]);
    expect(names).toEqual(expect.arrayContaining(['fip', 'nodedns', 'rip', 'ripi', 'cripc', 'ipg']));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

describe('a kind with the condition Ready', () => {
  const kinds = all.filter(({ spec }) => JSON.stringify(spec.versions).includes('@.type==\\"Ready\\"'));

  test('is each that has conditions', () => {
    const described = all.filter(({ spec }) => JSON.stringify(spec.versions).includes('"conditions":'));
    expect(described.length).toBeGreaterThan(5);
    expect(kinds).toEqual(described);
  });

  test.each(kinds)('shows it, with its reason: $spec.names.kind', ({ spec }) => {
    const shown = Object.fromEntries((spec.versions[0]?.additionalPrinterColumns ?? []).map(({ name, jsonPath }) => [name, jsonPath]));
    expect(shown).toMatchObject({
      Ready: '.status.conditions[?(@.type=="Ready")].status',
      Reason: '.status.conditions[?(@.type=="Ready")].reason',
    });
  });
});

test('no kind has a scale, by which 0 would mean all, and docs/pools.md says so', () => {
  const scaled = all.filter(({ spec }) =>
    JSON.stringify(spec.versions.map((version) => ({ ...version, schema: null }))).includes('"scale"'),
  );
  expect(scaled).toEqual([]);
  expect(readFileSync(new URL('../../docs/pools.md', import.meta.url), 'utf8')).toContain('`kubectl scale`');
});
