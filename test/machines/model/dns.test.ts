import { describe, expect, test } from 'vitest';
import { fullName, planRecordSet, type RecordStep, relativeName } from '../../../machines/model/dns.ts';
import type { Address, DNSRecord } from '../../../machines/model/types.ts';
import { A, B, C } from '../builders.ts';

const ZONE = 'example.com';
const SIX = '2001:db8::1' as Address;

const record = (id: string, data: string, change: Partial<DNSRecord> = {}): DNSRecord => ({
  id,
  type: data.includes(':') ? 'AAAA' : 'A',
  name: 'www',
  data,
  ttlSeconds: 60,
  proxied: false,
  ...change,
});

/** The plan for `www`, as text. */
const plan = (records: readonly DNSRecord[], addresses: readonly Address[], recordName = 'www'): readonly string[] => {
  const { steps, refusal } = planRecordSet({ name: ZONE, records }, { recordName, ttlSeconds: 60, addresses });
  return steps === null ? [`${refusal.why}: ${refusal.message}`] : steps.map(said);
};

const said = (step: RecordStep): string => {
  if (step.kind === 'delete') return `delete ${step.id}`;
  const { type, name, data, ttlSeconds, proxied } = step.record;
  const what = `${name} ${type} ${data} ${ttlSeconds}${proxied ? ' proxied' : ''}`;
  return step.kind === 'create' ? `create ${what}` : `${step.record.id} becomes ${what}`;
};

describe('the name of a record relative to its zone', () => {
  test.each([
    ['hello', 'example.com', 'hello'],
    ['hello.example.com', 'example.com', 'hello'],
    ['hello.example.com.', 'example.com', 'hello'],
    ['Hello.Example.COM', 'example.com.', 'hello'],
    ['a.b', 'example.com', 'a.b'],
    ['a.b.example.com', 'example.com', 'a.b'],
    ['*.apps', 'example.com', '*.apps'],
    ['_srv', 'example.com', '_srv'],
    ['@', 'example.com', '@'],
    ['example.com', 'example.com', '@'],
    ['example.com.', 'example.com', '@'],
    ['badexample.com', 'example.com', 'badexample.com'],
    ['www.other.org', 'example.com', 'www.other.org'],
    ['www.other.org.', 'example.com', null],
    ['org.', 'example.com', null],
  ])('%s in %s is %s', (recordName, zone, name) => expect(relativeName(recordName, zone)).toBe(name));

  test.each([
    ['hello', 'example.com', 'hello.example.com'],
    ['hello.example.com.', 'example.com', 'hello.example.com'],
    ['@', 'example.com', 'example.com'],
    ['hello.example.com', '023e105f4ecef8ad9ca31a8372d0c353', 'hello.example.com'],
    ['hello', '023e105f4ecef8ad9ca31a8372d0c353', 'hello'],
    ['www.other.org.', 'example.com', 'www.other.org'],
  ])('%s in %s is %s for people', (recordName, zone, name) => expect(fullName({ recordName, zone })).toBe(name));
});

describe('the plan for a record set', () => {
  test.each<[string, readonly DNSRecord[], readonly Address[], readonly string[]]>([
    ['creates what is missing', [], [A, B], [`create www A ${A} 60`, `create www A ${B} 60`]],
    ['does nothing when all is right', [record('1', A), record('2', B)], [B, A], []],
    ['changes a surplus record into a missing one', [record('1', A), record('2', B)], [A, C], [`2 becomes www A ${C} 60`]],
    ['changes first, then creates', [record('1', '198.51.100.9')], [A, B], [`1 becomes www A ${A} 60`, `create www A ${B} 60`]],
    [
      'changes first, then deletes',
      [record('1', '198.51.100.8'), record('2', '198.51.100.9')],
      [A],
      [`1 becomes www A ${A} 60`, 'delete 2'],
    ],
    ['keeps one of two alike', [record('1', A), record('2', A)], [A], ['delete 2']],
    ['keeps the right one of two alike', [record('1', A, { ttlSeconds: 5 }), record('2', A)], [A], ['delete 1']],
    ['uses a second one alike for what is missing', [record('1', A), record('2', A)], [A, B], [`2 becomes www A ${B} 60`]],
    ['mends the TTL', [record('1', A, { ttlSeconds: 1800 })], [A], [`1 becomes www A ${A} 60`]],
    ['has the provider hide nothing', [record('1', A, { proxied: true })], [A], [`1 becomes www A ${A} 60`]],
    ['has IPv6 in AAAA records', [], [SIX, A], [`create www A ${A} 60`, `create www AAAA ${SIX} 60`]],
    ['knows an IPv6 address in another spelling', [record('1', '2001:DB8:0:0::1')], [SIX], []],
    ['deletes a family that is not wanted last', [record('1', A)], [SIX], [`create www AAAA ${SIX} 60`, 'delete 1']],
    ['deletes what is no address', [record('1', 'oops'), record('2', A)], [A], ['delete 1']],
    [
      'leaves other names and other types alone',
      [record('1', A, { name: 'other' }), record('2', 'v=spf1', { type: 'TXT' }), record('3', 'mail', { type: 'MX' })],
      [A],
      [`create www A ${A} 60`],
    ],
    ['writes nothing for an empty set', [record('1', A), record('2', B)], [], []],
    [
      'touches nothing when a CNAME stands at the name',
      [record('1', 'example.net', { type: 'CNAME' }), record('2', B)],
      [A],
      ['Conflict: a CNAME record stands at www.example.com: remove it, or use another name'],
    ],
  ])('%s', (_, records, addresses, steps) => expect(plan(records, addresses)).toEqual(steps));

  test('takes the name relative, absolute or as the zone itself', () => {
    const records = [record('1', A), record('2', B, { name: '@' })];
    expect(plan(records, [C], 'www.example.com.')).toEqual([`1 becomes www A ${C} 60`]);
    expect(plan(records, [C], '@')).toEqual([`2 becomes @ A ${C} 60`]);
    expect(plan(records, [C], 'example.com')).toEqual([`2 becomes @ A ${C} 60`]);
    expect(plan(records, [C], 'www.example.org.')).toEqual(['OutsideZone: www.example.org. is not in zone example.com']);
  });
});
