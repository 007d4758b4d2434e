import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { RULES } from '../../../crds/generated/floatingippool.ts';
import { checkPoolSpec } from '../../../machines/spec/pool.ts';
import type { ProviderFacts } from '../../../machines/spec/providers.ts';
import { A, B, PREFIX, PROVIDER, registry } from '../builders.ts';

const spec = (change: Record<string, unknown> = {}) => ({ provider: PROVIDER, region: 'nyc3', ips: [A], match: {}, ...change });
const errorOf = (raw: unknown, facts: Partial<ProviderFacts> = {}): string | null => checkPoolSpec(raw, registry(facts)).error;
const dns = (change: Record<string, unknown> = {}) => ({ dnsRecordSet: { zone: 'example.com', recordName: 'hello', ...change } });

describe('a spec that FLIPOP refuses', () => {
  test.each<[string, unknown]>([
    ['unknown provider "aws"', spec({ provider: 'aws' })],
    ['unknown provider ""', spec({ provider: undefined })],
    ['unknown provider ""', {}],
    ['unknown provider "constructor"', spec({ provider: 'constructor' })],
    ['unknown provider "__proto__"', spec({ provider: '__proto__' })],
    ['provider "cloudflare" does not provide floating IPs', spec({ provider: 'cloudflare' })],
    ['ips or desiredIPs must be provided', spec({ ips: undefined })],
    ['ips or desiredIPs must be provided', spec({ ips: [] })],
    ['ips or desiredIPs must be provided', spec({ ips: null, desiredIPs: 0 })],
    ['Error parsing node selector: "a b" is no label key, in "a b"', spec({ match: { nodeLabel: 'a b' } })],
    ['Error parsing pod selector: unbalanced parentheses in "a in (b"', spec({ match: { podLabel: 'a in (b' } })],
    ['FloatingIPPool dns referenced provider without dns capability', spec(dns({ provider: 'addressesOnly' }))],
    ['FloatingIPPool dns referenced provider without dns capability', spec(dns({ provider: 'aws' }))],
    ['FloatingIPPool dns referenced provider without dns capability', spec(dns({ provider: 'constructor' }))],
    ['FloatingIPPool dns referenced provider without dns capability', spec({ provider: 'addressesOnly', ...dns() })],
    ['invalid dnsRecordSet specification', spec(dns({ zone: undefined }))],
    ['invalid dnsRecordSet specification', spec(dns({ zone: '' }))],
    ['invalid dnsRecordSet specification', spec(dns({ recordName: undefined }))],
    ['invalid dnsRecordSet specification', spec({ dnsRecordSet: {} })],
  ])('is refused with its words: %s', (text, raw) => expect(errorOf(raw)).toBe(text));

  test('is refused by the texts that the schema has for the same rules', () => {
    const messages = RULES.map(({ message }) => message);
    expect(messages.length).toBeGreaterThan(0);
    const given = [
      errorOf(spec({ ips: [] })),
      errorOf(spec(dns({ zone: '' }))),
      errorOf(spec({ contention: {} })),
      errorOf(spec({ safeHold: {} })),
    ];
    expect(given.toSorted()).toEqual([...messages].sort());
  });

  // Each mends what is complained of before.
  test.each<[string, unknown]>([
    ['unknown provider "x"', { provider: 'x', ips: [], match: { nodeLabel: '(' }, dnsRecordSet: {} }],
    ['ips or desiredIPs must be provided', { provider: PROVIDER, ips: [], match: { nodeLabel: '(' }, dnsRecordSet: {} }],
    [
      'Error parsing node selector: unbalanced parentheses in "("',
      { provider: PROVIDER, ips: ['x'], match: { nodeLabel: '(', podLabel: ')' }, dnsRecordSet: {} },
    ],
    [
      'Error parsing pod selector: unbalanced parentheses in ")"',
      { provider: PROVIDER, ips: ['x'], match: { podLabel: ')' }, dnsRecordSet: {} },
    ],
    ['invalid dnsRecordSet specification', { provider: PROVIDER, ips: ['x'], dnsRecordSet: {} }],
    ['"x" in ips is no IP address', { provider: PROVIDER, ips: ['x', A, A] }],
    [`address ${A} is listed twice in ips`, { provider: PROVIDER, ips: [A, A] }],
    ['provider "digitalocean" has no credentials: set DIGITALOCEAN_ACCESS_TOKEN', { provider: PROVIDER, ips: [A] }],
  ])('is told the first thing wrong, in an order of its own: %s', (text, raw) => {
    expect(errorOf(raw, { missing: 'set DIGITALOCEAN_ACCESS_TOKEN' })).toBe(text);
  });
});

describe('addresses in a spec', () => {
  test.each(['999.1.1.1', 'x1.2.3.4', '1.2.3', '010.1.1.1', '1.2.3.04', '1.2.3.4/32', '', ' 1.2.3.4'])(
    'that are none are refused: %j',
    (ip) => {
      expect(errorOf(spec({ ips: [A, ip] }))).toBe(`"${ip}" in ips is no IP address`);
    },
  );

  test('of IPv6 are refused where the provider has none, and taken where it has', () => {
    const raw = spec({ ips: ['2001:DB8::1'] });
    expect(errorOf(raw)).toBe("address 2001:db8::1 in ips is IPv6, which this provider's addresses do not support");
    expect(checkPoolSpec(raw, registry({ ipv6: true })).spec?.ips).toEqual(['2001:db8::1']);
  });

  test('listed twice are refused, in another spelling too', () => {
    expect(errorOf(spec({ ips: [A, B, A] }))).toBe(`address ${A} is listed twice in ips`);
    expect(errorOf(spec({ ips: ['2001:db8::1', '2001:DB8:0::1'] }), { ipv6: true })).toBe('address 2001:db8::1 is listed twice in ips');
  });
});

describe('a spec that is larger than the definition allows, stored before or on a server without our schema,', () => {
  const addresses = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `198.18.${i >> 8}.${i & 255}`);
  const tolerations = (count: number): readonly unknown[] => Array.from({ length: count }, (_, i) => ({ key: `k${i}` }));
  /** A selector of so many characters. */
  const selector = (length: number): string => `a in (${'b,'.repeat(length)}`.slice(0, length - 2).concat('b)');

  test('is taken up to the limits', () => {
    const match = { nodeLabel: selector(32_768), podLabel: selector(32_768), tolerations: tolerations(256) };
    expect(match.nodeLabel).toHaveLength(32_768);
    const { spec: checked, error } = checkPoolSpec(spec({ ips: addresses(1000), desiredIPs: 1000, match }), registry());
    expect(error).toBeNull();
    expect(checked?.ips).toHaveLength(1000);
  });

  test.each<[string, unknown]>([
    ['spec.ips has 1001 addresses, and at most 1000 are allowed: give the others a pool of their own', { ips: addresses(1001) }],
    [
      'spec.desiredIPs must be at most 1000: what is created is appended to ips, which take no more',
      { ips: addresses(3), desiredIPs: 1001 },
    ],
    [
      'spec.match.tolerations has 257 entries, and at most 256 are allowed: take out those that no node bears',
      { ips: [A], match: { tolerations: tolerations(257) } },
    ],
    [
      'spec.match.podLabel has 32769 characters, and at most 32768 are allowed: give what it selects a label of its own',
      { ips: [A], match: { podLabel: selector(32_769) } },
    ],
  ])('is refused with the field, the limit and what to do: %s', (text, change) => expect(errorOf(spec(change as never))).toBe(text));

  test('is served as it is where no more than a text is long', () => {
    expect(errorOf(spec({ ips: [A], region: 'r'.repeat(400), match: { podNamespace: 'n'.repeat(400) } }))).toBeNull();
  });
});

describe('a spec of the wrong types, from a server without our schema,', () => {
  test.each<[string, unknown]>([
    ['spec must be an object', null],
    ['spec must be an object', undefined],
    ['spec must be an object', 'spec'],
    ['spec must be an object', []],
    ['spec.provider must be a string', spec({ provider: 7 })],
    ['spec.region must be a string', spec({ region: {} })],
    ['spec.ips must be a list', spec({ ips: A })],
    ['spec.ips must be a list', spec({ ips: { 0: A } })],
    ['spec.ips must be a string', spec({ ips: [3405803783] })],
    ['spec.desiredIPs must be a number, 0 or more', spec({ desiredIPs: '2' })],
    ['spec.desiredIPs must be a number, 0 or more', spec({ desiredIPs: -1 })],
    ['spec.desiredIPs must be a number, 0 or more', spec({ desiredIPs: 1.5 })],
    ['spec.desiredIPs must be a number, 0 or more', spec({ desiredIPs: 1e300 })],
    ['spec.desiredIPs must be a number, 0 or more', spec({ desiredIPs: Number.NaN })],
    ['spec.assignmentCoolOffSeconds must be a number, 0 or more', spec({ assignmentCoolOffSeconds: -0.5 })],
    ['spec.assignmentCoolOffSeconds must be a number, 0 or more', spec({ assignmentCoolOffSeconds: '20' })],
    ['spec.assignmentCoolOffSeconds must be a number, 0 or more', spec({ assignmentCoolOffSeconds: Number.POSITIVE_INFINITY })],
    ['spec.recoveryGraceSeconds must be a number, 0 or more', spec({ recoveryGraceSeconds: -1 })],
    ['spec.recoveryGraceSeconds must be a number, 0 or more', spec({ recoveryGraceSeconds: '30' })],
    ['spec.safeHold must be an object', spec({ safeHold: true })],
    ['safeHold needs maxUnavailable of at least 1 and windowSeconds above 0', spec({ safeHold: { maxUnavailable: 0, windowSeconds: 60 } })],
    ['safeHold needs maxUnavailable of at least 1 and windowSeconds above 0', spec({ safeHold: { maxUnavailable: 1, windowSeconds: 0 } })],
    ['spec.safeHold.maxUnavailable must be a number, 0 or more', spec({ safeHold: { maxUnavailable: '50%', windowSeconds: 60 } })],
    ['spec.safeHold.windowSeconds must be at most 31536000, a year', spec({ safeHold: { maxUnavailable: 1, windowSeconds: 1e9 } })],
    ['spec.contention must be an object', spec({ contention: 3 })],
    ['contention needs moves of at least 1 and windowSeconds above 0', spec({ contention: { moves: 3 } })],
    ['contention needs moves of at least 1 and windowSeconds above 0', spec({ contention: { moves: 0, windowSeconds: 60 } })],
    ['spec.contention.moves must be a number, 0 or more', spec({ contention: { moves: 1.5, windowSeconds: 60 } })],
    ['spec.contention.windowSeconds must be at most 31536000, a year', spec({ contention: { moves: 1, windowSeconds: 1e9 } })],
    ['spec.contention.takeover must be Yield or Reclaim', spec({ contention: { moves: 1, windowSeconds: 60, takeover: 'Fight' } })],
    ['spec.drainPolicy must be OnNotReady or OnCordon', spec({ drainPolicy: 'onCordon' })],
    ['spec.drainPolicy must be a string', spec({ drainPolicy: true })],
    ['spec.recoveryGraceSeconds must be at most 31536000, a year', spec({ recoveryGraceSeconds: 31_536_001 })],
    ['spec.match must be an object', spec({ match: 'a=b' })],
    ['spec.match.nodeLabel must be a string', spec({ match: { nodeLabel: { a: 'b' } } })],
    ['spec.match.podLabel must be a string', spec({ match: { podLabel: 1 } })],
    ['spec.match.podNamespace must be a string', spec({ match: { podNamespace: ['x'] } })],
    ['spec.match.tolerations must be a list', spec({ match: { tolerations: {} } })],
    ['spec.match.tolerations must be an object', spec({ match: { tolerations: ['all'] } })],
    ['spec.match.tolerations.key must be a string', spec({ match: { tolerations: [{ key: 1 }] } })],
    ['spec.match.tolerations.value must be a string', spec({ match: { tolerations: [{ key: 'k', value: true }] } })],
    ['spec.dnsRecordSet must be an object', spec({ dnsRecordSet: 'hello.example.com' })],
    ['spec.dnsRecordSet.zone must be a string', spec(dns({ zone: 1 }))],
  ])('is refused by name: %s', (text, raw) => expect(errorOf(raw)).toBe(text));

  test('has no cool-off that timers and dates cannot hold', () => {
    const told = 'spec.assignmentCoolOffSeconds must be at most 31536000, a year';
    expect([1e300, 31_536_001, 31_536_000].map((seconds) => errorOf(spec({ assignmentCoolOffSeconds: seconds })))).toEqual([
      told,
      told,
      null,
    ]);
  });

  test('is refused or read, never more: no spec makes the check throw', () => {
    const field = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(PROVIDER, [A], 1, {}));
    const raw = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record(
        {
          provider: fc.oneof({ weight: 3, arbitrary: fc.constant<unknown>(PROVIDER) }, { weight: 1, arbitrary: field }),
          region: field,
          ips: fc.oneof(fc.constant<unknown>([A]), field),
          desiredIPs: fc.oneof(fc.constant<unknown>(1), field),
          assignmentCoolOffSeconds: field,
          match: fc.oneof(fc.constant<unknown>({}), field),
          dnsRecordSet: field,
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(raw, (given) => {
        const checked = checkPoolSpec(given, registry());
        expect(checked.spec === null).toBe(typeof checked.error === 'string' && checked.error !== '');
      }),
      { numRuns: 500 },
    );
  });
});

describe('a valid spec', () => {
  test('has defaults for what it leaves out', () => {
    expect(checkPoolSpec({ provider: PROVIDER, ips: [B, A] }, registry())).toEqual({
      spec: {
        provider: PROVIDER,
        providerIDPrefix: PREFIX,
        region: '',
        desired: 2,
        ips: [B, A],
        coolOffMs: 0,
        graceMs: 0,
        drainPolicy: 'OnNotReady',
        contention: null,
        safeHold: null,
        match: { tolerations: [] },
        records: null,
        dns: '',
      },
      error: null,
    });
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['wants as many addresses as it lists', { ips: [A, B], desiredIPs: 0 }, { desired: 2 }],
    ['wants fewer than it lists', { ips: [A, B], desiredIPs: 1 }, { desired: 1, ips: [A, B] }],
    ['wants more than it lists', { ips: [A], desiredIPs: 3 }, { desired: 3, ips: [A] }],
    ['lists none and wants some', { ips: undefined, desiredIPs: 3 }, { desired: 3, ips: [] }],
    ['has a cool-off in fractions of a second', { assignmentCoolOffSeconds: 0.25 }, { coolOffMs: 250 }],
    [
      'holds when more nodes go than it says',
      { safeHold: { maxUnavailable: 2, windowSeconds: 60 } },
      { safeHold: { maxUnavailable: 2, windowMs: 60_000 } },
    ],
    [
      'yields to somebody else unless it says otherwise',
      { contention: { moves: 3, windowSeconds: 0.5 } },
      { contention: { moves: 3, windowMs: 500, takeover: 'Yield' } },
    ],
    [
      'takes an address back',
      { contention: { moves: 1, windowSeconds: 60, takeover: 'Reclaim' } },
      { contention: { moves: 1, windowMs: 60_000, takeover: 'Reclaim' } },
    ],
    ['drains nodes that are cordoned', { drainPolicy: 'OnCordon' }, { drainPolicy: 'OnCordon' }],
    ['has a grace in fractions of a second', { recoveryGraceSeconds: 2.5 }, { graceMs: 2500 }],
    ['has fields that nobody knows', { flavour: 'mint' }, { desired: 1 }],
    ['has null for what is left out', { match: null, dnsRecordSet: null, desiredIPs: null }, { desired: 1, dns: '' }],
  ])('that %s is accepted', (_, change, expected) => {
    expect(checkPoolSpec(spec(change), registry())).toMatchObject({ spec: expected, error: null });
  });

  test.each([
    ['hello', 'hello.example.com'],
    ['hello.example.com', 'hello.example.com'],
    ['@', 'example.com'],
    ['example.com', 'example.com'],
    ['notexample.com', 'notexample.com.example.com'],
  ])('may name its record relative to the zone, absolute or @: %s', (recordName, full) => {
    expect(checkPoolSpec(spec(dns({ recordName })), registry()).spec?.dns).toBe(full);
    expect(checkPoolSpec(spec(dns({ recordName, provider: 'cloudflare' })), registry()).spec?.dns).toBe(full);
  });

  const SAMPLES = join(import.meta.dirname, '../../../crds/samples');
  const samples = readdirSync(SAMPLES).filter((name) => /^floatingippool.*\.yaml$/.test(name));

  test('is what FLIPOP publishes', () => {
    expect(samples.length).toBeGreaterThan(1);
    for (const name of samples) {
      const manifest = parse(readFileSync(join(SAMPLES, name), 'utf8')) as { spec: Record<string, unknown> };
      const checked = checkPoolSpec(manifest.spec, registry());
      expect([name, checked.error]).toEqual([name, null]);
      expect([name, checked.spec?.desired]).toEqual([name, manifest.spec.desiredIPs]);
    }
  });
});
