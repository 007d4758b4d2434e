import { describe, expect, onTestFinished, test } from 'vitest';
import { forbid } from '../e2e/rights.ts';
import { CLASS, type Routed, routedStage } from '../e2e/routed.ts';

/** What becomes of RoutedIPs while the operator may not see what it has to. */
describe('a RoutedIP whose operator may not list', () => {
  const { routed } = routedStage();

  async function shop(world: Routed): Promise<void> {
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.nodes('a', 'b');
    await world.service('shop', ['a', 'b']);
    await world.routedIP('shop');
  }
  const forbidden = async (world: Routed, ...plurals: readonly string[]) => {
    const allow = await forbid(world.stage.target, ...plurals);
    onTestFinished(allow);
    return allow;
  };

  for (const plural of ['services', 'endpointslices', 'pods']) {
    test(`${plural} says which right is missing, and goes on once it is there`, async () => {
      const world = routed();
      const allow = await forbidden(world, plural);
      const operator = await world.stage.start();
      await shop(world);
      expect(await world.degraded('shop', 'Forbidden')).toContain(`the ServiceAccount may not list ${plural}: `);
      expect(await world.condition('shop', 'Ready')).toMatchObject({ status: 'Unknown', reason: 'Forbidden' });
      await world.stage.until('an Event says so', async () => (await world.events('shop')).includes('Forbidden'));
      await world.stage.until('readyz says so', async () => (await operator.metrics('/readyz')).text.includes(`may not list ${plural}`));
      expect(world.changes()).toEqual(['POST /v2/firewalls']);
      await allow();
      await world.stable('shop');
      await world.stage.until('nothing is wrong', async () => (await world.condition('shop'))?.reason === 'AsExpected');
      await operator.ready();
    });
  }

  test('services when it starts anew keeps its address, and what its status remembers', async () => {
    const world = routed();
    const first = await world.stage.start();
    await shop(world);
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address);
    expect(await first.stop()).toBe(0);
    await world.stage.redis.flushAll();
    const allow = await forbidden(world, 'services');
    const before = world.lastCall();
    const former = await world.status('shop');
    await world.stage.start();
    await world.degraded('shop', 'Forbidden');
    const { routedIP, addressOrigin, assignedNode, state, ownedRules } = (await world.status('shop')) ?? {};
    expect({ routedIP, addressOrigin, assignedNode, state, ownedRules }).toEqual({
      routedIP: address,
      addressOrigin: 'Created',
      assignedNode: holder,
      state: 'Stable',
      ownedRules: former?.ownedRules,
    });
    await allow();
    await world.stage.until('nothing is wrong', async () => (await world.condition('shop'))?.reason === 'AsExpected');
    await world.stable('shop');
    expect([world.changes(before), world.stage.heldBy(address)]).toEqual([[], holder]);
  });
});
