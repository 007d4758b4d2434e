import { parse } from '@marcbachmann/cel-js';
import { describe, expect, test } from 'vitest';
import { RULES } from '../../crds/generated/floatingippool.ts';
import { RULES as RECORD_SET_RULES } from '../../crds/generated/nodednsrecordset.ts';

/** The verdict of the CEL rule with this message on `self`. Whole numbers in CEL are bigint here. */
const verdict = (message: (typeof RULES)[number]['message'], self: Record<string, unknown>): unknown => {
  const found = RULES.find((rule) => rule.message === message);
  if (!found) throw new Error(`no rule says "${message}"`);
  return parse(found.rule)({ self });
};

describe('the rule on the size of a pool', () => {
  const message = 'ips or desiredIPs must be provided';

  test.each([
    [{ ips: ['1.2.3.4'] }],
    [{ desiredIPs: 1n }],
    [{ ips: [], desiredIPs: 3n }],
    [{ ips: ['1.2.3.4'], desiredIPs: 0n }],
    [{ ips: ['1.2.3.4'], desiredIPs: 3n }],
  ])('accepts %o', (spec) => expect(verdict(message, spec)).toBe(true));

  test.each([[{}], [{ ips: [] }], [{ desiredIPs: 0n }], [{ ips: [], desiredIPs: 0n }]])('refuses %o', (spec) =>
    expect(verdict(message, spec)).toBe(false),
  );
});

describe('the rule on the DNS record set', () => {
  const message = 'invalid dnsRecordSet specification';

  test.each([
    [{ zone: 'example.com', recordName: 'hello' }],
    [{ zone: 'example.com', recordName: '@', ttl: 30n, provider: 'digitalocean' }],
  ])('accepts %o', (dns) => expect(verdict(message, dns)).toBe(true));

  test.each([
    [{}],
    [{ zone: 'example.com' }],
    [{ recordName: 'hello' }],
    [{ zone: '', recordName: 'hello' }],
    [{ zone: 'a.b', recordName: '' }],
  ])('refuses %o', (dns) => expect(verdict(message, dns)).toBe(false));
});

describe('the rule on contention', () => {
  const message = 'contention needs moves of at least 1 and windowSeconds above 0';

  test.each([[{ moves: 1n, windowSeconds: 0.5 }], [{ moves: 3n, windowSeconds: 3600.0, takeover: 'Reclaim' }]])('accepts %o', (rules) =>
    expect(verdict(message, rules)).toBe(true),
  );

  test.each([[{}], [{ moves: 3n }], [{ windowSeconds: 60.5 }], [{ moves: 0n, windowSeconds: 60.5 }], [{ moves: 1n, windowSeconds: 0.0 }]])(
    'refuses %o',
    (rules) => expect(verdict(message, rules)).toBe(false),
  );
});

describe('the rule on a safe hold', () => {
  const message = 'safeHold needs maxUnavailable of at least 1 and windowSeconds above 0';

  test.each([[{ maxUnavailable: 1n, windowSeconds: 0.5 }], [{ maxUnavailable: 20n, windowSeconds: 60.0 }]])('accepts %o', (rules) =>
    expect(verdict(message, rules)).toBe(true),
  );

  test.each([[{}], [{ maxUnavailable: 3n }], [{ windowSeconds: 60.5 }], [{ maxUnavailable: 0n, windowSeconds: 60.5 }]])(
    'refuses %o',
    (rules) => expect(verdict(message, rules)).toBe(false),
  );
});

describe('the rule on a NodeDNSRecordSet', () => {
  const [rule] = RECORD_SET_RULES;
  const record = { zone: 'example.com', recordName: 'nodes' };

  test('is the only one, and says what FLIPOP says', () => {
    expect(RECORD_SET_RULES).toHaveLength(1);
    expect([rule.path, rule.message]).toEqual(['spec', 'invalid dnsRecordSet specification']);
  });

  test.each([
    [{ dnsRecordSet: record }],
    [{ provider: 'digitalocean', dnsRecordSet: { ...record, ttl: 120n }, addressType: 'InternalIP', match: {} }],
    [{ dnsRecordSet: { ...record, recordName: '@', provider: 'cloudflare' } }],
  ])('accepts %o', (self) => expect(parse(rule.rule)({ self })).toBe(true));

  test.each([
    [{}],
    [{ provider: 'digitalocean' }],
    [{ dnsRecordSet: {} }],
    [{ dnsRecordSet: { zone: 'example.com' } }],
    [{ dnsRecordSet: { recordName: 'nodes' } }],
    [{ dnsRecordSet: { ...record, zone: '' } }],
    [{ dnsRecordSet: { ...record, recordName: '' } }],
  ])('refuses %o', (self) => expect(parse(rule.rule)({ self })).toBe(false));
});
