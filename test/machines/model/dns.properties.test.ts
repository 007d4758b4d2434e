import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../../machines/model/address.ts';
import { planRecordSet, type RecordStep } from '../../../machines/model/dns.ts';
import type { Address, DNSRecord } from '../../../machines/model/types.ts';
import { frozen } from '../builders.ts';

const ADDRESSES = ['203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4', '2001:db8::1', '2001:db8::2'] as Address[];
const TTL = 60;

const type = (data: string): string => (data.includes(':') ? 'AAAA' : 'A');

/** Records of two names, right, stale, doubled, hidden or of another type, in any order. */
const records: fc.Arbitrary<DNSRecord[]> = fc
  .array(
    fc.record({
      name: fc.constantFrom('www', 'www', 'www', 'other'),
      data: fc.constantFrom(...ADDRESSES, '198.51.100.7', '198.51.100.8', '2001:db8::ffff'),
      ttlSeconds: fc.constantFrom(TTL, TTL, 1800),
      proxied: fc.constantFrom(false, false, true),
      isText: fc.constantFrom(false, false, false, false, true),
    }),
    { maxLength: 9 },
  )
  .map((all) => all.map(({ isText, ...rest }, index) => ({ id: `id-${index}`, type: isText ? 'TXT' : type(rest.data), ...rest })));
const wanted = fc.shuffledSubarray(ADDRESSES);

const stepsOf = (all: readonly DNSRecord[], addresses: readonly Address[]): readonly RecordStep[] => {
  const { steps } = planRecordSet(
    frozen({ name: 'example.com', records: [...all] }),
    frozen({ recordName: 'www', ttlSeconds: TTL, addresses }),
  );
  if (!steps) throw new Error('there is no CNAME');
  return steps;
};

const after = (all: readonly DNSRecord[], step: RecordStep): readonly DNSRecord[] => {
  switch (step.kind) {
    case 'create':
      return [...all, { id: `new-${all.length}-${step.record.data}`, ...step.record }];
    case 'update':
      return all.map((each) => (each.id === step.record.id ? step.record : each));
    case 'delete':
      return all.filter(({ id }) => id !== step.id);
  }
};

/** What stands at `www`: answers to a question for it. */
const answers = (all: readonly DNSRecord[]): readonly DNSRecord[] => all.filter((each) => each.name === 'www' && each.type !== 'TXT');
const right = (all: readonly DNSRecord[], addresses: readonly Address[]): readonly Address[] =>
  addresses.filter((address) => answers(all).some(({ data, proxied }) => data === address && !proxied));

/** The zone before the plan and after each of its steps. */
function states(all: readonly DNSRecord[], addresses: readonly Address[]): readonly (readonly DNSRecord[])[] {
  const zones = [all];
  for (const step of stepsOf(all, addresses)) zones.push(after(zones.at(-1) ?? [], step));
  return zones;
}

const assert = <T>(property: fc.IProperty<T>): void => fc.assert(property, { numRuns: 2000 });

describe('whatever stands in a zone, a plan', () => {
  test('ends with exactly the wanted addresses, each once, with its TTL and not hidden', () => {
    let changed = 0;
    assert(
      fc.property(records, wanted, (all, addresses) => {
        fc.pre(addresses.length > 0);
        const zones = states(all, addresses);
        if (zones.length > 1) changed += 1;
        const end = answers(zones.at(-1) ?? []).map(({ data, ttlSeconds, proxied }) => [parseAddress(data), ttlSeconds, proxied]);
        expect(end.sort()).toEqual(addresses.map((address) => [address, TTL, false]).sort());
        expect(stepsOf(zones.at(-1) ?? [], addresses)).toEqual([]);
      }),
    );
    expect(changed).toBeGreaterThan(50);
  });

  test('never takes a right answer away on its way, and never the last one', () => {
    assert(
      fc.property(records, wanted, (all, addresses) => {
        const zones = states(all, addresses);
        zones.forEach((zone, index) => {
          const before = zones[index - 1];
          if (!before) return;
          expect(right(zone, addresses)).toEqual(expect.arrayContaining([...right(before, addresses)]));
          if (answers(before).length > 0) expect(answers(zone)).not.toEqual([]);
        });
      }),
    );
  });

  test('takes wrong answers away only once all the right ones are there', () => {
    assert(
      fc.property(records, wanted, (all, addresses) => {
        const zones = states(all, addresses);
        const steps = stepsOf(all, addresses);
        steps.forEach((step, index) => {
          if (step.kind === 'delete') expect(right(zones[index] ?? [], addresses)).toHaveLength(addresses.length);
        });
      }),
    );
  });

  test('touches no other name and no other type', () => {
    const others = (all: readonly DNSRecord[]) => all.filter((each) => each.name !== 'www' || each.type === 'TXT');
    assert(
      fc.property(records, wanted, (all, addresses) => {
        expect(others(states(all, addresses).at(-1) ?? [])).toEqual(others(all));
      }),
    );
  });

  test('spends no more calls than needed: one for each record that is wrong or missing, whichever is more, and for each to be mended', () => {
    assert(
      fc.property(records, wanted, (all, addresses) => {
        fc.pre(addresses.length > 0);
        const need = ['A', 'AAAA'].map((family) => {
          const there = answers(all).filter((each) => each.type === family);
          const goal = addresses.filter((address) => type(address) === family);
          const kept = goal.filter((address) => there.some(({ data }) => data === address));
          const mended = kept.filter(
            (address) => !there.some(({ data, ttlSeconds, proxied }) => data === address && ttlSeconds === TTL && !proxied),
          );
          return Math.max(there.length - kept.length, goal.length - kept.length) + mended.length;
        });
        expect(stepsOf(all, addresses)).toHaveLength((need[0] ?? 0) + (need[1] ?? 0));
      }),
    );
  });

  test('is the same for any order of the records and of the addresses', () => {
    const shuffled = records.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    assert(
      fc.property(shuffled, wanted, ([all, permuted], addresses) => {
        expect(stepsOf(permuted, addresses.toReversed())).toEqual(stepsOf(all, addresses));
      }),
    );
  });

  test('for no addresses is empty', () => {
    assert(fc.property(records, (all) => void expect(stepsOf(all, [])).toEqual([])));
  });

  test('for a name with a CNAME is refused, whatever else stands there', () => {
    assert(
      fc.property(records, wanted, (all, addresses) => {
        fc.pre(addresses.length > 0);
        const cname: DNSRecord = { id: 'c', type: 'CNAME', name: 'www', data: 'example.net', ttlSeconds: TTL, proxied: false };
        const { steps, refusal } = planRecordSet(
          { name: 'example.com', records: [...all, cname] },
          { recordName: 'www', ttlSeconds: TTL, addresses },
        );
        expect([steps, refusal]).toEqual([null, { why: 'Conflict', message: expect.stringContaining('CNAME') }]);
      }),
    );
  });
});
