import { expect } from 'vitest';
import { moveLog } from '../../../actors/status/move-log.ts';
import type { ObjectRef } from '../../../machines/model/types.ts';
import { recordedLog } from '../../adapters/kubernetes/support.ts';
import { node } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from '../routedip/world.ts';

/** What is logged of the moves in a world, from now on. */
function logged(world: RoutedWorld) {
  const written: { message: string; fields: Record<string, unknown> }[] = [];
  const observer = moveLog({
    log: { ...recordedLog(), info: (message, fields = {}) => void written.push({ message, fields }) },
    clock: world.clock,
  });
  const { turnSaved } = world.invariants;
  world.invariants.turnSaved = (turn) => {
    turnSaved.call(world.invariants, turn);
    observer.turnSaved(turn);
  };
  return written;
}

/** A RoutedIP on one of two nodes. */
async function served(world: RoutedWorld): Promise<ObjectRef> {
  world.setClass({});
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  await world.leader();
  const ref = world.setRoutedIP('shop');
  await world.stable(ref);
  return ref;
}

test('a failover is four lines: lost, elected, opened, assigned, with the same object and address', async ({ open }) => {
  const world = open({ provider: { actionMs: 2 * SECOND } });
  const ref = await served(world);
  const from = String(world.statusOf(ref).assignedNode);
  const to = from === 'a' ? 'b' : 'a';
  const address = world.statusOf(ref).routedIP;
  const lines = logged(world);
  world.setNode(node(from, { ready: false }));
  await world.stable(ref, to);
  await world.clock.advance(SECOND);
  const about = { object: 'RoutedIP web/shop', address, term: 1 };
  expect(lines).toEqual([
    { message: 'an address has lost its node', fields: { ...about, from, reason: 'NodeLost' } },
    { message: 'a node is elected for an address', fields: { ...about, from, to } },
    { message: 'ports are open for an address', fields: { ...about, to, ports: expect.any(Array), durationMs: expect.any(Number) } },
    {
      message: 'an address is assigned',
      fields: { ...about, from, to, durationMs: expect.any(Number), job: expect.stringContaining('rip/web/shop') },
    },
  ]);
  expect(lines[3]?.fields.durationMs).toBeGreaterThanOrEqual(2 * SECOND);
});

test('a move that somebody asked for is no loss of the node', async ({ open }) => {
  const world = open();
  const ref = await served(world);
  const from = String(world.statusOf(ref).assignedNode);
  const to = from === 'a' ? 'b' : 'a';
  const lines = logged(world);
  world.cluster.annotate(ref, { 'routedip.io/move-to': to });
  await world.stable(ref, to);
  await world.clock.advance(SECOND);
  expect(lines[0]).toMatchObject({ message: 'an address has lost its node', fields: { from, reason: 'NodeLeaves' } });
});

test('a node that refuses the address is given up with the reason, and an address that goes is given up', async ({ open }) => {
  const world = open();
  world.setClass({});
  world.setNode(node('a'));
  world.setWeb('shop', ['a']);
  await world.leader();
  const ref = world.setRoutedIP('shop');
  await world.stable(ref);
  const lines = logged(world);
  world.setNode(node('a', { ready: false }), node('b'));
  world.setWeb('shop', ['b']);
  world.provider.faults.next('assignRoutedIP', { kind: 'refuse', error: 'NodeInUse' });
  await world.stable(ref, 'b');
  await world.clock.advance(SECOND);
  expect(lines).toContainEqual(
    expect.objectContaining({
      message: 'a node is given up for an address',
      fields: expect.objectContaining({ to: 'b', reason: 'NodeInUse' }),
    }),
  );
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
  await world.clock.advance(SECOND);
  expect(lines.at(-1)).toMatchObject({ message: 'an address is given up', fields: { object: 'RoutedIP web/shop', from: 'b' } });
});

test('an address that somebody moves at the provider is lost by drift', async ({ open }) => {
  const world = open();
  const ref = await served(world);
  const from = world.statusOf(ref).assignedNode;
  const lines = logged(world);
  world.provider.cloud.moveByHand(world.statusOf(ref).routedIP as never, null);
  await world.clock.advance(10 * MINUTE);
  expect(lines[0]).toMatchObject({ message: 'an address has lost its node', fields: { from, reason: 'DriftDetected' } });
});
