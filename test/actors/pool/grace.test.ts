import { describe, expect } from 'vitest';
import type { Address, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, pod, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const ZONE = 'example.com';
const GRACE = { recoveryGraceSeconds: 30 };

const notReady = (name: string, change: Partial<ObservedNode> = {}): ObservedNode => node(name, { ready: false, ...change });
const condition = (world: World, ref: ObjectRef, type: string) => world.cluster.conditions(ref).find((each) => each.type === type);
const asked = (world: World): number => world.provider.calls.filter(({ verb }) => verb === 'findNode').length;
const events = (world: World) => world.cluster.projections.flatMap((each) => each.events);

/** The pool holds A on a, which is published; b is a spare node. */
async function served(world: World, spec: Parameters<World['pool']>[1] = {}): Promise<ObjectRef> {
  world.nodes(node('a'), node('b'));
  world.address(A, 'a');
  world.provider.cloud.addZone(ZONE);
  const ref = world.pool('ingress', { ips: [A], dnsRecordSet: { zone: ZONE, recordName: 'web' }, ...GRACE, ...spec });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  await world.clock.runUntil(() => world.provider.cloud.zone(ZONE).records.length === 1, 30_000);
  await world.clock.advance(5_000);
  return ref;
}

describe('a node that is not Ready', () => {
  test('for 2 s keeps its address: nothing is written at the provider, and nothing is seen of it in DNS or on the node', async ({
    open,
  }) => {
    const world = open();
    const ref = await served(world);
    const before = world.provider.writes().length;
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(2_000);
    expect([world.holderOf(A), world.states(ref), world.cluster.annotations()]).toEqual(['a', { [A]: 'active' }, { a: A }]);
    world.cluster.setNode(node('a'));
    await world.clock.advance(600_000);
    expect(world.holderOf(A)).toBe('a');
    expect(world.provider.writes().length).toBe(before);
    expect(world.cluster.projections.every(({ annotated }) => Object.keys(annotated).length === 0 || annotated.a === A)).toBe(true);
    expect(world.status(ref).ips?.[A]).not.toHaveProperty('graceUntil');
  });

  test('without a grace loses it at once, with one assign and no question about its machine', async ({ open }) => {
    const world = open();
    await served(world, { recoveryGraceSeconds: 0 });
    world.cluster.setNode(notReady('a'));
    expect(await world.untilOn(A, 'b', 1_000)).toBeLessThan(500);
    expect([world.assigns().length, asked(world)]).toEqual([1, 0]);
  });

  test('longer than the grace loses it when the grace is over, to the moment', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.setNode(notReady('a'));
    const began = world.clock.monotonic();
    await world.clock.runUntil(() => world.assigns().length === 1, 60_000);
    expect(world.clock.monotonic() - began).toBe(30_000);
    await world.untilOn(A, 'b');
    await world.untilStates(ref, { [A]: 'active' });
    await world.clock.advance(1_000);
    expect([world.states(ref), world.cluster.annotations()]).toEqual([{ [A]: 'active' }, { b: A }]);
  });

  test('stays in grace by the taints with which Kubernetes repeats that it is not Ready, until those are gone too', async ({ open }) => {
    const world = open();
    await served(world);
    const taints = ['not-ready', 'unreachable'].flatMap((key) =>
      ['NoSchedule', 'NoExecute'].map((effect) => ({ key: `node.kubernetes.io/${key}`, effect })),
    );
    world.cluster.setNode(notReady('a', { taints }));
    await world.clock.advance(10_000);
    world.cluster.setNode(node('a', { taints }));
    await world.clock.advance(10_000);
    world.cluster.setNode(node('a'));
    await world.clock.advance(60_000);
    expect(world.assigns()).toEqual([]);
  });

  test('is said to be: the address is active, until when it waits is in the status, in Progressing and in an Event', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.setNode(notReady('a'));
    const since = world.clock.now();
    await world.clock.advance(1_000);
    const until = new Date(since + 30_000).toISOString();
    expect(world.status(ref).ips?.[A]).toMatchObject({
      state: 'active',
      nodeName: 'a',
      notReadySince: new Date(since).toISOString(),
      graceUntil: until,
    });
    expect(condition(world, ref, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'Recovering',
      message: expect.stringContaining(until),
    });
    expect(events(world).filter(({ reason }) => reason === 'Recovering')).toHaveLength(1);
    world.cluster.setNode(node('a'));
    await world.clock.advance(1_000);
    expect(condition(world, ref, 'Progressing')).toMatchObject({ status: 'False', reason: 'Idle' });
  });

  test('again later has its whole time again', async ({ open }) => {
    const world = open();
    await served(world);
    for (let blip = 0; blip < 5; blip += 1) {
      world.cluster.setNode(notReady('a'));
      await world.clock.advance(20_000);
      world.cluster.setNode(node('a'));
      await world.clock.advance(5_000);
    }
    expect(world.assigns()).toEqual([]);
  });

  test('is not granted to anybody else meanwhile, and the spare node is free for others', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(1_000);
    world.address(B);
    const other = world.pool('other', { ips: [B] });
    await world.untilStates(other, { [B]: 'active' });
    expect([world.holderOf(A), world.holderOf(B)]).toEqual(['a', 'b']);
  });
});

describe('a node that lost its Ready pod', () => {
  const match = { nodeLabel: 'pool=work', podLabel: 'app=nginx', podNamespace: 'ingress' };

  test('keeps its address while the pod comes back', async ({ open }) => {
    const world = open();
    world.cluster.setPod(pod('one', 'a'), pod('two', 'b'));
    await served(world, { match });
    world.cluster.removePod('ingress', 'one');
    await world.clock.advance(20_000);
    world.cluster.setPod(pod('three', 'a'));
    await world.clock.advance(120_000);
    expect([world.holderOf(A), world.assigns()]).toEqual(['a', []]);
  });

  test('loses it when no pod comes', async ({ open }) => {
    const world = open();
    world.cluster.setPod(pod('one', 'a'), pod('two', 'b'));
    await served(world, { match });
    world.cluster.setPod(pod('one', 'a', { serving: false }));
    await world.clock.advance(29_000);
    expect(world.holderOf(A)).toBe('a');
    await world.untilOn(A, 'b', 2_000);
  });
});

describe('no time is given to a node', () => {
  const losses: Readonly<Record<string, (world: World) => void>> = {
    'whose object is gone': ({ cluster }) => cluster.removeNode('a'),
    'that is being deleted': ({ cluster }) => cluster.setNode(notReady('a', { deleting: true })),
    'that has lost its label': ({ cluster }) => cluster.setNode(notReady('a', { labels: {} })),
    'that bears a taint which is not tolerated': ({ cluster }) =>
      cluster.setNode(notReady('a', { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] })),
    'that came back as another machine': (world) => {
      world.provider.cloud.addNode(providerIDOf('a2'));
      world.cluster.setNode(notReady('a', { providerID: providerIDOf('a2') }));
    },
  };

  for (const [what, lose] of Object.entries(losses)) {
    test(`${what}: at once, or when it happens while time is given`, async ({ open }) => {
      const [first, second] = [open(), open()];
      await served(first);
      lose(first);
      expect(await first.untilOn(A, 'b', 1_000)).toBeLessThan(500);

      await served(second);
      second.cluster.setNode(notReady('a'));
      await second.clock.advance(10_000);
      expect(second.assigns()).toEqual([]);
      lose(second);
      expect(await second.untilOn(A, 'b', 1_000)).toBeLessThan(500);
    });
  }

  test('whose machine is gone, as the provider says when it is asked: once, and at the beginning', async ({ open }) => {
    const world = open({ provider: { callMs: 20 } });
    await served(world);
    world.provider.cloud.removeNode(providerIDOf('a'));
    world.cluster.setNode(notReady('a'));
    expect(await world.untilOn(A, 'b', 1_000)).toBeLessThan(500);
    expect(asked(world)).toBe(1);
  });

  test('but the whole time when the provider does not say that its machine is gone', async ({ open }) => {
    const world = open();
    await served(world);
    world.provider.faults.next('findNode', { kind: 'refuse', error: 'Unavailable' });
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(29_000);
    expect([world.holderOf(A), asked(world)]).toEqual(['a', 1]);
    await world.untilOn(A, 'b', 2_000);
  });

  test('a question that has to wait for the limit is asked again, and its answer counts', async ({ open }) => {
    const world = open();
    await served(world);
    world.provider.cloud.removeNode(providerIDOf('a'));
    world.provider.faults.next('findNode', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 5_000 });
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(4_900);
    expect([world.holderOf(A), asked(world)]).toEqual([null, 1]);
    await world.untilOn(A, 'b', 1_000);
  });
});

describe('the grace', () => {
  test('that is changed while it runs shifts its end by the difference', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(notReady('a'));
    const began = world.clock.monotonic();
    await world.clock.advance(10_000);
    world.pool('ingress', { ips: [A], recoveryGraceSeconds: 60.5 });
    await world.clock.runUntil(() => world.assigns().length === 1, 120_000);
    expect(world.clock.monotonic() - began).toBe(60_500);
  });

  test('that is taken away while it runs is over', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(10_000);
    expect(world.assigns()).toEqual([]);
    world.pool('ingress', { ips: [A] });
    await world.untilOn(A, 'b', 1_000);
  });

  test('lasts no longer than it says when the clock is set back', async ({ open }) => {
    const world = open();
    await served(world);
    world.cluster.setNode(notReady('a'));
    await world.clock.advance(10_000);
    world.clock.jump(-3_600_000);
    world.cluster.setNode(notReady('b'), node('b'));
    await world.untilOn(A, 'b', 31_000);
  });

  test('goes on under another leader, with what is left of it', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.setNode(notReady('a'));
    const began = world.clock.monotonic();
    await world.clock.advance(5_000);
    for (const process of world.processes) process.kill();
    world.lease.delete();
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 60_000);
    expect(world.clock.monotonic() - began).toBe(30_000);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('that ended while nobody led is over, unless the node is back by then', async ({ open }) => {
    for (const isBack of [false, true]) {
      const world = open();
      const ref = await served(world);
      world.cluster.setNode(notReady('a'));
      await world.clock.advance(1_000);
      for (const process of world.processes) process.kill();
      world.lease.delete();
      await world.clock.advance(120_000);
      if (isBack) world.cluster.setNode(node('a'));
      await world.start();
      await world.untilStates(ref, { [A]: 'active' });
      await world.clock.advance(30_000);
      expect([world.holderOf(A), world.assigns().length]).toEqual(isBack ? ['a', 0] : ['b', 1]);
    }
  });

  test('is remembered when all records are lost: by the status of the pool', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.setNode(notReady('a'));
    const began = world.clock.monotonic();
    await world.clock.advance(5_000);
    expect(world.status(ref).ips?.[A]).toHaveProperty('graceUntil');
    for (const process of world.processes) process.kill();
    world.lease.delete();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.start();
    await world.untilStates(ref, { [A]: 'active' }, 5_000);
    expect(world.assigns()).toEqual([]);
    await world.clock.runUntil(() => world.assigns().length === 1, 60_000);
    expect(world.clock.monotonic() - began).toBe(30_000);
  });
});

describe('many nodes that are not Ready at once', () => {
  const COUNT = 45;
  const names = Array.from({ length: COUNT }, (_, index) => `n${String(index).padStart(2, '0')}`);

  test('are asked about, and those whose machine is gone lose their addresses at once', async ({ open }) => {
    const world = open({ provider: { callMs: 20 } });
    world.nodes(...names.map((name) => node(name)), ...names.map((name) => node(`spare-${name}`)));
    const ips = names.map((name, index) => world.address(`203.0.113.${index + 1}`, name));
    const ref = world.pool('ingress', { ips, ...GRACE });
    await world.start();
    await world.untilStates(ref, Object.fromEntries(ips.map((address) => [address, 'active'])));
    const gone = names.filter((_, index) => index % 3 === 0);
    world.provider.cloud.removeNode(providerIDOf('unknown'));
    for (const name of gone) world.provider.cloud.removeNode(providerIDOf(name));
    world.cluster.setNode(...names.map((name) => notReady(name)));
    await world.clock.runUntil(() => world.assigns().length === gone.length, 5_000);
    await world.clock.advance(5_000);
    expect([world.assigns().length, asked(world)]).toEqual([gone.length, COUNT]);
    await world.clock.runUntil(() => world.assigns().length === COUNT, 60_000);
  });
});
