import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ExistingRecord, planRecords, relativeName } from '../../adapters/digitalocean/dns.ts';
import type { Address } from '../../machines/types.ts';
import { startTestBed } from './digitalocean-support.ts';

const addresses = fc.constantFrom('203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4');
const ttls = fc.constantFrom(60, 1800);
const existing = fc.array(fc.record({ data: addresses, ttl: ttls }), { maxLength: 6 });
const wanted = fc.uniqueArray(addresses, { minLength: 1 });

const numbered = (records: readonly Omit<ExistingRecord, 'id'>[]): ExistingRecord[] =>
  records.map((record, index) => ({ id: index + 1, ...record }));

/** The records that are there after the plan. */
function applied(records: readonly ExistingRecord[], plan: ReturnType<typeof planRecords>, ttl: number): { data: string; ttl: number }[] {
  const updates = new Map(plan.updates.map(({ id, data }) => [id, data]));
  const kept = records.filter(({ id }) => !plan.deletes.includes(id));
  const changed = kept.map((record) => {
    const data = updates.get(record.id);
    return data === undefined ? { data: record.data, ttl: record.ttl } : { data, ttl };
  });
  return [...changed, ...plan.creates.map((data) => ({ data, ttl }))];
}

describe('a plan for DNS records', () => {
  test('ends with exactly the wanted addresses at the wanted TTL', () => {
    fc.assert(
      fc.property(existing, wanted, (found, want) => {
        const records = numbered(found);
        const result = applied(records, planRecords(records, want, 60), 60);
        expect(result.map(({ data }) => data).sort()).toEqual([...want].sort());
        expect(result.every(({ ttl }) => ttl === 60)).toBe(true);
      }),
    );
  });

  test('writes nothing when all is right, and nothing the second time', () => {
    fc.assert(
      fc.property(existing, wanted, (found, want) => {
        const records = numbered(found);
        const after = numbered(applied(records, planRecords(records, want, 60), 60));
        expect(planRecords(after, want, 60)).toEqual({ updates: [], creates: [], deletes: [] });
      }),
    );
  });

  test('is the same for any order of the input', () => {
    fc.assert(
      fc.property(existing, wanted, (found, want) => {
        const records = numbered(found);
        expect(planRecords(records.toReversed(), want.toReversed(), 60)).toEqual(planRecords(records, want, 60));
      }),
    );
  });

  test('changes a record rather than deleting and creating one', () => {
    const plan = planRecords([{ id: 1, data: '203.0.113.1', ttl: 60 }], ['203.0.113.2'], 60);
    expect(plan).toEqual({ updates: [{ id: 1, data: '203.0.113.2' }], creates: [], deletes: [] });
  });
});

describe('a record name', () => {
  test.each([
    ['nodes', 'nodes'],
    ['nodes.example.com', 'nodes'],
    ['nodes.example.com.', 'nodes'],
    ['a.b.example.com', 'a.b'],
    ['@', '@'],
    ['example.com', '@'],
    ['example.com.', '@'],
    ['', '@'],
    ['notexample.com', 'notexample.com'],
  ])('%j becomes %j', (given, relative) => {
    expect(relativeName(given, 'example.com')).toBe(relative);
  });
});

describe('a record set', () => {
  test('of the zone itself and of more than one page is brought about', async () => {
    const { simulator, provider, close } = await startTestBed();
    const headers = { authorization: 'Bearer dop_v1_the_secret_of_the_test' };
    await fetch(`${simulator.url}/v2/domains`, { method: 'POST', headers, body: '{"name":"example.com"}' });
    const many = Array.from({ length: 210 }, (_, i) => `198.18.0.${i}` as Address);
    const set = { zone: 'example.com', recordName: 'example.com', ttlSeconds: 60 };
    await provider.ensureDNSRecordSet({ ...set, addresses: many }, { purpose: 'dns' });
    await provider.ensureDNSRecordSet({ ...set, addresses: many.slice(0, 205) }, { purpose: 'dns' });
    const records = [...(simulator.state.domains.get('example.com')?.records.values() ?? [])].filter((record) => record.type === 'A');
    await close();
    expect(records.map((record) => record.name)).toEqual(Array.from({ length: 205 }, () => '@'));
  });
});
