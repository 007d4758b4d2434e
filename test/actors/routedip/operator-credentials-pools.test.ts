import { describe, expect, test } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { expectSound } from '../../support/sound.ts';
import { node, PROVIDER, World, type WorldOptions } from '../../support/world.ts';

const MINUTE = 60_000;
const ZONE = 'example.com';
const [A, B] = ['203.0.113.1', '203.0.113.2'] as const;
const NOT_ALLOWED = 'OperatorCredentialsNotAllowed';
const OPEN = { 'routedip.io/allow-operator-credentials': 'true' };

const confinedTo = (...operatorCredentials: readonly string[]): WorldOptions => ({ settings: { operatorCredentials } });

function prepared(options: WorldOptions): World {
  const world = new World(options);
  world.nodes(node('a', { externalIPs: ['198.51.100.1'] } as never), node('b', { externalIPs: ['198.51.100.2'] } as never));
  world.address(A, 'a');
  world.provider.cloud.addZone(ZONE);
  world.namespaces.set('web', {});
  return world;
}

const setPool = (world: World, change = {}): ObjectRef =>
  world.cluster.setPool({
    namespace: 'web',
    name: 'ingress',
    spec: { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: [A], ...change },
  });

const setRecords = (world: World): ObjectRef =>
  world.cluster.setPool({
    kind: 'NodeDNSRecordSet',
    namespace: 'web',
    name: 'nodes',
    spec: { match: { nodeLabel: 'pool=work' }, dnsRecordSet: { zone: ZONE, recordName: 'nodes' } },
  });

const reasonOf = (world: World, ref: ObjectRef, type = 'Degraded') =>
  world.cluster.conditions(ref).find((condition) => condition.type === type)?.reason;
const untilReason = (world: World, ref: ObjectRef, reason: string, type?: string) =>
  world.clock.runUntil(() => reasonOf(world, ref, type) === reason, MINUTE);
const told = (world: World, ref: ObjectRef): readonly string[] =>
  world.cluster.projections.filter((each) => each.ref.uid === ref.uid).flatMap(({ events }) => events.map(({ reason }) => reason));
const written = (world: World): readonly string[] => world.provider.writes().map(({ verb }) => verb);

describe('a FloatingIPPool and a NodeDNSRecordSet', () => {
  test('are served in every namespace as long as nothing is said of the operator’s credentials, without a look at Namespaces', async () => {
    const world = prepared({});
    world.namespaces.cut();
    await world.start();
    const [pool, records] = [setPool(world), setRecords(world)];
    await world.untilStates(pool, { [A]: 'active' });
    await untilReason(world, records, 'Published', 'Ready');
    expectSound(world);
  });

  test.each([[[]], [['other']]])('are refused in a namespace that is not among %o, and say so, until it is opened', async (named) => {
    const world = prepared(confinedTo(...named));
    await world.start();
    const [pool, records] = [setPool(world), setRecords(world)];
    for (const ref of [pool, records]) {
      await untilReason(world, ref, NOT_ALLOWED);
      expect(reasonOf(world, ref, 'Ready')).toBe(NOT_ALLOWED);
      expect(told(world, ref)).toContain(NOT_ALLOWED);
    }
    expect(world.status(pool).error).toContain('kubectl label namespace web routedip.io/allow-operator-credentials=true');
    await world.clock.advance(5 * MINUTE);
    expect(written(world)).toEqual([]);
    world.namespaces.set('web', OPEN);
    await world.untilStates(pool, { [A]: 'active' });
    await untilReason(world, records, 'Published', 'Ready');
    expectSound(world);
  });

  test.each(['web', '*'])('are served where %s is named, without a look at Namespaces', async (named) => {
    const world = prepared(confinedTo(named));
    world.namespaces.cut();
    await world.start();
    const [pool, records] = [setPool(world), setRecords(world)];
    await world.untilStates(pool, { [A]: 'active' });
    await untilReason(world, records, 'Published', 'Ready');
  });

  test('leave what they have where it is when their namespace is closed, and go on when it is open again', async () => {
    const world = prepared(confinedTo());
    world.namespaces.set('web', OPEN);
    await world.start();
    const [pool, records] = [setPool(world), setRecords(world)];
    await world.untilStates(pool, { [A]: 'active' });
    await untilReason(world, records, 'Published', 'Ready');
    world.namespaces.set('web', {});
    for (const ref of [pool, records]) await untilReason(world, ref, NOT_ALLOWED);
    const before = written(world).length;
    world.cluster.setNode({ ...node('a'), ready: false });
    await world.clock.advance(10 * MINUTE);
    expect(written(world).slice(before)).toEqual([]);
    expect(world.holderOf(A)).toBe('a');
    world.namespaces.set('web', OPEN);
    await world.untilOn(A, 'b', MINUTE);
    await world.untilStates(pool, { [A]: 'active' });
    expectSound(world);
  });

  test('delete nothing when they are deleted after that', async () => {
    const world = prepared(confinedTo());
    world.namespaces.set('web', OPEN);
    await world.start();
    const pool = setPool(world);
    await world.untilStates(pool, { [A]: 'active' });
    world.namespaces.set('web', {});
    await untilReason(world, pool, NOT_ALLOWED);
    const before = written(world).length;
    world.cluster.removePool(pool);
    await world.clock.advance(MINUTE);
    expect(written(world).slice(before)).toEqual([]);
    expect(world.holderOf(A)).toBe('a');
  });

  test('go on while the labels cannot be read, once they are served; others wait', async () => {
    const world = prepared(confinedTo());
    world.namespaces.set('web', OPEN);
    const process = await world.start();
    const pool = setPool(world);
    await world.untilStates(pool, { [A]: 'active' });
    process.kill();
    world.namespaces.cut();
    await world.start();
    world.address(B);
    const other = world.cluster.setPool({
      namespace: 'web',
      name: 'other',
      spec: { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: [B] },
    });
    await untilReason(world, other, NOT_ALLOWED);
    expect(world.status(other).error).toContain('it cannot be told');
    world.cluster.setNode({ ...node('a'), ready: false });
    await world.untilOn(A, 'b', 2 * MINUTE);
    world.namespaces.mend();
    await world.clock.runUntil(() => !(world.status(other).error ?? '').includes('it cannot be told'), MINUTE);
    expectSound(world);
  });

  test('take nothing from others by what they list while they are refused', async () => {
    const world = prepared(confinedTo('shop'));
    await world.start();
    const refused = setPool(world);
    await untilReason(world, refused, NOT_ALLOWED);
    const other = world.cluster.setPool({
      namespace: 'shop',
      name: 'ingress',
      spec: { provider: PROVIDER, region: 'nyc3', match: { nodeLabel: 'pool=work' }, ips: [A] },
    });
    await world.untilStates(other, { [A]: 'active' });
  });
});
