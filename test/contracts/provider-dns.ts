import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fenced } from '../../actors/ports/errors.ts';
import type { Call } from '../../actors/ports/provider.ts';
import type { DNSRecord } from '../../machines/model/types.ts';
import { type DNSHarness, expectKind, failure, type ZoneRecord } from './provider-harness.ts';

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

/** The suite for a provider that has DNS and nothing else. */
export function describeDNSProvider(name: string, setup: () => Promise<DNSHarness>): void {
  describe(`the DNS provider ${name}`, () => {
    let world: DNSHarness;
    beforeEach(async () => {
      world = await setup();
    });
    afterEach(() => world.close());
    describeDNS({
      get world() {
        return world;
      },
    });
  });
}

/** The DNS verbs, that every provider with DNS passes. */
export function describeDNS(stage: DNSStage): void {
  const list = async (): Promise<readonly DNSRecord[]> => (await stage.world.provider.listDNSRecords(zone, dns)).records;
  /** The id of the record with this data. */
  const idOf = async (data: string): Promise<string> => {
    const found = (await list()).find((record) => record.data === data);
    expect(found, data).toBeDefined();
    return found?.id ?? '';
  };
  /** A zone with these records that the provider has listed once: what befalls the next call befalls no look-up of the zone. */
  const listedZone = async (...records: readonly ZoneRecord[]): Promise<void> => {
    await stage.world.addZone(zone);
    for (const record of records) await stage.world.addRecord(zone, record);
    await list();
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

    test('shows an IPv6 address in one spelling, however it was written', async () => {
      await listedZone(a('nodes', '2001:DB8:0:0::0001', { type: 'AAAA' }));
      expect((await list()).filter(({ type }) => type === 'AAAA').map(({ data }) => data)).toEqual(['2001:db8::1']);
    });

    test('shows every record once, however many pages that takes', async () => {
      await listedZone(...Array.from({ length: 450 }, (_, i) => a('nodes', `198.18.${i >> 8}.${i & 255}`)));
      const listed = (await list()).filter(({ name }) => name === 'nodes');
      expect(new Set(listed.map(({ data }) => data)).size).toBe(450);
      expect(listed).toHaveLength(450);
    });

    test('is an error when the list came back without its end', async () => {
      await listedZone(...Array.from({ length: 10 }, (_, i) => a('nodes', `198.18.0.${i}`)));
      await stage.world.befall('partialList');
      await expectKind(list(), 'Unavailable');
      expect((await list()).filter(({ name }) => name === 'nodes')).toHaveLength(10);
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

  describe('a new DNS record', () => {
    test('that exists already is refused as Conflict or stands beside the first', async () => {
      await listedZone();
      await stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), dns);
      const again = await stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), dns).then(
        () => 'stands',
        (error: unknown) => failure(Promise.reject(error)),
      );
      const records = stage.world.records(zone, 'nodes');
      if (again === 'stands') expect(records).toEqual([a('nodes', '203.0.113.1'), a('nodes', '203.0.113.1')]);
      else
        expect([again, records]).toEqual([
          expect.objectContaining({ kind: 'Conflict', unknownOutcome: false }),
          [a('nodes', '203.0.113.1')],
        ]);
    });

    test.each([
      ['a TTL that is too short', a('nodes', '203.0.113.1', { ttlSeconds: 5 }), /ttl/i],
      ['an address of the other family', a('nodes', '2001:db8::1'), /ipv4/i],
    ])('with %s is Invalid, says why, and is not made', async (_, record, reason) => {
      await listedZone();
      const error = await expectKind(stage.world.provider.createDNSRecord(zone, record, dns), 'Invalid');
      expect([error.message, error.unknownOutcome]).toEqual([expect.stringMatching(reason), false]);
      expect(stage.world.records(zone, 'nodes')).toEqual([]);
    });

    test('in a zone that does not exist is NotFound', async () => {
      await expectKind(stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), dns), 'NotFound');
    });

    test('whose answer is lost says that it may have taken effect, and it has', async () => {
      await listedZone();
      await stage.world.befall('lostAnswer');
      const error = await expectKind(stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), dns), 'Unavailable');
      expect(error.unknownOutcome).toBe(true);
      expect(stage.world.records(zone, 'nodes')).toHaveLength(1);
    });

    test('that is lost on its way says that it may have taken effect, although it has not', async () => {
      await listedZone();
      await stage.world.befall('lostRequest');
      const error = await expectKind(stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), dns), 'Unavailable');
      expect(error.unknownOutcome).toBe(true);
      expect(stage.world.records(zone, 'nodes')).toHaveLength(0);
    });

    test('without a connection says that nothing was sent', async () => {
      await listedZone();
      await stage.world.befall('refusedConnection');
      // Uses up the connection that may be kept from before.
      await expectKind(list(), 'Unavailable');
      const error = await expectKind(stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), dns), 'Unavailable');
      expect(error.unknownOutcome).toBe(false);
      await stage.world.heal();
      expect(stage.world.records(zone, 'nodes')).toHaveLength(0);
    });

    test('is not sent once the fence is closed or stale', async () => {
      await listedZone();
      const before = stage.world.writes();
      const closed = new Fenced('not the leader any more');
      const stale = (): never => {
        throw closed;
      };
      const fences = [
        { read: () => Promise.reject(closed), assertFresh: () => undefined },
        { read: () => Promise.resolve(), assertFresh: stale },
      ];
      for (const fence of fences) {
        const creation = stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), { purpose: 'dns', fence });
        await expect(creation).rejects.toBe(closed);
      }
      expect([stage.world.writes(), stage.world.records(zone, 'nodes')]).toEqual([before, []]);
      const open = { read: () => Promise.resolve(), assertFresh: () => undefined };
      await stage.world.provider.createDNSRecord(zone, a('nodes', '203.0.113.1'), { purpose: 'dns', fence: open });
      expect(stage.world.writes()).toBe(before + 1);
    });
  });

  describe('updating a DNS record', () => {
    test('ends its being proxied', async () => {
      const { proxies } = stage.world;
      await listedZone(a('nodes', '203.0.113.1', proxies ? { proxied: true, ttlSeconds: 1 } : {}));
      const found = (await list()).find(({ name }) => name === 'nodes');
      expect(found?.proxied).toBe(proxies);
      await stage.world.provider.updateDNSRecord(zone, { id: found?.id ?? '', ...a('nodes', '203.0.113.1') }, dns);
      expect(stage.world.records(zone, 'nodes')).toEqual([a('nodes', '203.0.113.1')]);
    });

    test('that is gone is NotFound', async () => {
      await listedZone(a('nodes', '203.0.113.1'));
      const id = await idOf('203.0.113.1');
      await stage.world.provider.deleteDNSRecord(zone, id, dns);
      await expectKind(stage.world.provider.updateDNSRecord(zone, { id, ...a('nodes', '203.0.113.2') }, dns), 'NotFound');
      expect(stage.world.records(zone, 'nodes')).toEqual([]);
    });

    test('changes data and TTL of that record alone', async () => {
      await stage.world.addZone(zone);
      await stage.world.addRecord(zone, a('nodes', '203.0.113.1', { ttlSeconds: 1800 }));
      await stage.world.addRecord(zone, a('other', '203.0.113.1', { ttlSeconds: 1800 }));
      const id = (await list()).find(({ name }) => name === 'nodes')?.id ?? '';
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

  describe('DNS errors', () => {
    test('of the rate limit tell how long to wait', async () => {
      await listedZone();
      await stage.world.befall('rateLimited');
      expect((await expectKind(list(), 'RateLimited')).retryAfterMs).toBe(7000);
    });

    test('of a refused token are Unauthorized', async () => {
      await listedZone();
      await stage.world.befall('unauthorized');
      await expectKind(list(), 'Unauthorized');
    });

    test('of a list never leave an effect in doubt, those of a provider that is down leave a write in doubt', async () => {
      await listedZone(a('nodes', '203.0.113.1'));
      const id = await idOf('203.0.113.1');
      await stage.world.befall('unavailable');
      expect((await expectKind(list(), 'Unavailable')).unknownOutcome).toBe(false);
      await stage.world.befall('unavailable');
      expect((await expectKind(stage.world.provider.deleteDNSRecord(zone, id, dns), 'Unavailable')).unknownOutcome).toBe(true);
      expect(stage.world.records(zone, 'nodes')).toHaveLength(1);
    });
  });
}
