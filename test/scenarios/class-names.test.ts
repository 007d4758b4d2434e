import { describe, expect, test } from 'vitest';
import { CLASS_NAME, type Condition, GROUP, type Routed, routedStage } from '../e2e/routed.ts';
import { HTTP } from '../e2e/routed-objects.ts';

/** Two classes of one implementation that differ in their firewall. */
describe('two classes with one className', () => {
  const { routed } = routedStage();

  const classOf = async (world: Routed, name: string): Promise<string | undefined> => (await world.status(name))?.class?.name;
  const conditionOf = async ({ stage }: Routed, name: string, type: string): Promise<Condition | undefined> => {
    const found = await stage.target.client.get({ apiVersion: GROUP, kind: 'ClusterRoutedIPClass', name });
    return (found as unknown as { readonly status?: { readonly conditions?: readonly Condition[] } }).status?.conditions?.find(
      (condition) => condition.type === type,
    );
  };

  async function opened(): Promise<Routed> {
    const world = routed();
    for (const firewall of ['edge', 'other']) await world.addFirewall(firewall);
    await world.setClass('first');
    await world.stage.nodes('a', 'b', 'c');
    for (const [index, name] of ['shop', 'late', 'third'].entries())
      await world.service(name, ['a', 'b', 'c'], [{ ...HTTP, nodePort: 30_081 + index }]);
    return world;
  }

  test('serve who names them; who is served stays with his, and who comes later is asked which one he means', async () => {
    const world = await opened();
    const operator = await world.stage.start();
    await world.routedIP('shop');
    const address = await world.stable('shop');
    await world.setClass('second', { routedIPFirewallName: 'other' });
    await world.routedIP('late');
    expect(await world.degraded('late', 'ClassAmbiguous')).toBe(
      `several ClusterRoutedIPClasses have the className "${CLASS_NAME}": name one of them as className: first, second`,
    );
    await world.stage.until('an Event says so', async () => (await world.events('late')).includes('ClassAmbiguous'));
    for (const [name, way] of [
      ['first', 'className: first'],
      ['second', 'className: second'],
    ] as const) {
      await world.stage.until(`${name} says so`, async () => (await conditionOf(world, name, 'Conflict'))?.message.endsWith(way) ?? false);
      await world.stage.until(`${name} is ready`, async () => (await conditionOf(world, name, 'Ready'))?.status === 'True');
    }

    await world.editRoutedIP('late', { spec: { className: 'second' } });
    const other = await world.stable('late');
    expect([await classOf(world, 'shop'), await classOf(world, 'late')]).toEqual(['first', 'second']);
    await world.stage.until('its port is open in its own firewall', () => world.firewall('other').ports.includes('tcp/30082'));
    expect(world.firewall('edge').ports).toEqual(['tcp/22', 'tcp/30081']);

    // Without any records, too: each is known by its status, and nothing moves.
    expect(await operator.stop()).toBe(0);
    const before = world.lastCall();
    await world.stage.start({ flags: ['--jobs=memory'] });
    await world.setClass('elsewhere', { className: 'second' });
    await world.routedIP('third', { className: 'first' });
    await world.stable('third');
    expect([await classOf(world, 'shop'), await classOf(world, 'late')]).toEqual(['first', 'second']);
    expect([await world.stable('shop'), await world.stable('late')]).toEqual([address, other]);
    const assigns = world.changes(before).filter((change) => change.includes(address) || change.includes(other));
    expect(assigns).toEqual([]);
  });

  test('are one again when the other goes', async () => {
    const world = await opened();
    await world.setClass('second', { routedIPFirewallName: 'other' });
    await world.stage.start();
    await world.routedIP('shop');
    await world.degraded('shop', 'ClassAmbiguous');
    await world.stage.target.client.delete({ apiVersion: GROUP, kind: 'ClusterRoutedIPClass', name: 'first' });
    await world.stable('shop');
    expect(await classOf(world, 'shop')).toBe('second');
    await world.stage.until('it says nothing any more', async () => (await conditionOf(world, 'second', 'Conflict')) === undefined);
  });
});
