import { beforeEach, describe, expect, test } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, World } from '../../support/world.ts';

const ZONE = 'example.com';
const [A, B, C] = ['203.0.113.1', '203.0.113.2', '203.0.113.3'];
const RECORD = { dnsRecordSet: { zone: ZONE, recordName: 'web' } };

let world: World;

const records = (name = 'web'): readonly string[] =>
  world.provider.cloud
    .zone(ZONE)
    .records.filter((record) => record.name === name)
    .map(({ data }) => data)
    .sort();
const changes = (): readonly string[] =>
  world.provider
    .writes()
    .filter(({ verb }) => verb.includes('DNS'))
    .map(({ verb }) => verb);
const untilRecords = (...wanted: readonly string[]): Promise<number> =>
  world.clock.runUntil(() => JSON.stringify(records()) === JSON.stringify(wanted), 30_000);
const condition = (ref: ObjectRef, type: string) => world.cluster.conditions(ref).find((one) => one.type === type);

/** Three nodes, two addresses on nothing, and a pool of them that is published as web.example.com. */
async function published(): Promise<ObjectRef> {
  world.nodes(node('a'), node('b'), node('c'));
  const ips = [world.address(A), world.address(B)];
  const ref = world.pool('ingress', { ips, ...RECORD });
  await world.start();
  await untilRecords(A, B);
  return ref;
}

beforeEach(() => {
  world = new World();
  world.provider.cloud.addZone(ZONE);
});

describe('the record set of a pool', () => {
  test('lists its active addresses, and no other', async () => {
    const ref = await published();
    expect(world.states(ref)).toEqual({ [A]: 'active', [B]: 'active' });
    expect(world.log.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  test('is left alone by a failover that ends within seconds', async () => {
    await published();
    const before = changes().length;
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'c');
    await world.clock.advance(10_000);
    expect(records()).toEqual([A, B]);
    expect(changes().length).toBe(before);
  });

  test('loses an address that has no node any more, and gets it back', async () => {
    await published();
    for (const name of ['a', 'c']) world.cluster.setNode(node(name, { ready: false }));
    await untilRecords(B);
    world.cluster.setNode(node('c'));
    await untilRecords(A, B);
  });

  test('lists an address as long as it stands on a node that may hold it, also while another node refuses it', async () => {
    const ref = await published();
    const before = changes().length;
    world.provider.faults.always('assignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    world.cluster.annotate(ref, { 'routedip.io/move-to': `${A}=c` });
    await world.clock.runUntil(() => world.states(ref)[A] === 'error', 30_000);
    await world.clock.advance(30_000);
    expect([records(), changes().length, world.cluster.annotations()]).toEqual([[A, B], before, { a: A, b: B }]);
    world.cluster.setNode(node('a', { ready: false }));
    await untilRecords(B);
    expect(world.cluster.annotations()).toEqual({ b: B });
  });

  test('lists an address that is to leave its node, and that no other one takes, also when all records are lost', async () => {
    await published();
    const before = changes().length;
    world.provider.faults.always('assignRoutedIP', { kind: 'refuse', error: 'Invalid' });
    for (const process of world.processes) process.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    world.cluster.setNode(node('a', { evacuating: true }));
    await world.start();
    await world.clock.advance(60_000);
    expect([world.assigns().length > 2, records(), changes().length, world.cluster.annotations()]).toEqual([
      true,
      [A, B],
      before,
      { a: A, b: B },
    ]);
  });

  test('is never made empty', async () => {
    const ref = await published();
    for (const name of ['a', 'b', 'c']) world.cluster.setNode(node(name, { ready: false }));
    await world.clock.runUntil(() => condition(ref, 'Degraded')?.status === 'True', 30_000);
    await world.clock.advance(60_000);
    expect(records()).toEqual([A, B]);
  });

  test('is not touched by a new leader that has not heard of every address yet, with the records or without', async () => {
    await published();
    const before = changes().length;
    for (const forgets of [false, true]) {
      for (const process of world.processes) process.kill();
      if (forgets) {
        world.store.wipe();
        world.queues.wipe();
        world.invariants.forget();
      }
      await world.start();
      await world.clock.advance(60_000);
      expect([forgets, records(), changes().length]).toEqual([forgets, [A, B], before]);
    }
  });

  test('follows the spec: another name, another zone, none; what was published under the former one stays', async () => {
    await published();
    world.provider.cloud.addZone('example.org');
    world.pool('ingress', { ips: [A, B], dnsRecordSet: { zone: 'example.org', recordName: 'www' } });
    await world.clock.runUntil(() => world.provider.cloud.zone('example.org').records.length === 2, 30_000);
    expect(records()).toEqual([A, B]);
    const before = changes().length;
    world.pool('ingress', { ips: [A, B] });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(10 * 60_000);
    expect(changes().length).toBe(before);
  });

  test('of a deleted pool stays, and its name is free for another', async () => {
    const ref = await published();
    world.cluster.removePool(ref);
    await world.clock.advance(10_000);
    expect(records()).toEqual([A, B]);
    world.address(C);
    world.pool('other', { ips: [C], ...RECORD });
    await untilRecords(C);
  });

  test('that cannot be written is told in a condition and an Event, and everything else goes on', async () => {
    world.nodes(node('a'));
    const ref = world.pool('ingress', { ips: [world.address(A)], dnsRecordSet: { zone: 'unknown.example', recordName: 'web' } });
    await world.start();
    await world.clock.runUntil(() => condition(ref, 'Degraded')?.status === 'True', 30_000);
    expect(condition(ref, 'Degraded')?.message).toContain('unknown.example');
    expect([world.states(ref), condition(ref, 'Ready')?.status]).toEqual([{ [A]: 'active' }, 'True']);
    expect(world.status(ref)).not.toHaveProperty('error');
    const told = world.cluster.projections.flatMap(({ events }) => events).filter(({ type }) => type === 'Warning');
    expect(told.map(({ message }) => message).join()).toContain('unknown.example');
  });

  test('that an older pool claims is left to it, and the newer one says so', async () => {
    const ref = await published();
    world.address(C);
    const newer = world.pool('newer', { ips: [C], ...RECORD });
    await world.clock.runUntil(() => condition(newer, 'Degraded')?.status === 'True', 30_000);
    expect(condition(newer, 'Degraded')?.message).toContain('default/ingress');
    expect([records(), condition(ref, 'Degraded')?.status]).toEqual([[A, B], 'False']);
  });
});

describe('a NodeDNSRecordSet', () => {
  const external = (name: string, address: string) => node(name, { externalIPs: [address] as never });
  const set = (spec = {}): ObjectRef =>
    world.cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'nodes', spec: { match: { nodeLabel: 'pool=work' }, ...RECORD, ...spec } });
  const state = (ref: ObjectRef) => (world.cluster.pool(ref)?.status as { state?: string; error?: string } | undefined) ?? {};

  test('lists the addresses of its nodes, and follows them', async () => {
    world.nodes(external('a', A), external('b', B));
    const ref = set();
    await world.start();
    await untilRecords(A, B);
    await world.clock.runUntil(() => state(ref).state === 'active', 5_000);
    world.cluster.setNode(external('b', C));
    await untilRecords(A, C);
    world.cluster.setNode(node('a', { ready: false, externalIPs: [A] as never }));
    await untilRecords(C);
  });

  test('publishes what pools have annotated', async () => {
    world.nodes(node('a'), node('b'));
    world.pool('ingress', { ips: [world.address(C)] });
    set({ addressType: 'flipop.digitalocean.com/ipv4-reserved-ip' });
    await world.start();
    await untilRecords(C);
  });

  test('is taken over by another process, with the records or without, and nothing is written', async () => {
    world.nodes(external('a', A));
    const ref = set();
    await world.start();
    await world.clock.runUntil(() => state(ref).state === 'active', 30_000);
    const before = changes().length;
    for (const process of world.processes) process.kill();
    world.store.wipe();
    world.queues.wipe();
    await world.start();
    await world.clock.runUntil(() => world.processes.some(({ supervisor }) => supervisor.leading), 60_000);
    await world.clock.advance(60_000);
    expect([changes().length, state(ref).state, records()]).toEqual([before, 'active', [A]]);
  });

  test('of the same name as a pool is another object', async () => {
    world.nodes(external('a', A), external('b', B));
    const pool = world.pool('nodes', { ips: [world.address(C)] });
    const ref = set();
    await world.start();
    await world.clock.runUntil(() => state(ref).state === 'active' && world.states(pool)[C] === 'active', 30_000);
    world.cluster.removePool(ref);
    await world.clock.advance(10_000);
    expect([records(), world.states(pool)]).toEqual([[A, B], { [C]: 'active' }]);
  });

  test('with an invalid spec says so, and keeps what is published', async () => {
    world.nodes(external('a', A));
    const ref = set();
    await world.start();
    await untilRecords(A);
    set({ dnsRecordSet: { zone: ZONE } });
    await world.clock.runUntil(() => state(ref).state === 'error', 5_000);
    expect(state(ref).error).toBe('invalid dnsRecordSet specification');
    world.cluster.setNode(external('a', B));
    await world.clock.advance(10_000);
    expect(records()).toEqual([A]);
    set();
    await untilRecords(B);
  });
});
