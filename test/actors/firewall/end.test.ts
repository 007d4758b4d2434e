import { describe, expect } from 'vitest';
import type { KillPoint } from '../../../actors/ports/observers.ts';
import { firewallActor } from '../../../machines/model/actor-id.ts';
import type { ActorId, ObjectRef } from '../../../machines/model/types.ts';
import { node, type OperatorProcess, PROVIDER, providerIDOf } from '../../support/world.ts';
import { KILL_POINTS } from '../crash/run.ts';
import { test } from '../routedip/routedip-test.ts';
import { FIREWALL, MINUTE, RoutedWorld, SECOND } from '../routedip/world.ts';

/** What the class's Secret is known under. */
const KEY = `${PROVIDER}@default.do-token`;
const ACTOR = firewallActor(KEY, FIREWALL);
const A = '203.0.113.7';

const records = ({ supervisor }: OperatorProcess): readonly ActorId[] => [...supervisor.records().keys()];
const stored = (world: RoutedWorld): readonly ActorId[] => [...world.store.checkpoint().data.cells.keys()];
const give = (world: RoutedWorld, process: OperatorProcess): void =>
  process.providers.set(KEY, { facts: world.facts, provider: world.provider.process() });
const take = (process: OperatorProcess): void => process.providers.set(KEY, null);

/** A RoutedIP that serves on `a`, with the firewall and the Secret of its class. */
async function serving(
  world: RoutedWorld,
  kills?: Parameters<RoutedWorld['start']>[0],
  firewall = FIREWALL,
): Promise<{ ref: ObjectRef; process: OperatorProcess }> {
  world.setClass({ fromSecretsRef: [{ name: 'do-token' }], routedIPFirewallName: firewall });
  world.setNode(node('a'));
  world.address(A);
  world.setWeb('shop', ['a']);
  const process = await world.start(kills);
  give(world, process);
  const ref = world.setRoutedIP('shop', { routedIP: A });
  await world.stable(ref, 'a');
  expect(records(process)).toContain(firewallActor(KEY, firewall));
  return { ref, process };
}

async function release(world: RoutedWorld, ref: ObjectRef): Promise<void> {
  world.cluster.markDeleting(ref);
  await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
  await world.clock.advance(10 * SECOND);
}

describe('the record of a firewall', () => {
  test('ends once nobody claims anything of it and nothing in it is ours, and another one begins with the next claim', async ({ open }) => {
    const world = open();
    const { ref, process } = await serving(world);
    await release(world, ref);
    await world.clock.advance(10 * SECOND);
    expect(records(process)).not.toContain(ACTOR);
    expect(stored(world)).not.toContain(ACTOR);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    await world.stable(world.setRoutedIP('shop', { routedIP: A }), 'a');
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('a')] });
    expect(records(process)).toContain(ACTOR);
  });

  test('ends with its account once nobody claims anything of it and nothing in it is ours', async ({ open }) => {
    const world = open();
    const { ref, process } = await serving(world);
    await release(world, ref);
    take(process);
    await world.clock.advance(10 * SECOND);
    expect(records(process)).not.toContain(ACTOR);
    expect(stored(world)).not.toContain(ACTOR);
  });

  test('stays while an address claims something of it, and while something in it is ours, although its account is gone', async () => {
    const world = new RoutedWorld();
    const { ref, process } = await serving(world);
    take(process);
    await world.clock.advance(MINUTE);
    expect(records(process), 'an address claims its port').toContain(ACTOR);
    world.cluster.annotate(ref, { 'routedip.io/force-release': 'true' });
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    await world.clock.advance(MINUTE);
    expect(records(process), 'a rule is ours').toContain(ACTOR);
    expect(world.firewall().nodes).toEqual([providerIDOf('a')]);
    give(world, process);
    await world.clock.runUntil(() => world.firewall().nodes.length === 0, 10 * MINUTE);
    take(process);
    await world.clock.advance(10 * SECOND);
    expect(records(process)).not.toContain(ACTOR);
  });

  test('stays while its last rule is ours, which the provider wants to keep', async ({ open }) => {
    const world = open();
    world.provider.cloud.addFirewall('bare', []);
    const { ref, process } = await serving(world, undefined, 'bare');
    await release(world, ref);
    expect(world.firewall('bare')).toEqual({ ports: ['tcp/8080'], nodes: [] });
    take(process);
    await world.clock.advance(MINUTE);
    expect(records(process)).toContain(firewallActor(KEY, 'bare'));
  });

  test('begins anew with the next claim, with nothing that is not ours taken out', async ({ open }) => {
    const world = open();
    const { ref, process } = await serving(world);
    await release(world, ref);
    take(process);
    await world.clock.advance(10 * SECOND);
    expect(records(process)).not.toContain(ACTOR);
    give(world, process);
    const next = world.setRoutedIP('shop', { routedIP: A });
    await world.stable(next, 'a');
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('a')] });
    expect(records(process)).toContain(ACTOR);
    await release(world, next);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });

  test('that was given up while nobody led ends with the next leader', async ({ open }) => {
    const world = open();
    const { ref, process } = await serving(world);
    world.cluster.markDeleting(ref);
    await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
    process.kill();
    expect(stored(world)).toContain(ACTOR);
    world.lease.delete();
    const next = await world.start();
    await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
    await world.clock.advance(10 * SECOND);
    expect(stored(world)).not.toContain(ACTOR);
  });

  test('has gone in the end wherever the process ends that ends it', async ({ open }) => {
    let deaths = 0;
    let armed = false;
    for (const point of KILL_POINTS.filter((each: KillPoint) => each.endsWith('Write') || each.endsWith('Dispatch'))) {
      armed = false;
      const world = open();
      const { ref, process } = await serving(world, (at, about) => {
        const dies = armed && at === point && about === ACTOR;
        if (dies) deaths += 1;
        return dies;
      });

      world.cluster.markDeleting(ref);
      await world.clock.runUntil(() => world.cluster.pool(ref) === null, MINUTE);
      armed = true;
      take(process);
      await world.clock.advance(10 * SECOND);
      process.kill();
      world.lease.delete();
      const next = await world.start();
      await world.clock.runUntil(() => next.supervisor.leading, MINUTE);
      await world.clock.advance(10 * SECOND);
      expect(stored(world), point).not.toContain(ACTOR);
      give(world, next);
      const again = world.setRoutedIP('shop', { routedIP: A });
      await world.stable(again, 'a');
      expect(world.firewall(), point).toEqual({ ports: ['tcp/22', 'tcp/8080'], nodes: [providerIDOf('a')] });
      for (const each of world.processes) each.kill();
    }
    expect(deaths).toBeGreaterThan(0);
  });
});
