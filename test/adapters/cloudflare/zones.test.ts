import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Call } from '../../../actors/ports/provider.ts';
import type { DNSRecord } from '../../../machines/model/types.ts';
import { expectKind } from '../../contracts/provider-harness.ts';
import { secret, startTestBed, type TestBed } from './support.ts';

const dns: Call = { purpose: 'dns' };
const record: Omit<DNSRecord, 'id'> = { type: 'A', name: 'nodes', data: '203.0.113.1', ttlSeconds: 60, proxied: false };
const nowhere = 'ab'.repeat(16);

let bed: TestBed;
beforeEach(async () => {
  bed = await startTestBed();
});
afterEach(() => bed.close());

const paths = (): string[] => bed.simulator.calls.all().map(({ method, path }) => `${method} ${path.replace('/client/v4', '')}`);

describe('a zone', () => {
  test('is looked up once by its name and remembered', async () => {
    const { id } = bed.simulator.addZone({ name: 'example.com' });
    await bed.provider.listDNSRecords('example.com', dns);
    await bed.provider.createDNSRecord('Example.com.', record, dns);
    await bed.provider.listDNSRecords('example.com', dns);
    expect(paths()).toEqual([
      'GET /zones?name=example.com&page=1&per_page=50',
      `GET /zones/${id}/dns_records?page=1&per_page=1000`,
      `POST /zones/${id}/dns_records`,
      `GET /zones/${id}/dns_records?page=1&per_page=1000`,
    ]);
  });

  test('is read once by its id and remembered', async () => {
    const { id } = bed.simulator.addZone({ name: 'example.com' });
    await bed.provider.createDNSRecord(id, record, dns);
    await bed.provider.createDNSRecord(id.toUpperCase(), { ...record, name: '@' }, dns);
    expect(paths()).toEqual([`GET /zones/${id}`, `POST /zones/${id}/dns_records`, `POST /zones/${id}/dns_records`]);
    const names = [...(bed.simulator.zones.get(id)?.records.values() ?? [])].map(({ name }) => name);
    expect(names).toEqual(['nodes.example.com', 'example.com']);
  });

  test('that was removed and made again is found under its new id at the next try', async () => {
    const former = bed.simulator.addZone({ name: 'example.com' });
    await bed.provider.listDNSRecords('example.com', dns);
    bed.simulator.removeZone(former.id);
    bed.simulator.addZone({ name: 'example.com' });
    await expectKind(bed.provider.listDNSRecords('example.com', dns), 'NotFound');
    expect((await bed.provider.listDNSRecords('example.com', dns)).name).toBe('example.com');
  });

  test('that only another account claims gives way to the active one', async () => {
    bed.simulator.addZone({ name: 'example.com', status: 'pending' });
    const active = bed.simulator.addZone({ name: 'example.com' });
    await bed.provider.createDNSRecord('example.com', record, dns);
    expect(active.records.size).toBe(1);
  });

  test('whose name stands for two is Invalid, and by its id it is none', async () => {
    const one = bed.simulator.addZone({ name: 'example.com' });
    bed.simulator.addZone({ name: 'example.com' });
    const error = await expectKind(bed.provider.createDNSRecord('example.com', record, dns), 'Invalid');
    expect(error.message).toContain('give the id instead');
    await bed.provider.createDNSRecord(one.id, record, dns);
    expect(one.records.size).toBe(1);
  });

  test('whose id is not known is NotFound', async () => {
    await expectKind(bed.provider.listDNSRecords(nowhere, dns), 'NotFound');
  });

  test('whose name would lead to another path is NotFound', async () => {
    bed.simulator.addZone({ name: 'example.com' });
    for (const name of ['..', 'example.com/dns_records', '', 'example.com&name=x', '?']) {
      await expectKind(bed.provider.listDNSRecords(name, dns), 'NotFound');
    }
    expect(paths()).toHaveLength(5);
    expect(paths().filter((path) => !path.startsWith('GET /zones?'))).toEqual([]);
  });
});

describe('a token without the right to read zones', () => {
  beforeEach(() => bed.simulator.allow(secret, { zoneRead: false }));

  test('is enough where the zone is given by its id', async () => {
    const { id, records } = bed.simulator.addZone({ name: 'example.com' });
    await bed.provider.createDNSRecord(id, record, dns);
    expect([...records.values()].map(({ name }) => name)).toEqual(['nodes.example.com']);
    expect((await bed.provider.listDNSRecords(id, dns)).name).toBe('example.com');
    expect(paths().filter((path) => path.endsWith('/export'))).toHaveLength(1);
  });

  test('sees no zone by a name, and the error says that it may be the token', async () => {
    bed.simulator.addZone({ name: 'example.com' });
    const error = await expectKind(bed.provider.listDNSRecords('example.com', dns), 'NotFound');
    expect(error.message).toContain('the token may not see it');
  });
});

describe('a token without rights on DNS', () => {
  test('is Unauthorized for every verb and changes nothing', async () => {
    const zone = bed.simulator.addZone({ name: 'example.com' });
    const { id } = bed.simulator.addRecord(zone.id, { type: 'A', name: 'nodes', content: '203.0.113.1', ttl: 60 });
    bed.simulator.allow(secret, { dnsRead: false, dnsWrite: false });
    await expectKind(bed.provider.listDNSRecords('example.com', dns), 'Unauthorized');
    await expectKind(bed.provider.createDNSRecord('example.com', { ...record, data: '203.0.113.2' }, dns), 'Unauthorized');
    await expectKind(bed.provider.updateDNSRecord('example.com', { id, ...record, data: '203.0.113.3' }, dns), 'Unauthorized');
    await expectKind(bed.provider.deleteDNSRecord('example.com', id, dns), 'Unauthorized');
    expect([...zone.records.values()].map(({ content }) => content)).toEqual(['203.0.113.1']);
  });

  test('that may read no zone either is Unauthorized by a zone id', async () => {
    const { id } = bed.simulator.addZone({ name: 'example.com' });
    bed.simulator.allow(secret, { zoneRead: false, dnsRead: false, dnsWrite: false });
    await expectKind(bed.provider.listDNSRecords(id, dns), 'Unauthorized');
  });
});

describe('records', () => {
  test('of several pages are all listed', async () => {
    const { id } = bed.simulator.addZone({ name: 'example.com' });
    const all = Array.from({ length: 2300 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
    for (const content of all) bed.simulator.addRecord(id, { type: 'A', name: 'nodes', content, ttl: 60 });
    const { records } = await bed.provider.listDNSRecords(id, dns);
    expect(records.map(({ data }) => data)).toEqual(all);
    expect(paths().slice(1)).toEqual([1, 2, 3].map((page) => `GET /zones/${id}/dns_records?page=${page}&per_page=1000`));
  });

  test('keep comment and tags when they are changed', async () => {
    const zone = bed.simulator.addZone({ name: 'example.com' });
    const body = { type: 'A', name: 'nodes', content: '203.0.113.1', ttl: 1, proxied: true, comment: 'of the shop', tags: ['team:shop'] };
    const { id } = bed.simulator.addRecord(zone.id, body);
    await bed.provider.updateDNSRecord('example.com', { id, ...record, data: '203.0.113.2' }, dns);
    const { comment, tags, content, ttl, proxied } = zone.records.get(id) ?? {};
    expect({ comment, tags, content, ttl, proxied }).toEqual({
      comment: 'of the shop',
      tags: ['team:shop'],
      content: '203.0.113.2',
      ttl: 60,
      proxied: false,
    });
  });

  test('beside a CNAME are a Conflict that says so', async () => {
    const { id, records } = bed.simulator.addZone({ name: 'example.com' });
    bed.simulator.addRecord(id, { type: 'CNAME', name: 'nodes', content: 'elsewhere.example.org' });
    const error = await expectKind(bed.provider.createDNSRecord('example.com', record, dns), 'Conflict');
    expect(error.message).toContain('A CNAME record with that host already exists. (81054)');
    expect(records.size).toBe(1);
  });

  test('whose id could lead to another path are Invalid, and nothing is written', async () => {
    bed.simulator.addZone({ name: 'example.com' });
    await expectKind(bed.provider.updateDNSRecord('example.com', { id: '../x', ...record }, dns), 'Invalid');
    await expectKind(bed.provider.deleteDNSRecord('example.com', '', dns), 'Invalid');
    expect(bed.simulator.calls.select({ writes: true })).toEqual([]);
  });
});

describe('everything but DNS', () => {
  test('is Unsupported and sends nothing', async () => {
    const { provider } = bed;
    await expectKind(provider.listRoutedIPs({ ...dns, family: 4 }), 'Unsupported');
    await expectKind(provider.createRoutedIP('nyc3', dns), 'Unsupported');
    await expectKind(provider.findRoutedIPFirewall('front', dns), 'Unsupported');
    await expectKind(provider.listRoutedIPFirewalls(['front'], dns), 'Unsupported');
    expect(provider.capabilities).toMatchObject({ addresses: false, dns: true, firewalls: false });
    expect(paths()).toEqual([]);
  });
});
