import { describe, expect } from 'vitest';
import type { Address, ObjectRef } from '../../../machines/model/types.ts';
import { ingress } from '../../support/setups.ts';
import { test } from '../../support/sound.ts';
import { node, type World } from '../../support/world.ts';
import { allActive, creates, ipsOf } from './creation-steps.ts';

const SECOND = 1000;
const LISTED = '203.0.113.207' as Address;
const MINUTE = 60 * SECOND;

/** A pool that has two addresses more than its manifest lists, and a tool that applies the manifest every 5 s where something differs. */
async function underSelfHeal(world: World): Promise<{ readonly ref: ObjectRef; readonly heals: (forMs: number) => Promise<number> }> {
  const ref = ingress(world, { nodes: ['a', 'b', 'c'], addresses: { [LISTED]: 'a' }, desiredIPs: 3 });
  await world.start();
  await world.clock.runUntil(allActive(world, ref, 3), MINUTE);
  const heals = async (forMs: number): Promise<number> => {
    let count = 0;
    for (let passed = 0; passed < forMs; passed += 5 * SECOND) {
      await world.clock.advance(5 * SECOND);
      if (ipsOf(world, ref).length === 1) continue;
      world.pool('ingress', { ips: [LISTED], desiredIPs: 3 });
      count += 1;
    }
    return count;
  };
  return { ref, heals };
}

const degraded = (world: World, ref: ObjectRef) => world.cluster.conditions(ref).find(({ type }) => type === 'Degraded');

describe('a tool that takes out of spec.ips what the operator adds there', () => {
  test('is answered less and less often, and the addresses serve all the time', async ({ open }) => {
    const world = open();
    const { ref, heals } = await underSelfHeal(world);
    const [shown, sent] = [world.cluster.projections.length, world.provider.writes().length];
    expect(await heals(10 * MINUTE)).toBeLessThanOrEqual(5);
    expect(world.cluster.projections.length - shown).toBeLessThan(40);
    expect(world.provider.writes().slice(sent)).toEqual([]);
    expect(allActive(world, ref, 3)()).toBe(true);
  });

  test('is told of in Degraded and by an Event; the pool stays ready', async ({ open }) => {
    const world = open();
    const { ref, heals } = await underSelfHeal(world);
    await heals(MINUTE);
    expect(degraded(world, ref)).toMatchObject({ status: 'True', reason: 'SpecReverted' });
    expect(degraded(world, ref)?.message).toMatch(/^203\.0\.113\.\d+ was added to spec\.ips, and somebody has taken it out again/);
    expect(world.cluster.conditions(ref).find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True', reason: 'AllActive' });
    const events = world.cluster.projections.flatMap((projection) => projection.events.map(({ reason }) => reason));
    expect(events.filter((reason) => reason === 'SpecReverted').length).toBe(1);
  });

  test('keeps no address from failing over that its manifest does not list', async ({ open }) => {
    const world = open();
    const { ref, heals } = await underSelfHeal(world);
    await heals(2 * MINUTE);
    expect(ipsOf(world, ref)).toEqual([LISTED]);
    const on = (world.status(ref).ips ?? {}) as Readonly<Record<string, { readonly nodeName?: string }>>;
    const [address, lost] = Object.entries(on).find(([each]) => each !== LISTED) ?? [];
    world.nodes(node('d'));
    world.cluster.setNode(node(lost?.nodeName ?? '', { ready: false }));
    await world.clock.runUntil(() => world.status(ref).ips?.[address as Address]?.nodeName === 'd', 10 * SECOND);
  });

  test('is over once somebody lists all of them: a manifest that is applied by hand later is mended at once', async ({ open }) => {
    const world = open();
    const { ref, heals } = await underSelfHeal(world);
    await heals(2 * MINUTE);
    const all = Object.keys(world.status(ref).ips ?? {}) as Address[];
    world.pool('ingress', { ips: all, desiredIPs: 3 });
    await world.clock.runUntil(() => degraded(world, ref)?.status === 'False', 5 * SECOND);
    world.pool('ingress', { ips: all.slice(0, 1), desiredIPs: 3 });
    await world.clock.runUntil(() => ipsOf(world, ref).length === 3, 5 * SECOND);
  });

  test('creates nothing more by it, also under another leader', async ({ open }) => {
    const world = open();
    const { ref, heals } = await underSelfHeal(world);
    await heals(MINUTE);
    for (const process of world.processes) process.kill();
    await world.start();
    await heals(5 * MINUTE);
    expect(allActive(world, ref, 3)()).toBe(true);
    expect(creates(world)).toHaveLength(2);
  });
});

describe('an address that a pool created and gave up', () => {
  /** A pool has created two addresses, and gives one to another pool. */
  async function handedOver(world: World, kept: 0 | 1) {
    const ref = ingress(world, { nodes: ['a', 'b', 'c'], desiredIPs: 2 });
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 2), MINUTE);
    const [own, given] = kept === 0 ? ipsOf(world, ref) : [...ipsOf(world, ref)].reverse();
    world.pool('ingress', { ips: [own as Address], desiredIPs: 1 });
    await world.clock.advance(MINUTE);
    const other = world.pool('other', { ips: [given as Address], desiredIPs: 1 });
    await world.clock.runUntil(() => allActive(world, ref, 1)() && allActive(world, other, 1)(), 5 * MINUTE);
    return { ref, other, own: own as Address, given: given as Address };
  }

  test('is not taken back from the pool that has it now when one more is wanted', async ({ open }) => {
    const world = open();
    const { ref, other, own, given } = await handedOver(world, 0);
    world.pool('ingress', { ips: [own], desiredIPs: 2 });
    await world.clock.runUntil(allActive(world, ref, 2), 10 * MINUTE);
    expect(world.status(other).ips?.[given]?.state).toBe('active');
    expect(ipsOf(world, ref)).not.toContain(given);
    expect(creates(world)).toHaveLength(3);
  });

  test('takes no place of one that serves when the spec loses that', async ({ open }) => {
    const world = open();
    const { ref, other, own, given } = await handedOver(world, 1);
    world.pool('ingress', { ips: [], desiredIPs: 1 });
    await world.clock.runUntil(() => ipsOf(world, ref).length === 1, MINUTE);
    await world.clock.advance(10 * MINUTE);
    expect(ipsOf(world, ref)).toEqual([own]);
    expect([world.status(ref).ips?.[own]?.state, world.status(other).ips?.[given]?.state]).toEqual(['active', 'active']);
    expect(creates(world)).toHaveLength(2);
  });

  test('is replaced soon when somebody deletes it at the provider while it waits to be listed again', async ({ open }) => {
    const world = open();
    const ref = ingress(world, { nodes: ['a', 'b'], desiredIPs: 1 });
    await world.start();
    await world.clock.runUntil(allActive(world, ref, 1), MINUTE);
    const [made] = ipsOf(world, ref) as [Address];
    for (let turn = 0; turn < 30; turn += 1) {
      world.pool('ingress', { ips: [], desiredIPs: 1 });
      await world.clock.advance(5 * SECOND);
    }
    expect(degraded(world, ref)?.reason).toBe('SpecReverted');
    world.provider.cloud.removeByHand(made);
    await world.clock.runUntil(() => creates(world).length === 2, 6 * MINUTE);
    await world.clock.runUntil(allActive(world, ref, 1), MINUTE);
  });
});
