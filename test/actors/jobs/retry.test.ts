import { describe, expect } from 'vitest';
import type { Fault } from '../../../adapters/memory/faults.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const SECOND = 1000;

const refuse = (
  error: 'InProgress' | 'Invalid' | 'Unavailable' | 'Unauthorized' | 'NotFound' | 'NodeInUse',
  retryAfterMs?: number,
): Fault => ({
  kind: 'refuse',
  error,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

/** Times between one assign and the next, ms. */
const gaps = (world: World): number[] => {
  const at = world.assigns().map((call) => call.at);
  return at.slice(1).map((each, index) => each - (at[index] ?? 0));
};

/** A pool with one address on nothing and the nodes named. */
const pool = (world: World, ...names: readonly string[]) => {
  world.nodes(...names.map((name) => node(name)));
  world.address(A);
  return world.pool('ingress', { ips: [A] });
};

describe('an assign that fails', () => {
  test('once is tried again after one second, and works', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', refuse('InProgress'));
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(gaps(world)).toHaveLength(1);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(SECOND);
    expect(gaps(world)[0]).toBeLessThan(1.2 * SECOND);
    expect(world.status(ref).ips?.[A as never]).not.toHaveProperty('error');
  });

  test('again and again is tried by the table: not before, and not much after', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', refuse('InProgress'), 14);
    await world.start();
    await world.untilStates(ref, { [A]: 'active' }, 1_200 * SECOND);
    const table = [1, 1, 5, 5, 10, 10, 10, 60, 60, 60, 60, 60, 300, 300];
    expect(gaps(world)).toHaveLength(table.length);
    for (const [index, gap] of gaps(world).entries()) {
      const due = (table[index] ?? 0) * SECOND;
      expect(gap, `gap ${index + 1}`).toBeGreaterThanOrEqual(due);
      expect(gap, `gap ${index + 1}`).toBeLessThan(due + 200);
    }
  });

  test('for a reason that a person has to mend is tried by the slow table', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', refuse('Invalid'), 3);
    await world.start();
    await world.untilStates(ref, { [A]: 'error' });
    expect(world.status(ref).ips?.[A as never]).toMatchObject({ error: expect.stringContaining('refused by plan') });
    await world.untilStates(ref, { [A]: 'active' }, 1_200 * SECOND);
    expect(gaps(world).map((gap) => Math.floor(gap / SECOND))).toEqual([60, 300, 600]);
  });

  test('starts at the head of the table again after it worked', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a', 'b');
    world.provider.faults.next('assignRoutedIP', refuse('InProgress'), 3);
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.provider.faults.next('assignRoutedIP', refuse('InProgress'));
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b');
    expect(Math.floor((gaps(world).at(-1) ?? 0) / SECOND)).toBe(1);
  });

  test('does not wait for its time when its node is lost: another one takes the address at once', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a', 'b');
    world.provider.faults.next('assignRoutedIP', refuse('InProgress'), 5);
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 5, 60 * SECOND);
    await world.clock.advance(SECOND);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', SECOND);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('because the node holds another address goes to another node at once, and spares that node', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a', 'b');
    world.provider.faults.next('assignRoutedIP', refuse('NodeInUse'));
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 2, 5 * SECOND);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`, `${A} → b`]);
    expect(gaps(world)[0]).toBeLessThan(200);
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.status(ref).nodeErrors).toEqual(['a']);
  });

  test('is shown at the node for as long as the node is spared, although nothing happens when that is over', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a', 'b');
    world.provider.faults.next('assignRoutedIP', refuse('NodeInUse'));
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    const turns = world.invariants.turns.length;
    expect([world.status(ref).nodeErrors, world.status(ref).assignableNodes]).toEqual([['a'], []]);
    await world.clock.runUntil(() => world.status(ref).nodeErrors?.length === 0, 2 * SECOND);
    expect(world.status(ref).assignableNodes).toEqual(['a']);
    expect(world.invariants.turns).toHaveLength(turns);
  });

  test('because the only node holds a foreign address is tried until that one is gone', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.address(B, 'a');
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 4, 60 * SECOND);
    expect(gaps(world).map((gap) => Math.floor(gap / SECOND))).toEqual([1, 1, 5]);
    world.provider.cloud.moveByHand(B as never, null);
    await world.untilStates(ref, { [A]: 'active' });
  });

  test('because the machine is gone goes to another node at once', async ({ open }) => {
    const world = open();
    world.nodes(node('b'));
    world.cluster.setNode(node('a'));
    world.address(A);
    const ref = world.pool('ingress', { ips: [A] });
    await world.start();
    await world.untilOn(A, 'b', 5 * SECOND);
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`, `${A} → b`]);
  });

  test('without credentials waits long, tells so, and does not put the node in back-off', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', refuse('Unauthorized'));
    await world.start();
    await world.untilStates(ref, { [A]: 'error' });
    expect(world.status(ref).nodeErrors).toEqual([]);
    expect(world.cluster.conditions(ref)).toContainEqual(expect.objectContaining({ type: 'Degraded', reason: 'Unauthorized' }));
    await world.untilStates(ref, { [A]: 'active' }, 61 * SECOND);
  });
});

describe('an action of the provider', () => {
  test('that ends in an error is tried again after one second', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.cloud.failActions(1);
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.assigns()).toHaveLength(2);
    expect(gaps(world)[0]).toBeLessThan(3 * SECOND);
  });

  test('that is not known by its id is judged by the address alone', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.cloud.forgetActions();
    await world.start();
    expect(await world.untilStates(ref, { [A]: 'active' })).toBeLessThan(2 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('that takes a minute is awaited, and nothing is assigned twice', async ({ open }) => {
    const world = open({ provider: { actionMs: 60_000 } });
    const ref = pool(world, 'a');
    await world.start();
    expect(await world.untilStates(ref, { [A]: 'active' }, 70 * SECOND)).toBeGreaterThan(59 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('that never ends is given up after two minutes, and not repeated while the address is locked', async ({ open }) => {
    const world = open({ provider: { actionMs: 400_000 } });
    const ref = pool(world, 'a');
    await world.start();
    await world.untilStates(ref, { [A]: 'error' }, 130 * SECOND);
    expect(world.status(ref).ips?.[A as never]).toMatchObject({ inDoubt: true });
    await world.untilStates(ref, { [A]: 'active' }, 300 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });
});

describe('a limit', () => {
  test('with Retry-After 60 is kept: nothing is sent before, and the node is not blamed', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 60_000 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active' }, 90 * SECOND);
    expect(gaps(world)).toHaveLength(1);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(60 * SECOND);
    expect(gaps(world)[0]).toBeLessThan(61 * SECOND);
    expect(world.status(ref).nodeErrors).toEqual([]);
  });

  test('does not keep an address on a node that was lost while the limit was waited for', async ({ open }) => {
    const world = open();
    pool(world, 'a', 'b');
    world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'RateLimited', retryAfterMs: 60_000 });
    await world.start();
    await world.clock.runUntil(() => world.assigns().length === 1, 5 * SECOND);
    world.cluster.setNode(node('a', { ready: false }));
    expect(await world.untilOn(A, 'b', 90 * SECOND)).toBeGreaterThan(58 * SECOND);
  });
});

describe('an assign whose outcome is unknown', () => {
  const faults: Readonly<Record<string, Fault>> = {
    'cut off before it arrived': { kind: 'loseRequest' },
    'without an answer for 15 s': { kind: 'hang' },
  };
  for (const [what, fault] of Object.entries(faults)) {
    test(`${what} is looked up first, and repeated once it can have no more effect`, async ({ open }) => {
      const world = open();
      const ref = pool(world, 'a');
      world.provider.faults.next('assignRoutedIP', fault);
      await world.start();
      await world.untilStates(ref, { [A]: 'active' }, 60 * SECOND);
      expect(world.assigns()).toHaveLength(2);
      expect(gaps(world)[0]).toBeGreaterThanOrEqual(15 * SECOND);
      expect(world.invariants.repeats).toEqual([]);
    });
  }

  test('answered by 500 is looked up first, and repeated 2 s later: nobody works on it any more', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', refuse('Unavailable'));
    await world.start();
    await world.untilStates(ref, { [A]: 'active' }, 60 * SECOND);
    expect(world.assigns()).toHaveLength(2);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(2 * SECOND);
    expect(gaps(world)[0]).toBeLessThan(4 * SECOND);
    expect(world.invariants.repeats).toEqual([]);
  });

  test('that gets no answer is in doubt until the call deadline; one that is answered by 500 after it, for 2 s', async ({ open }) => {
    const world = open();
    pool(world, 'a');
    world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
    world.provider.faults.next('assignRoutedIP', refuse('Unavailable'));
    await world.start();
    await world.untilOn(A, 'a', 60 * SECOND);
    expect(gaps(world)[0]).toBeGreaterThanOrEqual(15 * SECOND);
    expect(gaps(world)[1]).toBeGreaterThanOrEqual(2 * SECOND);
  });

  const applied: Readonly<Record<string, Fault>> = {
    'answered by 500, but done 1.9 s later': { kind: 'refuse', error: 'Unavailable', effectAfterMs: 1_900 },
    'cut off after it arrived': { kind: 'loseReply' },
    'without an answer, but done after 10 s': { kind: 'hang', effectAfterMs: 10_000 },
  };
  for (const [what, fault] of Object.entries(applied)) {
    test(`${what} is found by a read, and not repeated`, async ({ open }) => {
      const world = open();
      const ref = pool(world, 'a', 'b');
      world.provider.faults.next('assignRoutedIP', fault);
      await world.start();
      await world.untilStates(ref, { [A]: 'active' }, 60 * SECOND);
      await world.clock.advance(60 * SECOND);
      expect(world.assigns()).toHaveLength(1);
      expect(world.holderOf(A)).toBe('a');
    });
  }

  test('keeps its node until it is known: no other address is granted it meanwhile', async ({ open }) => {
    const world = open();
    world.nodes(node('a'));
    world.address(A);
    world.address(B);
    const ref = world.pool('ingress', { ips: [A, B] });
    world.provider.faults.next('assignRoutedIP', { kind: 'hang', effectAfterMs: 14_000 });
    await world.start();
    await world.untilStates(ref, { [A]: 'active', [B]: 'unassigned' }, 60 * SECOND);
    expect(world.assigns().map(({ what }) => what)).toEqual([`${A} → a`]);
  });

  test('goes elsewhere only after a read, when its node is lost meanwhile', async ({ open }) => {
    const world = open();
    pool(world, 'a', 'b');
    world.provider.faults.next('assignRoutedIP', { kind: 'hang' });
    await world.start();
    await world.clock.advance(20 * SECOND);
    expect(world.assigns()).toHaveLength(1);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', 40 * SECOND);
    expect(world.assigns()[1]?.at).toBeGreaterThan(30 * SECOND);
  });
});

describe('reads that lag behind', () => {
  test('do not make an assign that worked be repeated', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a');
    await world.start();
    world.provider.staleReads(8_000);
    await world.untilStates(ref, { [A]: 'active' }, 30 * SECOND);
    expect(world.assigns()).toHaveLength(1);
  });

  test('do not take a moved address back to the node that it left', async ({ open }) => {
    const world = open();
    const ref = pool(world, 'a', 'b');
    await world.start();
    await world.untilStates(ref, { [A]: 'active' });
    world.provider.staleReads(10_000);
    world.cluster.setNode(node('a', { ready: false }));
    await world.untilOn(A, 'b', 5_000);
    await world.untilStates(ref, { [A]: 'active' }, 30 * SECOND);
    await world.clock.advance(400 * SECOND);
    expect(world.holderOf(A)).toBe('b');
    expect(world.assigns()).toHaveLength(2);
  });
});
