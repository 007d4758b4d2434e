import { describe, expect } from 'vitest';
import type { ActorRecord, Json } from '../../actors/ports/records.ts';
import type { Chart, Charts, StoredSnapshot } from '../../actors/runtime/charts.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import { allActive, creates } from '../actors/pool/creation-steps.ts';
import { asFlipopKeeps } from '../support/flipop-statuses.ts';
import { test } from '../support/sound.ts';
import { node, type OperatorProcess, type World } from '../support/world.ts';

const ADDRESS = '203.0.113.7';
const POOL = 'pool/default/ingress';
const ACTOR = `${POOL}/ip/${ADDRESS}`;
const SET_ASIDE = 'stored records are set aside and rebuilt from the status and the provider';

type Change = (record: ActorRecord) => ActorRecord;

/** Writes a record of a cell as another program would have left it, while no process runs. */
async function rewrite({ store }: World, actor: string, change: Change): Promise<void> {
  const record = (await store.load(POOL))?.records[actor];
  const { term } = await store.state();
  if (!record || term === null) throw new Error(`${actor} is not stored`);
  const changed = { ...change(record), version: record.version + 1 };
  const saved = await store.save({
    cell: POOL,
    term,
    records: [{ actor, expected: record.version, record: changed }],
    outbox: { add: [], clear: [] },
    claims: { take: [], free: [] },
    seen: {},
    journal: [],
  });
  if (saved.kind !== 'saved') throw new Error(`could not rewrite ${actor}: ${saved.kind}`);
}

/** An address that a pool holds on node `a`; the process that led has ended. */
async function stopped(world: World): Promise<ObjectRef> {
  world.nodes(node('a'), node('b'));
  world.address(ADDRESS, 'a');
  const ref = world.pool('ingress', { ips: [ADDRESS] });
  const first = await world.start();
  await world.untilStates(ref, { [ADDRESS]: 'active' });
  await first.stop();
  return ref;
}

/** The next process leads, the address is active where it was, and a failover works. */
async function expectGoesOn(world: World, ref: ObjectRef): Promise<void> {
  const next: OperatorProcess = await world.start();
  await world.clock.runUntil(() => next.supervisor.leading, 30_000);
  await world.clock.advance(20_000);
  expect([world.states(ref), world.assigns()]).toEqual([{ [ADDRESS]: 'active' }, []]);
  world.cluster.setNode(node('a', { ready: false }));
  await world.untilOn(ADDRESS, 'b');
  await world.untilStates(ref, { [ADDRESS]: 'active' });
  next.kill();
}

const setAside = (world: World) => world.log.filter(({ message }) => message === SET_ASIDE).map(({ fields }) => fields);
const without =
  (field: string): Change =>
  (record) => {
    const { [field]: _, ...context } = record.snapshot.context as { readonly [field: string]: Json };
    return { ...record, snapshot: { ...record.snapshot, context } };
  };
const having =
  (change: { readonly [field: string]: Json }): Change =>
  (record) => ({ ...record, snapshot: { ...record.snapshot, context: { ...(record.snapshot.context as object), ...change } } });
const inState =
  (value: Json): Change =>
  (record) => ({ ...record, snapshot: { ...record.snapshot, value } });

describe('records that this program cannot read', () => {
  test.for<[string, string, Change, string]>([
    ['are in a state that it does not know', ACTOR, inState({ Stable: 'Keeping' }), `${ACTOR}: ip has no state {"Stable":"Keeping"}`],
    ['are of an older version', POOL, (record) => ({ ...record, chartVersion: 0 }), `${POOL}: pool is at version 0, this program knows 1`],
    ['are of a newer version', ACTOR, (record) => ({ ...record, chartVersion: 9 }), `${ACTOR}: ip is at version 9, this program knows 1`],
    ['lack a field', ACTOR, without('policy'), `${ACTOR}: ip cannot go on with policy as it is stored`],
    ['have a list for a map', POOL, having({ members: [ADDRESS] }), `${POOL}: pool cannot go on with members as it is stored`],
    ['have a text for a number', ACTOR, having({ epoch: '1' }), `${ACTOR}: ip cannot go on with epoch as it is stored`],
    [
      'lack a part of a field',
      POOL,
      having({ acquiring: { intending: false, intent: null } }),
      `${POOL}: pool cannot go on with acquiring.inDoubtUntil as it is stored`,
    ],
    ['have nothing for a map', POOL, having({ backOff: null }), `${POOL}: pool cannot go on with backOff as it is stored`],
    [
      'have what nobody could read',
      POOL,
      having({ members: [], remembered: { [ADDRESS]: null } }),
      `${POOL}: pool cannot go on with members as it is stored`,
    ],
    ['are of a chart that it does not have', ACTOR, (record) => ({ ...record, chart: 'ipv8' }), `${ACTOR}: no chart is named ipv8`],
  ])('%s: they are set aside, and rebuilt without a move', async ([, actor, change, why], { open }) => {
    const world = open();
    const ref = await stopped(world);
    await rewrite(world, actor, change);
    expect(setAside(world)).toEqual([]);
    await expectGoesOn(world, ref);
    expect(setAside(world)).toEqual([{ cell: POOL, message: why }]);
  });

  test('cost their own cell a rebuild, and no other one anything', async ({ open }) => {
    const world = open();
    await stopped(world);
    const other = world.pool('other', { ips: [world.address('203.0.113.9', 'e')], match: { nodeLabel: 'pool=other' } });
    world.nodes(node('e', { labels: { pool: 'other' } }));
    const second = await world.start();
    await world.untilStates(other, { '203.0.113.9': 'active' });
    await second.stop();
    const before = (await world.store.load('pool/default/other'))?.records;
    await rewrite(world, ACTOR, without('policy'));
    const third = await world.start();
    await world.clock.runUntil(() => third.supervisor.leading, 30_000);
    const shared = ({ snapshot }: ActorRecord) => (snapshot.context as { readonly since?: number; readonly epoch?: number }).epoch;
    const epochs = (records: typeof before) => Object.values(records ?? {}).map(shared);
    await world.clock.advance(20_000);
    expect(epochs((await world.store.load('pool/default/other'))?.records)).toEqual(epochs(before));
    expect(setAside(world)).toEqual([expect.objectContaining({ cell: POOL })]);
    expect(world.log.findLast(({ message }) => message === 'leads')?.fields).toMatchObject({ begins: 'continue', cells: 3 });
    expect(world.assigns()).toEqual([]);
    third.kill();
  });

  test.for([
    ['of the pool', POOL, inState('Elsewhere')],
    ['of an address', ACTOR, without('policy')],
  ] as const)(
    'keep the creation that was under way, of which the status does not tell, when it is those %s',
    async ([, actor, change], { open }) => {
      const world = open();
      asFlipopKeeps(world);
      world.nodes(node('a'), node('b'));
      world.address(ADDRESS, 'a');
      const ref = world.pool('ingress', { ips: [ADDRESS] });
      const first = await world.start();
      await world.clock.runUntil(allActive(world, ref, 1), 30_000);
      world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 5_000 });
      world.pool('ingress', { ips: [ADDRESS], desiredIPs: 2 });
      await world.clock.runUntil(() => creates(world).length === 1, 10_000);
      first.kill();
      world.invariants.forget();
      await rewrite(world, actor, change);
      const next = await world.start();
      await world.clock.runUntil(allActive(world, ref, 2), 120_000);
      await world.clock.advance(60_000);
      expect([setAside(world).length, creates(world).length, world.provider.cloud.addresses().length]).toEqual([1, 1, 2]);
      next.kill();
    },
  );

  test('keep the assign that was under way, of which the status does not tell', async ({ open }) => {
    const world = open();
    asFlipopKeeps(world);
    world.nodes(node('a'), node('b'), node('c'));
    world.address(ADDRESS, 'a');
    const ref = world.pool('ingress', { ips: [ADDRESS] });
    const first = await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 30_000);
    await world.clock.advance(20_000);
    world.cluster.lag();
    world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 14_900 });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.runUntil(() => world.assigns().length === 1, 1_000);
    first.kill();
    world.lease.delete();
    world.invariants.forget();
    await rewrite(world, ACTOR, without('policy'));
    world.cluster.setNode(node('b', { ready: false }));
    const next = await world.start();
    await world.untilOn(ADDRESS, 'c', 60_000);
    await world.clock.advance(60_000);
    expect([setAside(world).length, world.assigns().map(({ what }) => what), world.holderOf(ADDRESS)]).toEqual([
      1,
      [`${ADDRESS} → b`, `${ADDRESS} → c`],
      'c',
    ]);
    const [sent, again] = world.assigns();
    expect((again?.at ?? 0) - (sent?.at ?? 0)).toBeGreaterThanOrEqual(14_900);
    next.kill();
  });

  test('are what it takes: others are left as they are', async ({ open }) => {
    const world = open();
    const ref = await stopped(world);
    await rewrite(world, ACTOR, (record) => record);
    await expectGoesOn(world, ref);
    expect(setAside(world)).toEqual([]);
  });
});

describe('records of an older version', () => {
  /** A program that knows addresses at version 2 and says how those of version 1 are to be read. */
  const migrating =
    (migrate: NonNullable<Chart['migrate']>) =>
    (charts: Charts): Charts => ({ ...charts, ip: { ...(charts.ip as Chart), version: 2, migrate } });
  const older: Change = (record) => ({ ...inState({ Stable: 'Keeping' })(record), chartVersion: 1 });
  const moved = ({ context }: StoredSnapshot, version: number): StoredSnapshot | null =>
    version === 1 ? { value: { Stable: 'Holding' }, context } : null;

  test('are taken over where a migration says how', async ({ open }) => {
    const world = open({ spoil: migrating(moved) });
    const ref = await stopped(world);
    await rewrite(world, ACTOR, older);
    await expectGoesOn(world, ref);
    expect(setAside(world)).toEqual([]);
    expect((await world.store.load(POOL))?.records[ACTOR]).toMatchObject({ chartVersion: 2, snapshot: { value: { Stable: 'Holding' } } });
  });

  test('are set aside where the migration fails', async ({ open }) => {
    const failing = () => {
      throw new Error('no such field');
    };
    const world = open({ spoil: migrating(failing) });
    const ref = await stopped(world);
    await rewrite(world, ACTOR, older);
    await expectGoesOn(world, ref);
    expect(setAside(world)).toEqual([{ cell: POOL, message: `${ACTOR}: Error: no such field` }]);
  });

  test('are set aside where the migration gives up', async ({ open }) => {
    const world = open({ spoil: migrating(() => null) });
    const ref = await stopped(world);
    await rewrite(world, ACTOR, older);
    await expectGoesOn(world, ref);
    expect(setAside(world)).toEqual([{ cell: POOL, message: `${ACTOR}: ip is at version 1, this program knows 2` }]);
  });
});

describe('replicas of two versions', () => {
  /** A program of version 2, which reads what one of version 1 has stored. */
  const newer = (charts: Charts): Charts => ({
    ...charts,
    ip: { ...(charts.ip as Chart), version: 2, migrate: (snapshot, version) => (version === 1 ? snapshot : null) },
  });

  test('take over from one another on the way up and back: each goes on where it is, also with a node that failed meanwhile', async ({
    open,
  }) => {
    let isNew = false;
    const world = open({ spoil: (charts) => (isNew ? newer(charts) : charts) });
    world.nodes(node('a'), node('b'));
    world.address(ADDRESS, 'a');
    const ref = world.pool('ingress', { ips: [ADDRESS] });
    const starting = (version: 1 | 2): Promise<OperatorProcess> => {
      isNew = version === 2;
      return world.start();
    };
    const versions = async () =>
      Object.values((await world.store.load(POOL))?.records ?? {})
        .map(({ chart, chartVersion }) => `${chart} ${chartVersion}`)
        .sort();
    /** The process that leads ends, and the other one has taken over. */
    const handOver = async (from: OperatorProcess, to: OperatorProcess): Promise<void> => {
      expect(from.supervisor.leading).toBe(true);
      await from.stop();
      await world.clock.runUntil(() => to.supervisor.leading, 60_000);
      await world.clock.advance(20_000);
    };
    const old = await starting(1);
    await world.untilStates(ref, { [ADDRESS]: 'active' });
    expect(await versions()).toEqual(['ip 1', 'pool 1']);

    const update = await starting(2);
    await handOver(old, update);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(ADDRESS, 'b');
    await world.untilStates(ref, { [ADDRESS]: 'active' });
    expect([await versions(), setAside(world)]).toEqual([['ip 2', 'pool 1'], []]);

    const downgrade = await starting(1);
    world.cluster.setNode(node('a'));
    await handOver(update, downgrade);
    expect([await versions(), setAside(world)]).toEqual([
      ['ip 1', 'pool 1'],
      [{ cell: POOL, message: `${ACTOR}: ip is at version 2, this program knows 1` }],
    ]);
    expect([world.states(ref), world.assigns().map(({ what }) => what)]).toEqual([{ [ADDRESS]: 'active' }, [`${ADDRESS} → b`]]);
    world.cluster.setNode(node('b', { ready: false }));
    await world.untilOn(ADDRESS, 'a');
    await world.untilStates(ref, { [ADDRESS]: 'active' });
    expect(world.assigns()).toHaveLength(2);
    downgrade.kill();
  });
});
