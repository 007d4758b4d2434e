import { describe, expect } from 'vitest';
import { aways, redisGoes, redisReturns } from '../../support/away-crash.ts';
import { withoutHands } from '../../support/replicas.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const ZONE = 'example.com';
const [A, B] = ['203.0.113.1', '203.0.113.2'];
const SECOND = 1000;

const records = (world: World): readonly string[] =>
  world.provider.cloud
    .zone(ZONE)
    .records.filter(({ name }) => name === 'web')
    .map(({ data }) => data)
    .sort();
const changes = (world: World): number => world.provider.writes().filter(({ verb }) => verb.includes('DNS')).length;
const untilRecords = (world: World, ...wanted: readonly string[]): Promise<number> =>
  world.clock.runUntil(() => JSON.stringify(records(world)) === JSON.stringify(wanted), 60 * SECOND);

describe('the record set of a pool while Redis is away', () => {
  test('gets what is missing, and keeps what should go until Redis is back', async ({ open }) => {
    const world = open({ away: true });
    world.provider.cloud.addZone(ZONE);
    world.nodes(node('a'), node('b'));
    world.pool('ingress', { ips: [world.address(A), world.address(B)], dnsRecordSet: { zone: ZONE, recordName: 'web' } });
    await world.start();
    await untilRecords(world, A, B);
    world.cluster.setNode(node('a', { ready: false }));
    await untilRecords(world, B);
    redisGoes(world);
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    world.cluster.setNode(node('a'));
    await untilRecords(world, A, B);
    const before = changes(world);
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(120 * SECOND);
    expect([records(world), changes(world)]).toEqual([[A, B], before]);
    redisReturns(world);
    await untilRecords(world, B);
    expect(changes(world)).toBe(before + 1);
  });

  test('is looked at once a replica without a view of the Lease can change it no more', async ({ open }) => {
    const world = open({ away: true });
    world.provider.cloud.addZone(ZONE);
    world.nodes(node('a'), node('b'));
    world.pool('ingress', { ips: [world.address(A), world.address(B)], dnsRecordSet: { zone: ZONE, recordName: 'web' } });
    const first = await withoutHands(world, () => world.start());
    const second = await world.start();
    await untilRecords(world, A, B);
    await world.clock.advance(20 * SECOND);
    const lists = (): number => world.provider.calls.filter(({ verb }) => verb === 'listDNSRecords').length;
    const before = lists();
    world.provider.faults.next('listDNSRecords', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 11 * SECOND });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => lists() > before, 5 * SECOND);
    await world.clock.advance(100);
    first.store.cut();
    second.lease.cut();
    await world.clock.runUntil(() => aways(world) === 1, 5 * SECOND);
    world.cluster.setNode(node('a'));
    await world.clock.advance(5 * SECOND);
    expect(records(world)).toEqual([A, B]);
    await untilRecords(world, B);
    await untilRecords(world, A, B);
    first.store.mend();
    second.lease.mend();
    await world.clock.advance(60 * SECOND);
    expect([records(world), first.supervisor.withoutStore()]).toEqual([[A, B], null]);
  });
});
