import { describe, expect } from 'vitest';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { ingress, killAll, lose, untilAssigns } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type OperatorProcess, type World } from '../../support/world.ts';

const A = '203.0.113.207';
const B = '203.0.113.208';
const SECOND = 1000;
const BOTH = { [A]: 'active', [B]: 'active' } as const;

/** A pool with A on node a and B on node b, and nodes to spare; records and jobs are in the memory of each process. */
const serving = async (world: World, processes = 1): Promise<{ readonly ref: ObjectRef; readonly started: readonly OperatorProcess[] }> => {
  const ref = ingress(world, { nodes: ['a', 'b', 'c', 'd'], addresses: { [A]: 'a', [B]: 'b' } });
  const started: OperatorProcess[] = [];
  for (let count = 0; count < processes; count += 1) started.push(await world.start());
  await world.untilStates(ref, BOTH);
  await world.clock.advance(20 * SECOND);
  expect(world.assigns()).toEqual([]);
  return { ref, started };
};

describe('records in the memory of a process', () => {
  test('are enough for a failover, and when they end with it nothing moves and nothing is sent', async ({ open }) => {
    const world = open({ fleeting: true });
    const { ref } = await serving(world);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    killAll(world);
    await world.clock.advance(3 * SECOND);
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, 30 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect([world.holderOf(A), world.states(ref), world.assigns().length]).toEqual(['c', BOTH, 1]);
  });

  test('that end with an assign under way leave it in doubt, however far behind the status is: nothing else is sent before a read tells', async ({
    open,
  }) => {
    const world = open({ fleeting: true });
    const { ref } = await serving(world);
    world.cluster.lag();
    world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 9 * SECOND });
    lose(world, 'a');
    await untilAssigns(world, 1, 5 * SECOND);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → c`]);
    expect(world.status(ref).ips?.[A as never]).toMatchObject({ machineState: 'Assigning', electedNode: 'c' });
    await world.clock.advance(SECOND);
    killAll(world);
    world.lease.delete();
    // The next one would choose another node.
    lose(world, 'c');
    await world.start();
    await world.clock.advance(8 * SECOND);
    expect(world.assigns()).toHaveLength(1);
    world.cluster.catchUp();
    await world.untilOn(A, 'd', 60 * SECOND);
    await world.untilStates(ref, BOTH, 60 * SECOND);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → c`, `${A} → d`]);
  });

  test('that end with an assign under way keep its node from other addresses until a read tells', async ({ open }) => {
    const world = open({ fleeting: true });
    const { ref } = await serving(world);
    world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 9 * SECOND });
    lose(world, 'a');
    await untilAssigns(world, 1, 5 * SECOND);
    await world.clock.advance(SECOND);
    killAll(world);
    world.lease.delete();
    lose(world, 'b');
    await world.start();
    await world.untilOn(B, 'd', 10 * SECOND);
    await world.untilStates(ref, BOTH, 60 * SECOND);
    expect(world.holderOf(A)).toBe('c');
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → c`, `${B} → d`]);
  });

  test('are no reason to send while the status cannot be written', async ({ open }) => {
    const world = open({ fleeting: true });
    const { ref } = await serving(world);
    world.cluster.failWrites();
    lose(world, 'a');
    await world.clock.advance(30 * SECOND);
    expect(world.assigns()).toEqual([]);
    world.cluster.mendWrites();
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(1);
  });

  test('are given up by a process that leads again after another one has led', async ({ open }) => {
    const world = open({ fleeting: true });
    const { ref, started } = await serving(world, 2);
    const [first, second] = started;
    expect([first?.supervisor.leading, second?.supervisor.leading]).toEqual([true, false]);
    first?.lease.cut();
    await world.clock.runUntil(() => second?.supervisor.leading ?? false, 60 * SECOND);
    lose(world, 'a');
    await world.untilOn(A, 'c', 5 * SECOND);
    await world.untilStates(ref, BOTH);
    // What the first one remembers is right again in its eyes: node a is Ready.
    world.cluster.setNode(node('a'));
    first?.lease.mend();
    second?.kill();
    await world.clock.runUntil(() => first?.supervisor.leading ?? false, 60 * SECOND);
    await world.clock.advance(60 * SECOND);
    expect([world.holderOf(A), world.states(ref), world.assigns().length]).toEqual(['c', BOTH, 1]);
    lose(world, 'c');
    await world.clock.runUntil(() => world.holderOf(A) !== 'c', 5 * SECOND);
    expect(world.assigns()).toHaveLength(2);
  });

  test('serve on in the process that leads again when nobody else has led meanwhile', async ({ open }) => {
    const world = open({ fleeting: true });
    const { ref, started } = await serving(world);
    const [first] = started;
    first?.lease.cut();
    await world.clock.runUntil(() => first?.supervisor.leading === false, 60 * SECOND);
    lose(world, 'a');
    await world.clock.advance(10 * SECOND);
    expect(world.assigns()).toEqual([]);
    first?.lease.mend();
    await world.untilOn(A, 'c', 30 * SECOND);
    await world.untilStates(ref, BOTH);
    expect(world.assigns()).toHaveLength(1);
  });
});
