import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RULES } from '../../../crds/generated/nodednsrecordset.ts';
import type { ProviderFacts } from '../../../machines/spec/providers.ts';
import { ADDRESS_TYPES, checkRecordSetSpec } from '../../../machines/spec/record-set.ts';
import { PROVIDER, registry } from '../builders.ts';

const record = (change: Record<string, unknown> = {}) => ({ dnsRecordSet: { zone: 'example.com', recordName: 'nodes', ...change } });
const check = (raw: unknown, facts: Partial<ProviderFacts> = {}) => checkRecordSetSpec(raw, registry(facts));
const errorOf = (raw: unknown, facts: Partial<ProviderFacts> = {}): string | null => check(raw, facts).error;

describe('a NodeDNSRecordSet that is not valid', () => {
  test.each<[string, unknown]>([
    ['unknown provider "aws"', { provider: 'aws', ...record() }],
    ['unknown provider "aws"', record({ provider: 'aws' })],
    ['unknown provider "constructor"', { provider: 'constructor', ...record() }],
    ['provider "addressesOnly" does not provide DNS', { provider: 'addressesOnly', ...record() }],
    ['invalid dnsRecordSet specification', {}],
    ['invalid dnsRecordSet specification', { provider: PROVIDER }],
    ['invalid dnsRecordSet specification', { dnsRecordSet: {} }],
    ['invalid dnsRecordSet specification', record({ zone: undefined })],
    ['invalid dnsRecordSet specification', record({ zone: ' . ' })],
    ['invalid dnsRecordSet specification', record({ recordName: '' })],
    ['Error parsing node selector: "a b" is no label key, in "a b"', { ...record(), match: { nodeLabel: 'a b' } }],
    ['Error parsing pod selector: unbalanced parentheses in "a in (b"', { ...record(), match: { podLabel: 'a in (b' } }],
    [
      'spec.addressType must be one of ExternalIP, InternalIP, flipop.digitalocean.com/ipv4-reserved-ip, flipop.digitalocean.com/ipv6-reserved-ip',
      { ...record(), addressType: 'Hostname' },
    ],
    ['spec.dnsRecordSet.ttl must be a number, 0 or more', record({ ttl: -1 })],
    ['spec.dnsRecordSet.ttl must be a number, 0 or more', record({ ttl: 0.5 })],
    ['spec.dnsRecordSet.ttl must be a number, 0 or more', record({ ttl: '60' })],
    ['spec.dnsRecordSet.ttl must be at most 2147483647', record({ ttl: 2_147_483_648 })],
    ['spec.dnsRecordSet must be an object', { dnsRecordSet: 'example.com' }],
    ['spec.dnsRecordSet.zone must be a string', record({ zone: 7 })],
    ['spec.match must be an object', { ...record(), match: [] }],
    ['spec must be an object', null],
  ])('is refused with: %s', (text, raw) => expect(errorOf(raw)).toBe(text));

  test('is refused without credentials after everything else', () => {
    const missing = { missing: 'set DIGITALOCEAN_ACCESS_TOKEN' };
    expect(errorOf(record(), missing)).toBe('provider "digitalocean" has no credentials: set DIGITALOCEAN_ACCESS_TOKEN');
    expect(errorOf({ ...record(), match: { nodeLabel: 'a b' } }, missing)).toContain('Error parsing node selector');
    expect(errorOf(record({ provider: 'cloudflare' }), missing)).toBeNull();
  });

  test('is refused by the text that the schema has for the same rule', () => {
    expect(RULES.map(({ message }) => message)).toEqual([errorOf({})]);
  });
});

describe('the provider of a NodeDNSRecordSet', () => {
  test.each([
    ['digitalocean unless something else is said', record(), 'digitalocean'],
    ['the one of the spec', { provider: 'cloudflare', ...record() }, 'cloudflare'],
    ['the one of the record before that of the spec', { provider: 'aws', ...record({ provider: 'cloudflare' }) }, 'cloudflare'],
    ['the one of the spec when that of the record is empty', { provider: 'cloudflare', ...record({ provider: '' }) }, 'cloudflare'],
  ])('is %s', (_, raw, provider) => expect(check(raw)).toMatchObject({ error: null, spec: { target: { provider } } }));
});

describe('a valid NodeDNSRecordSet', () => {
  test('has a TTL of 60 seconds and external addresses unless something else is said', () => {
    expect(check(record()).spec).toEqual({
      target: { provider: 'digitalocean', zone: 'example.com', recordName: 'nodes', ttlSeconds: 60 },
      addressType: 'ExternalIP',
      match: { tolerations: [] },
    });
    expect(check(record({ ttl: 0 })).spec?.target.ttlSeconds).toBe(60);
    expect(check(record({ ttl: 120 })).spec?.target.ttlSeconds).toBe(120);
  });

  test.each(ADDRESS_TYPES)('may publish %s', (addressType) =>
    expect(check({ ...record(), addressType }).spec?.addressType).toBe(addressType),
  );

  test('has its zone in one form, however it is written', () => {
    for (const zone of ['Example.COM', 'example.com.', ' example.com '])
      expect(check(record({ zone })).spec?.target.zone).toBe('example.com');
  });

  test('passes every published manifest', () => {
    const samples = join(import.meta.dirname, '../../../crds/samples');
    const names = readdirSync(samples).filter((name) => name.startsWith('nodednsrecordset'));
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect([name, errorOf(parse(readFileSync(join(samples, name), 'utf8')).spec)]).toEqual([name, null]);
  });
});

test('whatever a server lets through is valid or has a text', () => {
  let valid = 0;
  const field = fc.oneof(fc.constantFrom('example.com', 'nodes', 'cloudflare', 'InternalIP', ''), fc.anything());
  const raw = fc.oneof(
    fc.anything(),
    fc.record({
      provider: fc.constantFrom(undefined, 'digitalocean', 'cloudflare', 'aws', 5),
      dnsRecordSet: fc.record(
        { zone: field, recordName: field, ttl: fc.oneof(fc.integer(), fc.anything()) },
        { requiredKeys: ['zone', 'recordName'] },
      ),
      addressType: fc.constantFrom(undefined, ...ADDRESS_TYPES, 'x'),
    }),
  );
  fc.assert(
    fc.property(raw, (spec) => {
      const checked = check(spec);
      if (checked.spec) valid += 1;
      expect(checked.spec ? checked.error : checked.error?.length).toSatisfy((found: unknown) =>
        checked.spec ? found === null : Number(found) > 0,
      );
    }),
    { numRuns: 2000 },
  );
  expect(valid).toBeGreaterThan(10);
});
