import { describe, expect } from 'vitest';
import type { Address } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const C = '203.0.113.9' as Address;
type Lasting = [number, number];

/** A pool of A, active; the node that has it, and how to fail it over: answers how long after the address was there that was seen. */
const begin = async (world: World) => {
  world.nodes(node('a'), node('b'));
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A] });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  const failover = async (during: () => void = () => undefined): Promise<number> => {
    const from = world.holderOf(A) as string;
    const to = from === 'a' ? 'b' : 'a';
    world.cluster.setNode(node(to));
    await world.clock.advance(2_000);
    world.cluster.setNode(node(from, { ready: false }));
    await world.clock.advance(200);
    during();
    await world.untilOn(A, to, 200_000);
    return world.clock.runUntil(() => world.cluster.annotations()[to] === A, 4_000_000);
  };
  return { ref, failover };
};
const slowly = async (world: World, lasting: Lasting, ms: number, spare = true) => {
  lasting[0] = lasting[1] = ms;
  const begun = await begin(world);
  for (let each = 0; each < 4; each += 1) await begun.failover();
  if (spare) {
    world.cluster.setNode(node('a'), node('b'));
    world.nodes(node('c'));
    await world.clock.advance(10_000);
  }
  return begun;
};
const mostInAMinute = (world: World, from: number): number => {
  const at = world.provider.calls.slice(from).map((call) => call.at);
  return Math.max(...at.map((start) => at.filter((each) => each >= start && each < start + 60_000).length));
};

describe('looks at assigns', () => {
  test('see quick actions soon again after slow ones', async ({ open }) => {
    const lasting: Lasting = [0, 0];
    const world = open({ provider: { actionMs: lasting } });
    const { failover } = await slowly(world, lasting, 60_000, false);
    lasting[0] = lasting[1] = 1_000;
    const late: number[] = [];
    for (let each = 0; each < 12; each += 1) late.push(await failover());
    expect(late.filter((ms) => ms > 5_000)).toEqual([]);
  });

  test('see an action of 2.5 s soon after one of 2 s and one of 100 s', async ({ open }) => {
    const lasting: Lasting = [2_000, 2_000];
    const world = open({ provider: { actionMs: lasting } });
    const { failover } = await begin(world);
    await failover();
    lasting[0] = lasting[1] = 100_000;
    await failover();
    lasting[0] = lasting[1] = 2_500;
    expect(await failover()).toBeLessThan(5_000);
  });

  for (const ms of [10_000, 60_000])
    test(`do not leave an address on a node that is lost, after actions of ${ms} ms`, async ({ open }) => {
      const lasting: Lasting = [0, 0];
      const world = open({ provider: { actionMs: lasting } });
      await slowly(world, lasting, ms);
      lasting[0] = lasting[1] = 1_000;
      const first = world.holderOf(A) as string;
      world.cluster.setNode(node(first, { ready: false }));
      await world.clock.runUntil(() => world.holderOf(A) !== first, 10_000);
      const second = world.holderOf(A) as string;
      await world.clock.advance(500);
      world.cluster.setNode(node(second, { ready: false }));
      expect(await world.clock.runUntil(() => ![first, second].includes(world.holderOf(A) ?? ''), 300_000)).toBeLessThan(5_000);
    });

  test('see within seconds that an action failed', async ({ open }) => {
    const lasting: Lasting = [0, 0];
    const world = open({ provider: { actionMs: lasting } });
    await slowly(world, lasting, 30_000);
    lasting[0] = lasting[1] = 1_000;
    world.provider.cloud.failActions(1);
    const first = world.holderOf(A) as string;
    world.cluster.setNode(node(first, { ready: false }));
    expect(await world.clock.runUntil(() => world.holderOf(A) !== first, 300_000)).toBeLessThan(15_000);
  });

  test('are not many where an action takes longer than others that took as long as each other', async ({ open }) => {
    const lasting: Lasting = [0, 0];
    const world = open({ provider: { actionMs: lasting } });
    const { failover } = await slowly(world, lasting, 20_000, false);
    lasting[0] = lasting[1] = 29_000;
    const from = world.provider.calls.length;
    await failover();
    expect(world.provider.calls.length - from).toBeLessThan(60);
  });

  test('nor where it never ends', async ({ open }) => {
    const lasting: Lasting = [0, 0];
    const world = open({ provider: { actionMs: lasting } });
    await slowly(world, lasting, 60_000);
    lasting[0] = lasting[1] = 10_000_000;
    const from = world.provider.calls.length;
    world.cluster.setNode(node(world.holderOf(A) as string, { ready: false }));
    await world.clock.advance(115_000);
    expect(mostInAMinute(world, from)).toBeLessThan(60);
  });

  test('nor lists where two wait', async ({ open }) => {
    const lasting: Lasting = [30_000, 30_000];
    const world = open({ provider: { actionMs: lasting } });
    world.nodes(node('a'), node('b'), node('c'), node('d'));
    for (const address of [A, B, C, '203.0.113.10']) world.address(address);
    const ref = world.pool('ingress', { ips: [A, B] });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'active' });
    lasting[0] = lasting[1] = 44_000;
    const from = world.provider.calls.length;
    world.pool('ingress', { ips: [A, B, C, '203.0.113.10'] });
    await world.untilStates(ref, { [A]: 'active', [B]: 'active', [C]: 'active', '203.0.113.10': 'active' }, 200_000);
    expect(world.provider.calls.length - from).toBeLessThan(80);
  });

  test('come although the clock was set back meanwhile', async ({ open }) => {
    const lasting: Lasting = [1_500, 1_500];
    const world = open({ provider: { actionMs: lasting } });
    const { failover } = await begin(world);
    for (let each = 0; each < 3; each += 1) await failover();
    lasting[0] = lasting[1] = 4_000;
    expect(await failover(() => world.jump(-600_000))).toBeLessThan(5_000);
  });

  test('learn nothing from a clock that was set forward', async ({ open }) => {
    const lasting: Lasting = [1_500, 1_500];
    const world = open({ provider: { actionMs: lasting } });
    const { failover } = await begin(world);
    await failover();
    lasting[0] = lasting[1] = 3_000;
    await failover(() => world.jump(100_000));
    lasting[0] = lasting[1] = 2_000;
    const late = [await failover(), await failover(), await failover()];
    expect(late.filter((ms) => ms > 5_000)).toEqual([]);
  });
});

describe('looks for edits', () => {
  const lists = (world: World, from: number) => world.provider.calls.slice(from).filter(({ verb }) => verb === 'listRoutedIPs').length;

  for (const verifyEveryMs of [60_000, 10_000])
    test(`are no more than one a minute where verifications come every ${verifyEveryMs} ms`, async ({ open }) => {
      const world = open({ settings: { verifyEveryMs } });
      await begin(world);
      await world.clock.advance(20_000);
      const from = world.provider.calls.length;
      await world.clock.advance(600_000);
      expect(lists(world, from)).toBeLessThanOrEqual(600_000 / verifyEveryMs + 11);
    });

  for (const verifyEveryMs of [300_000, 3_600_000])
    test(`go on when the clock was set back an hour, verified every ${verifyEveryMs} ms`, async ({ open }) => {
      const world = open({ settings: { verifyEveryMs } });
      await begin(world);
      await world.clock.advance(verifyEveryMs * 0.3);
      world.jump(-3_600_000);
      world.provider.cloud.moveByHand(A, null);
      expect(await world.untilOn(A, 'a', 2 * verifyEveryMs)).toBeLessThanOrEqual(verifyEveryMs / 5 + 1_000);
    });
});
