import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import type { DNSRecord } from '../../../machines/model/types.ts';
import { expectKind } from '../../contracts/provider-harness.ts';
import { secret, startTestBed, type TestBed } from './support.ts';

const dns: Call = { purpose: 'dns' };
const zone = 'example.com';
const record: Omit<DNSRecord, 'id'> = { type: 'A', name: 'nodes', data: '203.0.113.1', ttlSeconds: 60, proxied: false };

let bed: TestBed;
beforeEach(async () => {
  bed = await startTestBed();
  const headers = { authorization: `Bearer ${secret}` };
  const reply = await fetch(`${bed.simulator.url}/v2/domains`, { method: 'POST', headers, body: JSON.stringify({ name: zone }) });
  expect(reply.status).toBe(201);
  bed.simulator.calls.clear();
});
afterEach(() => bed.close());

describe('a zone', () => {
  test('is listed 200 records a page, each page paid for as DNS', async () => {
    for (let i = 0; i < 210; i++) await bed.provider.createDNSRecord(zone, { ...record, data: `198.18.0.${i}` }, dns);
    bed.simulator.calls.clear();
    bed.budget.paid.length = 0;
    const { records } = await bed.provider.listDNSRecords(zone, dns);
    expect(records.filter(({ type }) => type === 'A')).toHaveLength(210);
    const path = `/v2/domains/${zone}/records`;
    expect(bed.simulator.calls.all().map((call) => call.path)).toEqual([`${path}?page=1&per_page=200`, `${path}?page=2&per_page=200`]);
    expect(bed.budget.paid).toEqual(['dns', 'dns']);
  });

  test('whose name would lead to another path is Invalid, and nothing is sent', async () => {
    for (const name of ['..', 'example.com/records', '', '.', 'example.com?x', 'exa mple.com']) {
      await expectKind(bed.provider.listDNSRecords(name, dns), 'Invalid');
      await expectKind(bed.provider.deleteDNSRecord(name, '1', dns), 'Invalid');
    }
    expect(bed.simulator.calls.all()).toEqual([]);
  });
});

describe('a record', () => {
  test('whose id is no number is Invalid, and nothing is sent', async () => {
    await expectKind(bed.provider.updateDNSRecord(zone, { id: '../1', ...record }, dns), 'Invalid');
    await expectKind(bed.provider.deleteDNSRecord(zone, '', dns), 'Invalid');
    expect(bed.simulator.calls.all()).toEqual([]);
  });
});
