import { describe, expect } from 'vitest';
import { Evacuations } from '../../../actors/status/evacuation.ts';
import { virtualClock } from '../../../adapters/memory/clock.ts';
import type { Evacuation, ObjectRef, ObservedNode } from '../../../machines/model/types.ts';
import { node, providerIDOf, type World } from '../../support/world.ts';
import { test } from '../routedip/routedip-test.ts';

const A = '203.0.113.7';
const B = '203.0.113.8';
const evacuated = (name: string): ObservedNode => node(name, { evacuating: true });
const shown = (world: World, name: string) => world.cluster.evacuations()[name];

/** The pool holds A on a; of the other nodes none holds anything. */
async function served(world: World, ...others: readonly string[]): Promise<ObjectRef> {
  world.nodes(node('a'), ...others.map((name) => node(name)));
  world.address(A, 'a');
  const ref = world.pool('ingress', { ips: [A] });
  await world.start();
  await world.untilStates(ref, { [A]: 'active' });
  return ref;
}

describe('a node whose annotation nobody can read', () => {
  test('says so, and what stands on others is said of them as ever', async () => {
    const clock = virtualClock();
    const shows: Readonly<Record<string, Evacuation>>[] = [];
    const evacuations = new Evacuations({
      writer: { showEvacuations: (wanted) => void shows.push(wanted) },
      clock,
      objects: () => [],
      recordsOf: () => null,
      isLeading: () => true,
    });
    const ref = (name: string) => ({ name, providerID: providerIDOf(name) });
    evacuations.observed([{ ...ref('a'), unclear: 'yes' }, ref('b')]);
    await clock.advance(1_000);
    expect(shows).toEqual([
      {
        a: {
          status: 'False',
          reason: 'InvalidAnnotation',
          message: 'routedip.io/evacuate is "yes", which is neither "true" nor "false": it counts as "false"',
        },
        b: { status: 'True', reason: 'NoAddressHeld', message: 'no address is held here' },
      },
    ]);
  });
});

describe('a node that is to be evacuated', () => {
  test('gives its address to a free node, whatever the drain policy, and says so once it holds none', async ({ open }) => {
    const world = open();
    const ref = await served(world, 'b');
    expect(world.cluster.evacuations()).toEqual({});
    world.cluster.setNode(evacuated('a'));
    await world.clock.runUntil(() => shown(world, 'a')?.status === 'False', 1_000);
    await world.untilOn(A, 'b', 1_000);
    await world.clock.runUntil(() => shown(world, 'a')?.status === 'True', 5_000);
    expect(shown(world, 'a')).toEqual({ status: 'True', reason: 'NoAddressHeld', message: 'no address is held here' });
    await world.untilStates(ref, { [A]: 'active' });
    expect(world.provider.cloud.history(A as never).map(({ providerID }) => providerID)).toEqual(['digitalocean://a', 'digitalocean://b']);
  });

  test('keeps it while it can be had nowhere else, and the condition says which; it moves when another node comes', async ({ open }) => {
    const world = open();
    const ref = await served(world);
    world.cluster.setNode(evacuated('a'));
    await world.clock.runUntil(() => shown(world, 'a')?.status === 'False', 1_000);
    await world.clock.advance(600_000);
    expect([world.states(ref), world.assigns()]).toEqual([{ [A]: 'active' }, []]);
    expect(shown(world, 'a')).toEqual({
      status: 'False',
      reason: 'AddressesHeld',
      message: `1 address is held here: ${A} (FloatingIPPool default/ingress: waits for another node)`,
    });
    expect(world.cluster.conditions(ref).find(({ type }) => type === 'Progressing')).toMatchObject({
      reason: 'Draining',
      message: `a is to be evacuated: ${A} leaves it as soon as another node is free`,
    });
    world.nodes(node('b'));
    await world.untilOn(A, 'b', 1_000);
    await world.clock.runUntil(() => shown(world, 'a')?.status === 'True', 5_000);
  });

  test('is granted nothing, and says nothing any more once the annotation is gone', async ({ open }) => {
    const world = open();
    await served(world);
    world.nodes(evacuated('b'));
    world.address(B);
    const other = world.pool('other', { ips: [B] });
    await world.clock.runUntil(() => shown(world, 'b')?.status === 'True', 5_000);
    await world.clock.advance(60_000);
    expect([world.holderOf(B), world.assigns()]).toEqual([null, []]);
    expect(world.cluster.conditions(other).find(({ type }) => type === 'Degraded')?.message).toContain(
      'b (the Node is to be evacuated (routedip.io/evacuate))',
    );
    world.cluster.setNode(node('b'));
    await world.untilOn(B, 'b', 1_000);
    await world.clock.runUntil(() => Object.keys(world.cluster.evacuations()).length === 0, 1_000);
  });

  test('keeps the address of a pool that is paused, and says that it is', async ({ open }) => {
    const world = open();
    const ref = await served(world, 'b');
    world.cluster.annotate(ref, { 'routedip.io/paused': 'true' });
    world.cluster.setNode(evacuated('a'));
    await world.clock.runUntil(() => shown(world, 'a')?.message.includes('it is paused') ?? false, 5_000);
    await world.clock.advance(60_000);
    expect(world.assigns()).toEqual([]);
    world.cluster.annotate(ref, {});
    await world.untilOn(A, 'b', 1_000);
    await world.clock.runUntil(() => shown(world, 'a')?.status === 'True', 5_000);
  });

  test('is not said to be empty by a leader that does not know yet where the addresses are', async ({ open }) => {
    const world = open();
    await served(world);
    for (const process of world.processes) process.kill();
    world.store.wipe();
    const said: (string | undefined)[] = [];
    world.cluster.setNode(evacuated('a'));
    await world.start();
    await world.clock.runUntil(() => {
      said.push(shown(world, 'a')?.status);
      return said.at(-1) === 'False';
    }, 120_000);
    expect(said).not.toContain('True');
  });

  test('gives up the address of a RoutedIP the same way, its firewall opened first', async ({ open }) => {
    const world = open();
    world.setClass();
    world.setNode(node('a'), node('b'));
    world.setWeb('shop', ['a', 'b']);
    const ref = world.setRoutedIP('shop');
    await world.start();
    await world.stable(ref);
    const from = String(world.statusOf(ref).assignedNode);
    const to = from === 'a' ? 'b' : 'a';
    const before = world.changes().length;
    world.cluster.setNode(evacuated(from));
    await world.clock.runUntil(() => shown(world, from)?.message.includes('RoutedIP web/shop') ?? false, 1_000);
    await world.stable(ref, to);
    await world.clock.runUntil(() => shown(world, from)?.status === 'True', 5_000);
    expect(world.changes().slice(before)).toEqual(['addRoutedIPFirewallNode', 'assignRoutedIP', 'deleteRoutedIPFirewallNode']);
  });
});
