import { describe, expect } from 'vitest';
import type { Fault } from '../../../adapters/memory/faults.ts';
import type { Address } from '../../../machines/model/types.ts';
import { ingress } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node } from '../../support/world.ts';
import { allActive, beforeCreation, creates, ipsOf } from './creation-steps.ts';

const A = '203.0.113.207' as Address;
const SECOND = 1000;

describe('a creation whose outcome is unknown', () => {
  const taken: Readonly<Record<string, Fault>> = {
    'was done': { kind: 'loseReply' },
    'is done 10 s later': { kind: 'hang', effectAfterMs: 10_000 },
  };
  for (const [what, fault] of Object.entries(taken)) {
    test(`and that ${what} is found by a list, and not repeated`, async ({ open }) => {
      const world = open();
      world.nodes(node('a'));
      world.address(A);
      const ref = world.pool('ingress', { desiredIPs: 1 });
      world.provider.faults.next('createRoutedIP', fault);
      await world.start();
      await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
      await world.clock.advance(60 * SECOND);
      expect(creates(world)).toHaveLength(1);
      expect(world.provider.cloud.addresses()).toHaveLength(2);
      expect(ipsOf(world, ref)).not.toContain(A);
    });
  }

  const lost: Readonly<Record<string, Fault>> = {
    'never arrived': { kind: 'loseRequest' },
    'was answered by 503': { kind: 'refuse', error: 'Unavailable' },
    'had no answer': { kind: 'hang' },
  };
  for (const [what, fault] of Object.entries(lost)) {
    test(`and that ${what} is made once more, after it can have no more effect`, async ({ open }) => {
      const world = open();
      const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
      world.provider.faults.next('createRoutedIP', fault);
      await world.start();
      await world.clock.runUntil(allActive(world, ref, 1), 90 * SECOND);
      expect(world.provider.cloud.addresses()).toHaveLength(1);
      const [first, second] = creates(world);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(15 * SECOND);
    });
  }

  test('is not taken for one that a person made while the call waited for a limit', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    const refused: Fault = { kind: 'refuse', error: 'RateLimited' };
    world.provider.faults.next('createRoutedIP', refused, 200);
    await world.start();
    await world.clock.advance(30 * SECOND);
    world.address(A);
    await world.clock.advance(60 * SECOND);
    world.provider.faults.clear();
    world.provider.faults.next('createRoutedIP', { kind: 'loseRequest' });
    await world.clock.runUntil(allActive(world, ref, 1), 120 * SECOND);
    expect(ipsOf(world, ref)).not.toContain(A);
    // In 90 s of waiting: nobody lists again and again meanwhile.
    const lists = world.provider.calls.filter(({ purpose, at }) => purpose === 'intend' && at <= 90 * SECOND);
    expect(lists).toHaveLength(2);
  });

  test('is not taken for an address that another pool lists by then', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'loseRequest' });
    beforeCreation(world, () => {
      world.address(A);
      world.pool('other', { ips: [A], match: { nodeLabel: 'pool=none' } });
    });
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), 90 * SECOND);
    expect(ipsOf(world, ref)).not.toContain(A);
    expect(creates(world)).toHaveLength(2);
  });

  test('while a person creates one too: nothing is created, until the right one is listed', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'loseReply' });
    beforeCreation(world, () => {
      world.address(A);
    });
    await world.start();
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 60 * SECOND);
    expect(world.cluster.conditions(ref)).toContainEqual(expect.objectContaining({ type: 'Degraded', reason: 'CreateUnknown' }));
    expect(world.status(ref).error).toContain(A);
    await world.clock.advance(900 * SECOND);
    expect(creates(world)).toHaveLength(1);
    const made = world.provider.cloud.addresses().find(({ address }) => address !== A)?.address ?? '';
    world.pool('ingress', { ips: [made], desiredIPs: 1 });
    await world.untilStates(ref, { [made]: 'active' });
    expect(creates(world)).toHaveLength(1);
    expect(world.status(ref)).not.toHaveProperty('error');
  });

  test('is still not repeated after a restart and after the records are lost', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'loseReply' });
    beforeCreation(world, () => {
      world.address(A);
    });
    const first = await world.start();
    await world.clock.runUntil(() => world.status(ref).error !== undefined, 60 * SECOND);
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    await world.start();
    await world.clock.advance(300 * SECOND);
    expect(creates(world)).toHaveLength(1);
    expect(world.cluster.conditions(ref)).toContainEqual(expect.objectContaining({ type: 'Degraded', reason: 'CreateUnknown' }));
  });

  test('and that only the status remembers is not repeated by a replica that stood by all the while', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 12 * SECOND });
    const first = await world.start();
    await world.start();
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    await world.clock.runUntil(allActive(world, ref, 1), 120 * SECOND);
    await world.clock.advance(120 * SECOND);
    expect([ipsOf(world, ref), creates(world).length]).toEqual([['203.0.113.1'], 1]);
  });

  test('and that only the status remembers keeps other pools from creating, from the start and whatever is wrong with its spec', async ({
    open,
  }) => {
    const world = open();
    ingress(world, { nodes: ['a', 'b'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 12 * SECOND });
    const first = await world.start();
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    first.kill();
    world.store.wipe();
    world.queues.wipe();
    const broken = world.pool('ingress', { desiredIPs: 1, match: { nodeLabel: 'pool in (' } });
    const other = world.pool('other', { desiredIPs: 1 });
    const second = await world.start();
    await world.clock.runUntil(() => second.supervisor.leading, 60 * SECOND);
    // What became of the first is found out although the spec is not valid; only then the other pool may create.
    await world.clock.runUntil(() => creates(world).length === 2, 60 * SECOND);
    expect(ipsOf(world, broken)).toEqual(['203.0.113.1']);
    const ref = world.pool('ingress', { desiredIPs: 1 });
    await world.clock.runUntil(() => allActive(world, ref, 1)() && allActive(world, other, 1)(), 60 * SECOND);
    expect([ipsOf(world, ref), ipsOf(world, other)]).toEqual([['203.0.113.1'], ['203.0.113.2']]);
    expect(creates(world)).toHaveLength(2);
  });

  test('and during which the spec becomes invalid leaves the others free to create once it was looked up', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 12 * SECOND });
    await world.start();
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    world.pool('ingress', { desiredIPs: 1, match: { nodeLabel: 'pool in (' } });
    const other = world.pool('other', { desiredIPs: 1 });
    await world.clock.runUntil(allActive(world, other, 1), 60 * SECOND);
    expect([ipsOf(world, ref), ipsOf(world, other)]).toEqual([['203.0.113.1'], ['203.0.113.2']]);
    expect([creates(world).length, world.provider.cloud.addresses().length]).toEqual([2, 2]);
    expect(world.cluster.conditions(ref)).toContainEqual(expect.objectContaining({ type: 'Degraded', reason: 'InvalidSpec' }));
  });

  test('and during which the spec becomes invalid is looked up, and used when the spec is valid again', async ({ open }) => {
    const world = open();
    ingress(world, { nodes: ['a'], desiredIPs: 1 });
    world.provider.faults.next('createRoutedIP', { kind: 'hang', effectAfterMs: 12_000 });
    await world.start();
    await world.clock.runUntil(() => creates(world).length === 1, 10 * SECOND);
    world.pool('ingress', { desiredIPs: 1, match: { nodeLabel: 'pool in (' } });
    await world.clock.advance(3 * SECOND);
    const ref = world.pool('ingress', { desiredIPs: 1 });
    await world.clock.runUntil(allActive(world, ref, 1), 60 * SECOND);
    expect(creates(world)).toHaveLength(1);
    expect(world.provider.cloud.addresses()).toHaveLength(1);
  });
});
