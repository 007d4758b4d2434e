import { beforeEach, describe, expect, test } from 'vitest';
import type { Json } from '../../../actors/ports/records.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { node, World } from '../../support/world.ts';

const ZONE = 'example.com';
const MINUTE = 60_000;
const [A, B] = ['203.0.113.1', '203.0.113.2'];
/** The machines' own addresses. */
const [MINE, OTHER] = ['198.51.100.1', '198.51.100.2'];

let world: World;

const records = (name = 'web'): readonly string[] => {
  const named = world.provider.cloud.zone(ZONE).records.filter((record) => record.name === name);
  return named.map(({ data }) => data).sort();
};
const untilRecords = (...wanted: readonly string[]): Promise<number> =>
  world.clock.runUntil(() => JSON.stringify(records()) === JSON.stringify(wanted), 30_000);
const changes = (): number => world.provider.writes().filter(({ verb }) => verb.includes('DNS')).length;
const problem = (ref: ObjectRef) => world.cluster.conditions(ref).find(({ type }) => type === 'Degraded');
const untilConflict = (ref: ObjectRef): Promise<number> => world.clock.runUntil(() => problem(ref)?.reason === 'RecordConflict', 30_000);
const set = (name: string, change: { readonly [field: string]: Json } = {}): ObjectRef => {
  const dnsRecordSet = { zone: ZONE, recordName: 'web', ...(change.record as object) };
  const match = change.match ?? { nodeLabel: `pool=${name}` };
  return world.cluster.setPool({ kind: 'NodeDNSRecordSet', name, spec: { match, dnsRecordSet } as Json });
};
const machine = (name: string, address: string, ready = true) =>
  node(name, { labels: { pool: name }, externalIPs: [address] as never, ready });
/** The older one publishes www, the younger one web. */
async function published() {
  world.nodes(machine('mine', MINE), machine('other', OTHER));
  const other = set('other', { record: { recordName: 'www' } });
  const mine = set('mine');
  await world.start();
  const isActive = (ref: ObjectRef) => (world.cluster.pool(ref)?.status as { readonly state?: string } | null)?.state === 'active';
  await world.clock.runUntil(() => isActive(mine) && isActive(other), 30_000);
  return { mine, other };
}
/** Another process leads, with the records or without. */
async function again(forgets: boolean): Promise<void> {
  for (const process of world.processes) process.kill();
  if (forgets) {
    world.store.wipe();
    world.queues.wipe();
  }
  await world.start();
  await world.clock.advance(2 * MINUTE);
}

beforeEach(() => {
  world = new World();
  world.provider.cloud.addZone(ZONE);
});

describe('whoever publishes a name keeps it', () => {
  test.each(['web', 'WEB.example.com.'])(
    'when an older one asks for it later, as %s: that one says whose it is, and the holder is not disturbed',
    async (recordName) => {
      const { mine, other } = await published();
      const [before, status] = [changes(), world.cluster.pool(mine)?.status];
      set('other', { record: { recordName } });
      await untilConflict(other);
      expect(problem(other)?.message).toBe(
        'Failed to update DNS: web.example.com belongs to NodeDNSRecordSet default/mine, which keeps it',
      );
      await world.clock.advance(12 * MINUTE);
      expect([records(), changes(), world.cluster.pool(mine)?.status]).toEqual([[MINE], before, status]);
    },
  );

  test('with the records of another leader, and without them', async () => {
    const { other } = await published();
    set('other');
    await untilConflict(other);
    const before = changes();
    for (const forgets of [false, true]) {
      await again(forgets);
      expect([forgets, records(), changes(), problem(other)?.reason]).toEqual([forgets, [MINE], before, 'RecordConflict']);
    }
  });

  test('when it was asked for while nobody led, whether there are records or not', async () => {
    for (const forgets of [false, true]) {
      world = new World();
      world.provider.cloud.addZone(ZONE);
      const { other } = await published();
      for (const process of world.processes) process.kill();
      set('other');
      await again(forgets);
      expect([forgets, records(), problem(other)?.reason]).toEqual([forgets, [MINE], 'RecordConflict']);
    }
  });

  test('while it has no address to publish', async () => {
    const { other } = await published();
    world.cluster.setNode(machine('mine', MINE, false));
    await world.clock.advance(5_000);
    set('other');
    await untilConflict(other);
    await world.clock.advance(2 * MINUTE);
    expect(records()).toEqual([MINE]);
  });

  test('when its addresses change, and when the provider is away meanwhile', async () => {
    const { mine, other } = await published();
    world.provider.faults.always('listDNSRecords', { kind: 'refuse', error: 'Unavailable' });
    world.cluster.setNode(machine('mine', A));
    await world.clock.runUntil(() => problem(mine)?.status === 'True', MINUTE);
    set('other');
    await untilConflict(other);
    world.provider.faults.clear();
    await world.clock.runUntil(() => records().join() === A, 10 * MINUTE);
  });

  test('when an edit makes it invalid', async () => {
    const { mine, other } = await published();
    set('mine', { match: { nodeLabel: 'pool in (' } });
    await world.clock.runUntil(() => problem(mine)?.reason === 'InvalidSpec', 30_000);
    set('other');
    await untilConflict(other);
    await world.clock.advance(12 * MINUTE);
    expect(records()).toEqual([MINE]);
  });

  test('until it takes another name, or goes', async () => {
    const { other } = await published();
    set('other');
    await untilConflict(other);
    set('mine', { record: { recordName: 'www' } });
    await untilRecords(OTHER);
    await world.clock.runUntil(() => records('www').join() === MINE, 30_000);
    world.cluster.removePool(other);
    set('mine');
    await untilRecords(MINE);
  });

  test('but not one that was deleted and made again under its name', async () => {
    const { mine, other } = await published();
    set('other');
    await untilConflict(other);
    world.cluster.removePool(mine);
    const anew = set('mine');
    await untilRecords(OTHER);
    await untilConflict(anew);
  });

  test('also against a pool, and a pool against others', async () => {
    const { mine } = await published();
    world.nodes(node('a'), node('b'));
    const ips = [world.address(A)];
    const ingress = world.pool('ingress', { ips, dnsRecordSet: { zone: ZONE, recordName: 'web' } });
    await untilConflict(ingress);
    expect(records()).toEqual([MINE]);
    world.cluster.removePool(mine);
    await untilRecords(A);
    const next = set('mine');
    await untilConflict(next);
    expect(problem(next)?.message).toContain('belongs to FloatingIPPool default/ingress, which keeps it');
    await again(true);
    expect([records(), problem(next)?.reason, problem(ingress)?.status]).toEqual([[A], 'RecordConflict', 'False']);
  });

  test('a pool names another pool with its kind', async () => {
    world.nodes(node('a'), node('b'));
    const record = { dnsRecordSet: { zone: ZONE, recordName: 'web' } };
    world.pool('one', { ips: [world.address(A)], ...record });
    const two = world.pool('two', { ips: [world.address(B)], ...record });
    await world.start();
    await untilRecords(A);
    await untilConflict(two);
    expect(problem(two)?.message).toContain('belongs to FloatingIPPool default/one, which keeps it');
  });
});

describe('among those who publish nothing under a name', () => {
  test('the oldest that is valid has it', async () => {
    world.nodes(machine('mine', MINE), machine('other', OTHER));
    const invalid = set('invalid', { match: { nodeLabel: 'pool in (' } });
    const other = set('other');
    const mine = set('mine');
    await world.start();
    await untilRecords(OTHER);
    await untilConflict(mine);
    expect([problem(invalid)?.reason, problem(other)?.status]).toEqual(['InvalidSpec', 'False']);
  });
});
