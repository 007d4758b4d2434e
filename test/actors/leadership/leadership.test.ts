import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, type OperatorProcess, type World } from '../../support/world.ts';

const A = '203.0.113.207' as Address;
const B = '203.0.113.208' as Address;
const SECOND = 1000;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

/** A pool with A on node a and B on node b, nodes c and d to spare, and as many processes as asked for. */
const serving = async (
  world: World,
  count: number,
): Promise<{ readonly ref: ObjectRef; readonly processes: readonly OperatorProcess[] }> => {
  world.nodes(node('a'), node('b'), node('c'), node('d'));
  world.address(A, 'a');
  world.address(B, 'b');
  const ref = world.pool('ingress', { ips: [A, B] });
  const processes: OperatorProcess[] = [];
  for (let index = 0; index < count; index += 1) processes.push(await world.start());
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  expect(leaders(world)).toHaveLength(1);
  return { ref, processes };
};

const leaders = (world: World): readonly OperatorProcess[] => world.processes.filter(({ supervisor }) => supervisor.leading);
const leader = (world: World): OperatorProcess => {
  const [only] = leaders(world);
  if (!only) throw new Error('nobody leads');
  return only;
};
const lose = (world: World, name: string): void => world.cluster.setNode(node(name, { ready: false }));
const terms = (world: World): readonly number[] => world.invariants.turns.map(({ term }) => term);

describe.each([2, 3])('with %i processes', (count) => {
  test('one leads, and a failover needs no more than with one', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, count);
    lose(world, 'a');
    expect(await world.untilOn(A, 'c', SECOND)).toBeLessThan(500);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(1);
  });

  test('another one leads when the leader dies, and does what was lost meanwhile', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, count);
    leader(world).kill();
    lose(world, 'a');
    await world.untilOn(A, 'c', 20 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(leaders(world)).toHaveLength(1);
    expect(world.assigns()).toHaveLength(1);
  });

  test('another one leads at once when the leader is stopped', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, count);
    await leader(world).stop();
    lose(world, 'a');
    await world.untilOn(A, 'c', 4 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(1);
  });

  test('a leader that dies while its assign is on its way: it is found, not repeated', async ({ open }) => {
    const world = open({ provider: { actionMs: 4_000 } });
    const { ref } = await serving(world, count);
    lose(world, 'a');
    await world.clock.runUntil(() => world.assigns().length === 1, SECOND);
    leader(world).kill();
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.clock.runUntil(() => leaders(world).length === 1, 20 * SECOND);
    await world.untilStates(ref, BOTH, 30 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect(world.assigns()).toHaveLength(1);
    expect(world.cluster.annotations()).toEqual({ b: B, c: A });
  });

  test('a leader that dies while its job is run by another process: that one ends it, the next leader hears of it', async ({ open }) => {
    const world = open({ provider: { actionMs: 4_000 } });
    const { ref, processes } = await serving(world, count);
    for (const name of ['a', 'b']) lose(world, name);
    await world.clock.runUntil(() => world.assigns().length === 2, SECOND);
    await world.clock.advance(SECOND);
    expect(processes).toContain(leader(world));
    leader(world).kill();
    await world.untilStates(ref, BOTH, 40 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect(world.assigns()).toHaveLength(2);
  });

  test('a leader that is cut off from the lease gives up before another one leads', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, count);
    const former = leader(world);
    former.lease.cut();
    let both = 0;
    for (let second = 0; second < 25; second += 1) {
      await world.clock.advance(SECOND);
      if (leaders(world).length > 1) both += 1;
    }
    expect(both).toBe(0);
    expect(leader(world)).not.toBe(former);
    lose(world, 'a');
    await world.untilOn(A, 'c', SECOND);
    await world.untilStates(ref, BOTH);
    former.lease.mend();
    await world.clock.advance(30 * SECOND);
    expect(leaders(world)).toHaveLength(1);
    lose(world, 'b');
    await world.untilOn(B, 'd', SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(2);
  });

  test('a lease that somebody deletes: no write under a stale term counts, and all goes on', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, count);
    world.lease.delete();
    lose(world, 'a');
    await world.untilOn(A, 'c', 20 * SECOND);
    await world.clock.advance(30 * SECOND);
    expect(leaders(world)).toHaveLength(1);
    lose(world, 'b');
    await world.untilOn(B, 'd', SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(2);
    expect([...terms(world)]).toEqual([...terms(world)].sort((a, b) => a - b));
  });

  test('a process that is stopped while its job is about to send: it sends nothing once it goes on, another one has sent it', async ({
    open,
  }) => {
    const world = open();
    const { ref } = await serving(world, count);
    const calls = world.provider.calls.length;
    lose(world, 'a');
    // Whoever runs the job is stopped before anything was sent, as by SIGSTOP: its locks run out, its calls still go out.
    for (const process of world.processes) process.freeze();
    await world.clock.advance(10 * SECOND);
    expect(world.provider.calls.slice(calls).filter(({ verb }) => verb === 'assignRoutedIP').length).toBeLessThanOrEqual(1);
    for (const process of world.processes) process.kill();
    await world.start();
    await world.untilStates(ref, BOTH, 40 * SECOND);
    await world.clock.advance(30 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    expect(world.provider.cloud.history(A).map(({ providerID }) => providerID)).toEqual(['digitalocean://a', 'digitalocean://c']);
  });
});

describe('a leader that the store knows no more', () => {
  test('loads again and leads on under a new term when another one wrote', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, 1);
    const before = leader(world).supervisor.term;
    await world.store.openTerm(before + 10);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(leader(world).supervisor.term).toBeGreaterThan(before + 10);
    expect(world.assigns()).toHaveLength(1);
  });

  test('leads under no term twice, although another one led under a lower one after the Lease was deleted', async ({ open }) => {
    const world = open({ away: true });
    const { ref, processes } = await serving(world, 1);
    for (let call = 0; call < 3; call += 1) world.provider.faults.next('listRoutedIPs', { kind: 'hang' });
    world.store.goDown();
    world.queues.goDown();
    await world.clock.advance(30 * SECOND);
    const [former] = processes;
    const highest = former?.supervisor.term ?? 0;
    world.lease.delete();
    world.store.comeBack();
    world.queues.comeBack();
    const next = await world.start();
    await world.clock.advance(10 * SECOND);
    expect(leader(world)).toBe(next);
    expect(next.supervisor.term).toBeLessThan(highest);
    next.kill();
    lose(world, 'a');
    await world.untilOn(A, 'c', 40 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(leader(world)).toBe(former);
    expect(leader(world).supervisor.term).toBeGreaterThan(highest);
  });

  test('the term lives on when the lease and the store are lost: the status bears it', async ({ open }) => {
    const world = open();
    const { ref } = await serving(world, 1);
    const former = leader(world);
    await world.store.openTerm(41);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    await world.clock.runUntil(() => world.status(ref).term === former.supervisor.term, 5 * SECOND);
    expect(former.supervisor.term).toBeGreaterThan(41);
    const { term } = former.supervisor;
    former.kill();
    world.store.wipe();
    world.queues.wipe();
    world.lease.delete();
    await world.start();
    await world.clock.advance(30 * SECOND);
    expect(leader(world).supervisor.term).toBeGreaterThan(term);
    expect(world.assigns()).toHaveLength(1);
  });
});
