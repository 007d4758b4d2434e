import { describe, expect, test } from 'vitest';
import type { Call } from '../../actors/ports.ts';
import { type DNSHarness, expectKind, type ZoneRecord } from './provider-harness.ts';

const dns: Call = { purpose: 'dns' };
const zone = 'example.com';

const a = (name: string, data: string, more: Partial<ZoneRecord> = {}): ZoneRecord => ({
  type: 'A',
  name,
  data,
  ttlSeconds: 60,
  proxied: false,
  ...more,
});

/** What a test of the suite finds set up: read anew by each test. */
export interface DNSStage {
  readonly world: DNSHarness;
}

/** The DNS verbs, that every provider with DNS passes. */
export function describeDNS(stage: DNSStage): void {
  /** The id of the record with this data. */
  const idOf = async (data: string): Promise<string> => {
    const { records } = await stage.world.provider.listDNSRecords(zone, dns);
    const found = records.find((record) => record.data === data);
    expect(found, data).toBeDefined();
    return found?.id ?? '';
  };

  describe('listing DNS records', () => {
    test('shows every record of the zone with its name relative to the zone', async () => {
      await stage.world.addZone(zone);
      const made = [a('nodes', '203.0.113.1'), a('a.b', '203.0.113.2', { ttlSeconds: 120 }), a('@', '203.0.113.3')];
      const other = [a('nodes', '2001:db8::1', { type: 'AAAA' }), a('www', 'elsewhere.example.org', { type: 'CNAME' })];
      for (const record of [...made, ...other]) await stage.world.addRecord(zone, record);
      const listed = await stage.world.provider.listDNSRecords(zone, dns);
      expect(listed.name).toBe(zone);
      for (const record of [...made, ...other]) expect(listed.records).toContainEqual({ id: expect.any(String), ...record });
      expect(new Set(listed.records.map(({ id }) => id)).size).toBe(listed.records.length);
    });

    test('takes the zone by its name in any case, with a final dot or without, and by its id', async () => {
      const id = await stage.world.addZone(zone);
      await stage.world.addRecord(zone, a('nodes', '203.0.113.1'));
      for (const form of [zone, 'Example.COM', 'example.com.', id]) {
        const listed = await stage.world.provider.listDNSRecords(form, dns);
        expect([listed.name, listed.records.filter(({ type }) => type === 'A').length], form).toEqual([zone, 1]);
      }
    });

    test('of a zone that does not exist is NotFound', async () => {
      await stage.world.addZone(zone);
      await expectKind(stage.world.provider.listDNSRecords('example.org', dns), 'NotFound');
    });
  });

  describe('creating a DNS record', () => {
    test('adds it beside the others of its name', async () => {
      await stage.world.addZone(zone);
      await stage.world.addRecord(zone, a('nodes', '203.0.113.1'));
      await stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.2', { ttlSeconds: 120 }), dns);
      await stage.world.provider.createDNSRecord(zone, a('@', '203.0.113.3'), dns);
      await stage.world.provider.createDNSRecord(zone, a('nodes', '2001:db8::1', { type: 'AAAA' }), dns);
      expect(stage.world.records(zone, 'nodes')).toEqual([
        a('nodes', '2001:db8::1', { type: 'AAAA' }),
        a('nodes', '203.0.113.1'),
        a('nodes', '203.0.113.2', { ttlSeconds: 120 }),
      ]);
      expect(stage.world.records(zone, '@').filter(({ type }) => type === 'A')).toEqual([a('@', '203.0.113.3')]);
    });
  });

  describe('updating a DNS record', () => {
    test('changes data and TTL of that record alone', async () => {
      await stage.world.addZone(zone);
      await stage.world.addRecord(zone, a('nodes', '203.0.113.1', { ttlSeconds: 1800 }));
      await stage.world.addRecord(zone, a('other', '203.0.113.1', { ttlSeconds: 1800 }));
      const { records } = await stage.world.provider.listDNSRecords(zone, dns);
      const id = records.find(({ name }) => name === 'nodes')?.id ?? '';
      await stage.world.provider.updateDNSRecord(zone, { id, ...a('nodes', '203.0.113.2') }, dns);
      expect(stage.world.records(zone, 'nodes')).toEqual([a('nodes', '203.0.113.2')]);
      expect(stage.world.records(zone, 'other')).toEqual([a('other', '203.0.113.1', { ttlSeconds: 1800 })]);
    });
  });

  describe('deleting a DNS record', () => {
    test('removes that record alone, and once more is harmless', async () => {
      await stage.world.addZone(zone);
      await stage.world.addRecord(zone, a('nodes', '203.0.113.1'));
      await stage.world.addRecord(zone, a('nodes', '203.0.113.2'));
      const id = await idOf('203.0.113.1');
      await stage.world.provider.deleteDNSRecord(zone, id, dns);
      expect(stage.world.records(zone, 'nodes')).toEqual([a('nodes', '203.0.113.2')]);
      await stage.world.provider.deleteDNSRecord(zone, id, dns);
      expect(stage.world.records(zone, 'nodes')).toEqual([a('nodes', '203.0.113.2')]);
    });
  });
}
