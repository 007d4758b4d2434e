import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { test } from '../../support/sound.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';

const A = '203.0.113.7' as Address;
const B = '203.0.113.8' as Address;
const MINUTE = 60_000;
/** Every address is looked at once a minute. */
const VERIFIED = { settings: { verifyEveryMs: MINUTE } };
const RULES = { moves: 3, windowSeconds: 1200 };

const condition = (world: World, ref: ObjectRef, type: string) => world.cluster.conditions(ref).find((each) => each.type === type);
const events = (world: World, reason: string) =>
  world.cluster.projections.flatMap((each) => each.events).filter((event) => event.reason === reason);

/** The pool holds A on a; there is a machine outside the cluster, to which others may move it. */
async function served(
  world: World,
  contention: Readonly<Record<string, string | number>> | null,
  ...others: readonly string[]
): Promise<ObjectRef> {
  world.nodes(node('a'), ...others.map((name) => node(name)));
  world.provider.cloud.addNode(providerIDOf('foreign'), providerIDOf('stranger'));
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A], ...(contention && { contention }) });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  await world.clock.advance(5_000);
  return ref;
}

/** Somebody moves the address to the machine outside, and waits until it was seen there; and until it was taken back, when it is. */
async function moveAway(world: World, ref: ObjectRef, to: 'foreign' | 'stranger' | null = 'foreign'): Promise<void> {
  const before = world.invariants.turns.length;
  world.provider.cloud.moveByHand(A, to === null ? null : providerIDOf(to));
  const seen = () =>
    world.invariants.turns.slice(before).some(({ transitions }) => transitions.some(({ events: heard }) => heard.includes('READY')));
  await world.clock.runUntil(seen, 2 * MINUTE);
  await world.clock.advance(5_000);
  expect(Object.keys(world.states(ref))).toEqual([A]);
}

const assigns = (world: World): number => world.assigns().length;

describe('an address that somebody else moves', () => {
  test('without a rule is taken back each time, at the next verification', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, null);
    for (let times = 1; times <= 6; times += 1) {
      await moveAway(world, ref);
      expect([world.holderOf(A), assigns(world)]).toEqual(['a', times]);
    }
  });

  test('is fought for until it was moved so often within the window; then it stays where the other put it', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RULES);
    for (const times of [1, 2]) {
      await moveAway(world, ref);
      expect([world.holderOf(A), assigns(world)]).toEqual(['a', times]);
    }
    await moveAway(world, ref);
    await world.clock.advance(10 * MINUTE);
    expect([world.holderOf(A), assigns(world)]).toEqual(['foreign', 2]);
    expect(world.cluster.annotations()).toEqual({});
  });

  test('at once, before anybody has seen it where we put it, is counted like any other move', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RULES);
    const snatch = (): boolean => {
      if (world.holderOf(A) === 'a') world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
      return condition(world, ref, 'Degraded')?.reason === 'Contended';
    };
    await world.clock.runUntil(snatch, 20 * MINUTE);
    expect(assigns(world)).toBe(RULES.moves - 1);
    await world.clock.advance(10 * MINUTE);
    expect([world.holderOf(A), assigns(world)]).toEqual(['foreign', RULES.moves - 1]);
  });

  test('and is left to them is said to be: condition, status and one Event', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RULES);
    for (let times = 0; times < 3; times += 1) await moveAway(world, ref);
    const contended = {
      status: 'True',
      reason: 'Contended',
      message: expect.stringMatching(
        /^203\.0\.113\.7 was moved by somebody else 3 times within 1200 s: it is left on digitalocean:\/\/foreign, and tried again at .* unless it is moved before$/,
      ),
    };
    expect(condition(world, ref, 'Degraded')).toMatchObject(contended);
    expect(condition(world, ref, 'Ready')).toMatchObject({ status: 'False', reason: 'Contended' });
    const until = world.status(ref).ips?.[A]?.contendedUntil ?? '';
    expect(Date.parse(until) - world.clock.now()).toBeGreaterThan(19 * MINUTE);
    expect(events(world, 'Contended').map(({ type }) => type)).toEqual(['Warning']);
    await world.clock.advance(10 * MINUTE);
    expect(events(world, 'Contended')).toHaveLength(1);
  });

  test('is tried again after a window of quiet, and fought for afresh', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RULES);
    for (let times = 0; times < 3; times += 1) await moveAway(world, ref);
    const left = world.clock.monotonic();
    await world.untilOn(A, 'a', 30 * MINUTE);
    expect(world.clock.monotonic() - left).toBeGreaterThan(19 * MINUTE);
    await world.untilStates(ref, { [A]: 'active' });
    expect(condition(world, ref, 'Degraded')?.status).toBe('False');
    await moveAway(world, ref);
    expect([world.holderOf(A), assigns(world)]).toEqual(['a', 4]);
  });

  test('while it is left to them has its quiet begin anew', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RULES);
    for (let times = 0; times < 3; times += 1) await moveAway(world, ref);
    for (const to of ['stranger', 'foreign', null, 'stranger'] as const) {
      await world.clock.advance(15 * MINUTE);
      await moveAway(world, ref, to);
      expect(assigns(world)).toBe(2);
    }
    await world.clock.advance(18 * MINUTE);
    expect([world.holderOf(A), assigns(world)]).toEqual(['stranger', 2]);
    await world.untilOn(A, 'a', 5 * MINUTE);
  });

  test('seldom is not contended: what is older than the window does not count', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RULES);
    for (let times = 1; times <= 6; times += 1) {
      await moveAway(world, ref);
      expect([world.holderOf(A), assigns(world)]).toEqual(['a', times]);
      await world.clock.advance(10 * MINUTE);
    }
  });

  test('off its node, onto nothing, counts as well', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, { ...RULES, moves: 1 });
    await moveAway(world, ref, null);
    await world.clock.advance(10 * MINUTE);
    expect([world.holderOf(A), assigns(world), condition(world, ref, 'Degraded')?.reason]).toEqual([null, 0, 'Contended']);
  });

  test('to another matching node is adopted there, contended or not: that costs no call', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, { ...RULES, moves: 1 }, 'b');
    world.provider.cloud.moveByHand(A, providerIDOf('b'));
    await world.clock.advance(2 * MINUTE);
    expect([world.holderOf(A), world.states(ref), assigns(world)]).toEqual(['b', { [A]: 'active' }, 0]);
    expect(condition(world, ref, 'Degraded')?.status).toBe('False');
    world.cluster.setNode(node('b', { ready: false }));
    await world.untilOn(A, 'a', 1_000);
  });
});

describe('with Reclaim', () => {
  const RECLAIM = { ...RULES, takeover: 'Reclaim' };

  test('it is taken back once in each window, however often it is moved', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RECLAIM);
    for (let times = 0; times < 3; times += 1) await moveAway(world, ref);
    expect(assigns(world)).toBe(2);
    const until = world.clock.monotonic() + 100 * MINUTE;
    while (world.clock.monotonic() < until) {
      if (world.holderOf(A) !== 'foreign') world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
      await world.clock.advance(MINUTE);
    }
    const times = world.assigns().map(({ at }) => at);
    const later = times.slice(2);
    expect([later.length, later.slice(1).every((at, index) => at - (later[index] ?? 0) >= 20 * MINUTE)]).toEqual([5, true]);
    expect((later[0] ?? 0) - (times[1] ?? 0)).toBeGreaterThan(20 * MINUTE);
  });

  test('it is fought for afresh once nobody has moved it for a window', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, RECLAIM);
    for (let times = 0; times < 3; times += 1) await moveAway(world, ref);
    await world.untilOn(A, 'a', 30 * MINUTE);
    await world.untilStates(ref, { [A]: 'active' });
    expect(condition(world, ref, 'Degraded')?.status).toBe('False');
    await world.clock.advance(45 * MINUTE);
    for (const times of [4, 5]) {
      await moveAway(world, ref);
      expect([world.holderOf(A), assigns(world)]).toEqual(['a', times]);
    }
  });
});

describe('no move by somebody else is', () => {
  test('a failover, however often the node changes', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, { ...RULES, moves: 1 }, 'b');
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'a'],
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      world.cluster.setNode(node(from, { ready: false }));
      await world.untilOn(A, to, 1_000);
      world.cluster.setNode(node(from));
      await world.clock.advance(2 * MINUTE);
    }
    expect([assigns(world), world.states(ref)]).toEqual([4, { [A]: 'active' }]);
    expect(events(world, 'Contended')).toEqual([]);
  });

  test('that a machine goes and takes its address off', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await served(world, { ...RULES, moves: 1 }, 'b');
    world.cluster.setNode(node('a', { ready: false }));
    world.provider.cloud.removeNode(providerIDOf('a'));
    await world.untilOn(A, 'b', 1_000);
    await world.clock.advance(5 * MINUTE);
    expect([world.states(ref), events(world, 'Contended')]).toEqual([{ [A]: 'active' }, []]);
  });

  test('nor one that goes while its node has time to come back', async ({ open }) => {
    const world = open(VERIFIED);
    world.nodes(node('a'), node('b'));
    world.address(A, 'a');
    const ref = world.pool('ingress', { ips: [A], recoveryGraceSeconds: 600, contention: { ...RULES, moves: 1 } });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.cluster.setNode(node('a', { ready: false }));
    await world.clock.advance(30_000);
    world.provider.cloud.removeNode(providerIDOf('a'));
    await world.untilOn(A, 'b', 3 * MINUTE);
    expect(events(world, 'Contended')).toEqual([]);
  });
});

describe('an address that is left to somebody else', () => {
  const left = async (world: World, ...others: readonly string[]): Promise<ObjectRef> => {
    const ref = await served(world, RULES, ...others);
    for (let times = 0; times < 3; times += 1) await moveAway(world, ref);
    expect([world.holderOf(A), assigns(world)]).toEqual(['foreign', 2]);
    return ref;
  };

  test('is taken back at once when the rule is taken out of the spec', async ({ open }) => {
    const world = open(VERIFIED);
    await left(world);
    world.pool('ingress', { ips: [A] });
    await world.untilOn(A, 'a', 1_000);
  });

  test('leaves its node to others of the pool', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await left(world);
    world.address(B);
    world.pool('ingress', { ips: [A, B], contention: RULES });
    await world.untilOn(B, 'a', 1_000);
    await world.clock.advance(30 * MINUTE);
    expect([world.states(ref)[B], world.holderOf(A)]).toEqual(['active', 'foreign']);
  });

  test('stays so under another leader, for what is left of the time', async ({ open }) => {
    const world = open(VERIFIED);
    const ref = await left(world);
    const until = Date.parse(world.status(ref).ips?.[A]?.contendedUntil ?? '');
    for (const process of world.processes) process.kill();
    world.lease.delete();
    await world.start();
    await world.clock.advance(5 * MINUTE);
    expect([world.holderOf(A), condition(world, ref, 'Degraded')?.reason]).toEqual(['foreign', 'Contended']);
    await world.clock.runUntil(() => assigns(world) === 3, 30 * MINUTE);
    expect(world.clock.now()).toBeGreaterThanOrEqual(until);
    expect(world.clock.now()).toBeLessThan(until + 1_000);
  });

  test('waits no longer than the window when the clock is set back', async ({ open }) => {
    const world = open(VERIFIED);
    await left(world);
    world.clock.jump(-10 * 60 * MINUTE);
    world.nodes(node('z'));
    const began = world.clock.monotonic();
    await world.clock.runUntil(() => assigns(world) === 3, 30 * MINUTE);
    expect(world.clock.monotonic() - began).toBeLessThan(20 * MINUTE + 1_000);
  });
});
