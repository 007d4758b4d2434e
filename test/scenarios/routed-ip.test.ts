import { describe, expect, test } from 'vitest';
import { routedStage } from '../e2e/routed.ts';

describe('a RoutedIP', () => {
  const { routed } = routedStage();

  /** A RoutedIP `shop` with an address of its own on node b, the youngest. */
  async function shop(spec = {}) {
    const world = routed();
    await world.addFirewall();
    await world.setClass('floating', spec);
    await world.stage.nodes('a', 'b');
    await world.service('shop', ['a', 'b']);
    const operator = await world.stage.start();
    await world.routedIP('shop');
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    return { world, operator, address, holder, other: holder === 'a' ? 'b' : 'a' };
  }

  test('gets an address, opens its port, and moves with its node: opened there first, pruned here last', async () => {
    const { world, holder, other, operator } = await shop();
    expect(world.firewall()).toEqual({ ports: ['tcp/22', 'tcp/30080'], nodes: [holder] });
    expect(world.changes()).toEqual(['POST /v2/firewalls', 'CreateRoutedIP', 'AddPort', 'AddNode', 'AssignRoutedIP']);
    const before = world.lastCall();
    await world.stage.notReady(holder);
    await world.stable('shop', other);
    expect(world.changes(before)).toEqual(['AddNode', 'AssignRoutedIP', 'DeleteNode']);
    await world.stage.until('only the holder bears the mark', async () => {
      const [held, left] = await Promise.all([world.taints(other), world.taints(holder)]);
      return held.includes('routedip.io/routed-ip:PreferNoSchedule') && !left.some((taint) => taint.startsWith('routedip.io/'));
    });
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await operator.stop()).toBe(0);
  });

  test('that is deleted leaves its address attached, and nothing of it in the firewall', async () => {
    const { world, address, holder } = await shop();
    await world.deleteRoutedIP('shop');
    await world.stage.until('it is gone', async () => (await world.status('shop')) === null);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
    expect(world.stage.heldBy(address)).toBe(holder);
  });
});
