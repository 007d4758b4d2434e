import { describe, expect, test } from 'vitest';
import { CLASS, routedStage } from '../e2e/routed.ts';
import { HTTP } from '../e2e/routed-objects.ts';

/** What becomes of a RoutedIP while its nodes and its Service come and go. */
describe('the address of a RoutedIP', () => {
  const { routed } = routedStage();

  async function opened(...nodes: readonly string[]) {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS);
    await world.stage.nodes(...nodes);
    const operator = await world.stage.start();
    return { world, operator };
  }

  /** Its Service may have endpoints on nodes that are not there yet. */
  async function shop(endpoints: readonly string[] = ['a', 'b']) {
    const { world, operator } = await opened('a', 'b');
    await world.service('shop', endpoints);
    await world.routedIP('shop');
    const address = await world.stable('shop');
    const holder = world.stage.heldBy(address) ?? '';
    return { world, operator, address, holder, other: holder === 'a' ? 'b' : 'a' };
  }

  test('leaves a node that is cordoned: opened there, moved, closed here', async () => {
    const { world, address, holder, other } = await shop();
    const before = world.lastCall();
    await world.cordon(holder);
    await world.stable('shop', other);
    expect(world.changes(before)).toEqual(['AddNode', 'AssignRoutedIP', 'DeleteNode']);
    expect(world.stage.heldBy(address)).toBe(other);
    await world.stage.until('an Event says why', async () => (await world.events('shop')).includes('Draining'));
  });

  test('stays on a node that is cordoned while there is no other', async () => {
    const { world, address, holder, other } = await shop();
    await world.stage.notReady(other);
    const before = world.lastCall();
    await world.cordon(holder);
    await world.stage.until('it is said', async () => (await world.condition('shop', 'Progressing'))?.reason === 'Draining');
    expect(await world.condition('shop', 'Ready')).toMatchObject({ status: 'True' });
    expect(world.changes(before)).toEqual([]);
    await world.stage.ready(other);
    await world.stable('shop', other);
    expect(world.stage.heldBy(address)).toBe(other);
  });

  test('goes with the Service’s Pods, and stays where it is while none is ready', async () => {
    const { world, address, holder, other } = await shop();
    await world.endpoints('shop', [other]);
    await world.stable('shop', other);
    const before = world.lastCall();
    await world.endpoints('shop', [other], false);
    const why = await world.degraded('shop', 'NoEligibleNode');
    expect(why).toContain(`no eligible node is free for ${address}: `);
    expect(why, 'of each node').toContain(`${other} (no ready endpoint of the Service is on it)`);
    expect(await world.condition('shop', 'Ready')).toMatchObject({ status: 'False', reason: 'NoEligibleNode' });
    await world.endpoints('shop', [other]);
    await world.stable('shop', other);
    await world.stage.until('it is ready', async () => (await world.condition('shop', 'Ready'))?.status === 'True');
    expect(world.changes(before)).toEqual([]);
    expect([world.stage.heldBy(address), world.firewall().nodes]).toEqual([other, [other]]);
    expect(holder).not.toBe(other);
  });

  test('does not move when an administrator takes the mark off its node: the mark is put back', async () => {
    const { world, address, holder } = await shop();
    const mark = 'routedip.io/routed-ip:PreferNoSchedule';
    await world.stage.until('it is marked', async () => (await world.taints(holder)).includes(mark));
    const [before, epoch] = [world.lastCall(), (await world.status('shop'))?.epoch];
    const bare = await world.stage.target.client.patch({ apiVersion: 'v1', kind: 'Node', name: holder }, { spec: { taints: null } });
    expect(JSON.stringify(bare.spec), 'it is off').not.toContain('routedip.io/routed-ip');
    await world.stage.until('the mark is back', async () => (await world.taints(holder)).includes(mark));
    expect(world.changes(before)).toEqual([]);
    expect([world.stage.heldBy(address), (await world.status('shop'))?.epoch]).toEqual([holder, epoch]);
  });

  test('does not move when a younger node comes, and goes to it when its own is deleted', async () => {
    // Nodes are told in the order of their changes: who hears that the holder is gone has heard of c. Endpoints that come with c would be told at any time.
    const { world, address, holder } = await shop(['a', 'b', 'c']);
    await world.stage.nodes('c');
    const before = world.lastCall();
    await world.stage.deleteNode(holder);
    await world.stage.until('it has moved', () => world.stage.heldBy(address) !== holder);
    await world.stable('shop', 'c');
    expect(world.changes(before)).toEqual(['AddNode', 'AssignRoutedIP', 'DeleteNode']);
    expect(world.stage.assigns(address)).toHaveLength(2);
  });

  test('is given to a Service that comes later, and to no Service of type ExternalName', async () => {
    const { world } = await opened('a');
    await world.routedIP('shop');
    expect(await world.degraded('shop', 'ServiceNotFound')).toBe('there is no Service default/shop');
    expect(world.changes()).toEqual(['POST /v2/firewalls']);

    await world.put({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'elsewhere', namespace: 'default' },
      spec: { type: 'ExternalName', externalName: 'shop.example.com' },
    });
    await world.routedIP('elsewhere');
    expect(await world.degraded('elsewhere', 'ServiceNotSupported')).toBe(
      'Service default/elsewhere: it is of type ExternalName, which has no nodes',
    );

    await world.service('shop', ['a']);
    const address = await world.stable('shop', 'a');
    expect(world.stage.cloud.state.reservedIPs.size).toBe(1);
    expect(await world.condition('shop')).toMatchObject({ status: 'False', reason: 'AsExpected' });
    await world.stage.target.client.delete({ apiVersion: 'v1', kind: 'Service', namespace: 'default', name: 'shop' });
    await world.degraded('shop', 'ServiceNotFound');
    expect([world.stage.heldBy(address), world.firewall()]).toEqual(['a', { ports: ['tcp/22', 'tcp/30080'], nodes: ['a'] }]);
    await world.put({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'shop', namespace: 'default' },
      spec: { type: 'NodePort', selector: { app: 'ingress' }, ports: [HTTP] },
    });
    await world.stage.until('it is ready again', async () => (await world.condition('shop', 'Ready'))?.status === 'True');
    expect(world.stage.assigns(address)).toHaveLength(1);
  });
});
