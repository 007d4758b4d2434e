import { describe, expect, test } from 'vitest';
import type { ErrorKind } from '../../../machines/model/types.ts';
import { DNSWorld, MINUTE, ZONE } from './world.ts';

const [A, B, C] = ['203.0.113.1', '203.0.113.2', '203.0.113.3'] as const;

/** A leader with these sets, all published. */
async function standing(sets: Readonly<Record<string, readonly string[]>>): Promise<DNSWorld> {
  const dns = new DNSWorld();
  await dns.lead();
  for (const [name, addresses] of Object.entries(sets)) dns.set(name, addresses);
  await dns.untilActive(...Object.keys(sets));
  return dns;
}

const times = (calls: readonly string[], verb: string): number => calls.filter((each) => each === verb).length;

describe('record sets', () => {
  test('come to stand in their zone', async () => {
    const dns = await standing({ web: [A, B], api: [C, '2001:db8::1'] });
    expect([dns.records('web'), dns.records('api')]).toEqual([
      [A, B],
      ['2001:db8::1', C],
    ]);
    expect(dns.status('web')).toMatchObject({ state: 'active', records: 2 });
    expect(dns.log).toEqual([]);
  });

  test('follow their nodes, and are right as soon as one job takes', async () => {
    const dns = await standing({ web: [A, B] });
    dns.set('web', [A, C]);
    expect(await dns.untilActive('web')).toBeLessThan(1000);
    expect(dns.records('web')).toEqual([A, C]);
    expect(dns.calls().slice(-2)).toEqual(['listDNSRecords', 'updateDNSRecord']);
  });

  test('of one zone are served together: the zone is listed once for all that came while a job ran', async () => {
    const dns = new DNSWorld();
    await dns.lead();
    const names = Array.from({ length: 50 }, (_, index) => `web-${index}`);
    for (const name of names) dns.set(name, [A]);
    await dns.untilActive(...names);
    expect(times(dns.calls(), 'createDNSRecord')).toBe(50);
    expect(times(dns.calls(), 'listDNSRecords')).toBeLessThanOrEqual(2);
    const before = dns.calls().length;
    await dns.world.clock.advance(5 * MINUTE + 1000);
    expect(dns.calls(before)).toEqual(['listDNSRecords']);
  });

  test('of a thousand records cost at most a call in five minutes while nothing changes', async () => {
    const dns = await standing(
      Object.fromEntries(
        Array.from({ length: 20 }, (_, set) => [`web-${set}`, Array.from({ length: 50 }, (__, index) => `10.0.${set}.${index}`)]),
      ),
    );
    const before = dns.calls().length;
    await dns.world.clock.advance(60 * MINUTE);
    expect(dns.calls(before).length).toBeGreaterThan(10);
    expect(dns.calls(before).length).toBeLessThanOrEqual(12);
  });

  test('are left as they are when no address is left, and when they are deleted', async () => {
    const dns = await standing({ web: [A, B] });
    dns.set('web', []);
    await dns.world.clock.runUntil(() => dns.status('web')?.state === 'in-progress', 1000);
    await dns.world.clock.advance(10 * MINUTE);
    expect(dns.records('web')).toEqual([A, B]);
    dns.set('web', [C]);
    await dns.untilActive('web');
    dns.delete('web');
    await dns.world.clock.advance(20 * MINUTE);
    expect([dns.records('web'), dns.status('web'), dns.zoneOf()]).toEqual([[C], null, null]);
  });

  test('that come back find a zone that had ended', async () => {
    const dns = await standing({ web: [A] });
    dns.delete('web');
    await dns.world.clock.runUntil(() => dns.zoneOf() === null, 20 * MINUTE);
    dns.set('web', [B]);
    await dns.untilActive('web');
    expect(dns.records('web')).toEqual([B]);
  });
});

describe('records that were changed by hand', () => {
  test('are put back at the next verification, deleted ones, changed ones and strange ones', async () => {
    const dns = await standing({ web: [A, B], api: [C] });
    const { cloud } = dns.world.provider;
    const [first] = cloud.zone(ZONE).records.filter(({ name }) => name === 'web');
    if (!first) throw new Error('there is no record');
    cloud.updateRecord(ZONE, { ...first, data: '198.51.100.1', ttlSeconds: 3600 });
    cloud.addRecord(ZONE, { type: 'A', name: 'web', data: '198.51.100.2', ttlSeconds: 60, proxied: false });
    for (const { id, name } of cloud.zone(ZONE).records) if (name === 'api') cloud.deleteRecord(ZONE, id);
    expect([dns.records('web').length, dns.records('api')]).toEqual([3, []]);
    await dns.world.clock.advance(5 * MINUTE + 1000);
    expect([dns.records('web'), dns.records('api')]).toEqual([[A, B], [C]]);
    expect(cloud.zone(ZONE).records.map(({ ttlSeconds }) => ttlSeconds)).toEqual([60, 60, 60]);
    expect(dns.status('web')?.state).toBe('active');
  });

  test('and hidden behind the provider are shown again', async () => {
    const dns = await standing({ web: [A] });
    const { cloud } = dns.world.provider;
    for (const { id } of cloud.zone(ZONE).records) cloud.deleteRecord(ZONE, id);
    cloud.addRecord(ZONE, { type: 'A', name: 'web', data: A, ttlSeconds: 1, proxied: true });
    await dns.world.clock.advance(5 * MINUTE + 1000);
    expect(cloud.zone(ZONE).records).toMatchObject([{ data: A, ttlSeconds: 60, proxied: false }]);
  });
});

describe('a failure', () => {
  test.each<[ErrorKind, number]>([
    ['Unavailable', 1000],
    ['Invalid', MINUTE],
    ['Unauthorized', MINUTE],
    ['Conflict', MINUTE],
    ['Unsupported', MINUTE],
  ])('of a write as %s is shown, and the write is tried again after %i ms', async (error, ms) => {
    const dns = new DNSWorld();
    await dns.lead();
    dns.world.provider.faults.next('createDNSRecord', { kind: 'refuse', error, message: 'no' });
    dns.set('web', [A]);
    await dns.world.clock.runUntil(() => dns.status('web')?.state === 'error', 1000);
    expect(dns.status('web')?.error).toBe('Failed to update DNS: no');
    const passed = await dns.untilActive('web');
    expect(passed).toBeGreaterThanOrEqual(ms - 100);
    expect(passed).toBeLessThan(ms + 1000);
    expect([dns.records('web'), dns.status('web')?.error]).toEqual([[A], undefined]);
  });

  test('of one set does not keep the others from being served', async () => {
    const dns = new DNSWorld();
    await dns.lead();
    dns.set('web', [A], { ttl: 5 });
    dns.set('api', [B]);
    dns.set('app', [C]);
    await dns.untilActive('api', 'app');
    expect(dns.status('web')).toMatchObject({ state: 'error', error: expect.stringContaining('TTL is 30 to 86400 seconds') });
    dns.set('web', [A], { ttl: 30 });
    expect(await dns.untilActive('web')).toBeLessThan(1000);
  });

  test('for want of rights ends the run for all: what one may not write the others may not either', async () => {
    const dns = await standing({ web: [A], api: [B], app: [C] });
    const { cloud, faults } = dns.world.provider;
    for (const { id } of cloud.zone(ZONE).records) cloud.deleteRecord(ZONE, id);
    faults.always('createDNSRecord', { kind: 'refuse', error: 'Unauthorized' });
    const before = dns.calls().length;
    await dns.world.clock.advance(5 * MINUTE + 1000);
    expect(dns.calls(before)).toEqual(['listDNSRecords', 'createDNSRecord']);
    expect(['web', 'api', 'app'].map((name) => dns.status(name)?.state)).toEqual(['error', 'error', 'error']);
  });

  test('because there is no such zone is shown at once and ends when there is one', async () => {
    const dns = new DNSWorld();
    await dns.lead();
    dns.set('web', [A], { zone: 'example.org' });
    await dns.world.clock.runUntil(() => dns.status('web')?.state === 'error', 1000);
    expect(dns.status('web')?.error).toContain('example.org: not found');
    await dns.world.clock.advance(10_000);
    expect(times(dns.calls(), 'listDNSRecords')).toBe(1);
    dns.world.provider.cloud.addZone('example.org');
    await dns.untilActive('web');
    expect(dns.records('web', 'example.org')).toEqual([A]);
  });

  test('because a CNAME has the name touches nothing, and ends with the CNAME', async () => {
    const dns = new DNSWorld();
    const { cloud } = dns.world.provider;
    const id = cloud.addRecord(ZONE, { type: 'CNAME', name: 'web', data: 'example.net', ttlSeconds: 60, proxied: false });
    await dns.lead();
    dns.set('web', [A]);
    dns.set('api', [B]);
    await dns.untilActive('api');
    expect(dns.status('web')?.error).toBe('Failed to update DNS: a CNAME record stands at web.example.com: remove it, or use another name');
    expect(dns.records('web')).toEqual([]);
    cloud.deleteRecord(ZONE, id);
    await dns.untilActive('web');
    expect(dns.records('web')).toEqual([A]);
  });

  test('to list a zone for a moment is nothing to speak of for sets that stand', async () => {
    const dns = await standing({ web: [A] });
    dns.world.provider.faults.next('listDNSRecords', { kind: 'refuse', error: 'Unavailable' }, 3);
    const states = new Set<unknown>();
    const until = dns.world.clock.monotonic() + 6 * MINUTE;
    await dns.world.clock.runUntil(() => {
      states.add(dns.status('web')?.state);
      return dns.world.clock.monotonic() > until;
    }, 10 * MINUTE);
    expect([...states]).toEqual(['active']);
    expect(times(dns.calls(), 'listDNSRecords')).toBeGreaterThan(4);
  });

  test('because of a limit is waited out by the job itself and shown by nobody', async () => {
    const dns = new DNSWorld();
    await dns.lead();
    dns.world.provider.faults.next('createDNSRecord', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 20_000 });
    dns.set('web', [A, B]);
    await dns.world.clock.advance(10_000);
    expect(dns.status('web')?.state).toBe('in-progress');
    const passed = await dns.untilActive('web');
    expect(passed).toBeGreaterThan(9000);
    expect([passed < 12_000, dns.records('web')]).toEqual([true, [A, B]]);
  });

  test.each([
    ['whose answer is lost', { kind: 'loseReply' }, 1],
    ['that is lost on its way', { kind: 'loseRequest' }, 2],
  ] as const)('of a creation %s leaves the record there once', async (_, fault, sent) => {
    const dns = new DNSWorld();
    await dns.lead();
    dns.world.provider.faults.next('createDNSRecord', fault);
    dns.set('web', [A]);
    await dns.untilActive('web');
    await dns.world.clock.advance(6 * MINUTE);
    expect([dns.records('web'), times(dns.calls(), 'createDNSRecord')]).toEqual([[A], sent]);
  });

  test('of a change because the record was deleted meanwhile is made good at once', async () => {
    const dns = await standing({ web: [A] });
    const { cloud, faults } = dns.world.provider;
    for (const { id } of cloud.zone(ZONE).records) cloud.deleteRecord(ZONE, id);
    cloud.addRecord(ZONE, { type: 'A', name: 'web', data: '198.51.100.1', ttlSeconds: 60, proxied: false });
    faults.next('updateDNSRecord', { kind: 'refuse', error: 'NotFound' });
    dns.set('web', [B]);
    expect(await dns.untilActive('web')).toBeLessThan(3000);
    expect(dns.records('web')).toEqual([B]);
  });
});

describe('two claimants of one name', () => {
  test('do not take turns: the older has it, and the newer says who has', async () => {
    const dns = new DNSWorld();
    await dns.lead();
    dns.set('older', [A], { recordName: 'web' });
    dns.set('newer', [B], { recordName: 'WEB.example.com.' });
    await dns.world.clock.runUntil(() => dns.status('newer')?.state === 'error', 1000);
    expect(dns.status('newer')?.error).toBe(
      'Failed to update DNS: web.example.com belongs to NodeDNSRecordSet default/older, which keeps it',
    );
    await dns.world.clock.advance(11 * MINUTE);
    expect([dns.records('web'), times(dns.calls(), 'updateDNSRecord')]).toEqual([[A], 0]);
    dns.delete('older');
    expect(await dns.untilActive('newer')).toBeLessThan(1000);
    expect(dns.records('web')).toEqual([B]);
  });
});

describe('a change of the zone', () => {
  test('publishes in the new one, and leaves the records of the former one alone for good', async () => {
    const dns = await standing({ web: [A] });
    const { cloud } = dns.world.provider;
    cloud.addZone('example.org');
    dns.set('web', [A], { zone: 'example.org' });
    await dns.untilActive('web');
    expect([dns.records('web'), dns.records('web', 'example.org')]).toEqual([[A], [A]]);
    for (const { id } of cloud.zone(ZONE).records) cloud.deleteRecord(ZONE, id);
    await dns.world.clock.advance(15 * MINUTE);
    expect([dns.records('web'), dns.zoneOf()]).toEqual([[], null]);
    expect(dns.zoneOf('example.org')?.state).toBe('Idle');
  });
});
