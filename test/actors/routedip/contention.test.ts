import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { node, PROVIDER, providerIDOf } from '../../support/world.ts';
import { test } from './routedip-test.ts';
import { MINUTE, type RoutedWorld, SECOND } from './world.ts';

const A = '203.0.113.70' as Address;
const HOUR = 60 * MINUTE;
/** From one look of the other cluster to the next. */
const LOOKS = 5 * MINUTE;

type Policy = 'class' | 'issuer';

function setPolicy(world: RoutedWorld, policy: Policy, contention: object | null): ObjectRef {
  const rules = contention ? { contention: { ...contention } } : {};
  if (policy === 'class') return world.setClass(rules);
  world.openNamespace();
  const spec = { issuerClass: PROVIDER, region: 'nyc3', ...rules };
  return world.cluster.setPolicy({ kind: 'RoutedIPIssuer', namespace: 'web', name: 'own', spec });
}

/** A RoutedIP whose address another cluster wants on a machine of its own. */
async function fought(world: RoutedWorld, contention: object | null, by: Policy = 'class'): Promise<ObjectRef> {
  setPolicy(world, by, contention);
  world.setNode(node('a'), node('b'));
  world.setWeb('shop', ['a', 'b']);
  world.provider.cloud.addNode(providerIDOf('foreign'));
  world.address(A);
  const ref = world.setRoutedIP('shop', { routedIP: A, ...(by === 'issuer' && { className: null, issuerRef: { name: 'own' } }) });
  await world.leader();
  await world.stable(ref);
  return ref;
}

/** For so long the other cluster takes the address back at each of its looks. */
async function fight(world: RoutedWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += LOOKS) {
    world.provider.cloud.moveByHand(A, providerIDOf('foreign'));
    await world.clock.advance(LOOKS);
  }
}

describe('an address that another cluster takes back again and again', () => {
  test.for(['class', 'issuer'] as const)('is left to it after as many moves as the %s says, and that is told', async (by, { open }) => {
    const world = open();
    const ref = await fought(world, { moves: 3, windowSeconds: 24 * 3600 }, by);
    const before = world.assigns().length;
    await fight(world, 6 * HOUR);
    expect(world.assigns().length - before).toBeLessThanOrEqual(3);
    expect([world.reasonOf(ref), world.reasonOf(ref, 'Degraded')]).toEqual(['Contended', 'Contended']);
    expect(world.statusOf(ref).contendedUntil).toEqual(expect.any(String));
    expect(world.holderOf(A), 'it stays with the other one').toBe('foreign');
  });

  test('is taken back once nobody has moved it for a window', async ({ open }) => {
    const world = open();
    const ref = await fought(world, { moves: 2, windowSeconds: 3600 });
    await fight(world, HOUR);
    expect(world.reasonOf(ref)).toBe('Contended');
    await world.clock.runUntil(() => world.reasonOf(ref) === 'Assigned', 2 * HOUR);
    expect(world.statusOf(ref).contendedUntil).toBeUndefined();
  });

  test('is left to it for the rest of that time although all records are lost', async ({ open }) => {
    const world = open();
    const ref = await fought(world, { moves: 2, windowSeconds: 24 * 3600 });
    await fight(world, HOUR);
    const [until, assigns] = [world.statusOf(ref).contendedUntil, world.assigns().length];
    for (const process of world.processes) process.kill();
    world.store.wipe();
    world.queues.wipe();
    world.invariants.forget();
    await world.leader();
    await world.clock.advance(HOUR);
    expect([world.reasonOf(ref), world.assigns().length]).toEqual(['Contended', assigns]);
    expect(Math.abs(Date.parse(String(world.statusOf(ref).contendedUntil)) - Date.parse(String(until)))).toBeLessThan(SECOND);
  });

  test('is taken back each time by a class that says nothing of it', async ({ open }) => {
    const world = open();
    const ref = await fought(world, null);
    const before = world.assigns().length;
    await fight(world, 2 * HOUR);
    expect(world.assigns().length - before).toBeGreaterThan(15);
    expect(world.statusOf(ref).contendedUntil).toBeUndefined();
  });
});

test.for(['class', 'issuer'] as const)('rules of a %s that mean nothing are refused, with the field', async (by, { open }) => {
  const world = open();
  const policy = setPolicy(world, by, { moves: 0, windowSeconds: 60 });
  await world.leader();
  await world.untilReason(policy, 'InvalidSpec');
  expect(world.messageOf(policy)).toContain('contention needs moves of at least 1 and windowSeconds above 0');
});
