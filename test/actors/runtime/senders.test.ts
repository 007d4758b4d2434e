import { describe, expect } from 'vitest';
import type { Sender } from '../../../actors/ports/observers.ts';
import type { Address } from '../../../machines/model/types.ts';
import { node } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld } from '../routedip/world.ts';

const A = '203.0.113.7' as Address;
const OLD = node('old', { createdAt: 1 });
const YOUNG = node('young', { createdAt: 2 });
/** Short names for who is there. */
const NAMES: Readonly<Record<string, string>> = {
  'rip/web/shop': 'pool',
  [`rip/web/shop/ip/${A}`]: 'address',
  'firewall/digitalocean/edge': 'firewall',
};

const nameOf = (from: Sender): string => {
  if (from.kind === 'actor') return NAMES[from.actor] ?? from.actor;
  return from.kind === 'job' ? `job ${from.invokeId}` : from.kind;
};

/** An address on `old` that may go to `young`. */
async function serving(world: RoutedWorld) {
  world.setClass();
  world.setNode(OLD, YOUNG);
  world.address(A, 'old');
  world.setWeb('shop', ['old', 'young']);
  await world.leader();
  const ref = world.setRoutedIP('shop', { routedIP: A });
  await world.stable(ref, 'old');
  return ref;
}

/** What was heard since the first `after` turns, each event once, in its order. */
const heardIn = (world: RoutedWorld, after: number) =>
  world.invariants.turns
    .slice(after)
    .flatMap(({ transitions }) =>
      transitions.flatMap(({ actor, heard }) => heard.map((one) => ({ to: actor, ...one }))).sort((a, b) => a.order - b.order),
    );

describe('an observer', () => {
  test('is told who sent each event of a failover, in the order in which they were heard, and what it bore', async ({ open }) => {
    const world = open();
    const ref = await serving(world);
    const before = world.invariants.turns.length;
    world.cluster.setNode({ ...OLD, ready: false });
    await world.stable(ref, 'young');
    const heard = heardIn(world, before);
    expect(heard.map(({ from, to, event }) => `${nameOf(from)} → ${NAMES[to]}: ${event.type}`)).toEqual([
      'outside → pool: CLUSTER_OBSERVED',
      'pool → address: NODE_OBSERVED',
      'address → pool: READY',
      'pool → address: NODE_GRANTED',
      'job elect → address: xstate.done.actor.elect',
      'address → firewall: CLAIM',
      'job look → firewall: xstate.done.actor.look',
      'job open → firewall: xstate.done.actor.open',
      'firewall → address: OPENED',
      'job assign → address: xstate.done.actor.assign',
      'address → pool: ASSIGNED',
      'address → firewall: CLAIM',
      'job prune → firewall: xstate.done.actor.prune',
      'firewall → address: PRUNED',
    ]);
    expect(heard[3]?.event).toMatchObject({ node: { name: 'young' }, at: expect.any(Number) });
  });

  test('is told of a timer that an actor set for itself, and by whom an actor was begun', async ({ open }) => {
    const world = open();
    await serving(world);
    const begun = heardIn(world, 0).filter(({ event }) => event.type === 'init');
    expect(begun.map(({ from, to }) => [nameOf(from), NAMES[to]])).toEqual(
      expect.arrayContaining([
        ['outside', 'pool'],
        ['pool', 'address'],
      ]),
    );
    await world.clock.advance(10 * MINUTE);
    const timers = heardIn(world, 0).filter(({ event }) => event.type.startsWith('xstate.after.'));
    expect(timers.length).toBeGreaterThan(0);
    expect(timers.filter(({ from }) => from.kind !== 'timer')).toEqual([]);
  });
});
