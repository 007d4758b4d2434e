import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, GROUP, type Routed, routedStage } from '../e2e/routed.ts';
import { NAMESPACE } from '../e2e/routed-objects.ts';

const AWAY = { match: { path: '^/v2/' }, kind: 'status', code: 503 } as const;

const REF = { apiVersion: GROUP, kind: 'RoutedIP', namespace: NAMESPACE, name: 'shop' };

/** What becomes of an address, and of what was done for it, when its RoutedIP is deleted. */
describe('a RoutedIP that is deleted', () => {
  const { routed } = routedStage();

  async function shop(policy: JsonObject = {}, spec: JsonObject = {}) {
    const world = routed();
    await world.addFirewall();
    await world.setClass(CLASS, policy);
    await world.stage.nodes('a', 'b');
    await world.service('shop', ['a', 'b']);
    const operator = await world.stage.start();
    await world.routedIP('shop', spec);
    const address = await world.stable('shop');
    return { world, operator, address, holder: world.stage.heldBy(address) ?? '' };
  }

  const gone = (world: Routed, deadlineMs?: number) =>
    world.stage.until('the RoutedIP is gone', async () => (await world.status('shop')) === null, deadlineMs);
  const unmarked = (world: Routed, node: string) =>
    world.stage.until('the mark is off', async () => (await world.taints(node)).every((taint) => !taint.startsWith('routedip.io/')));
  const told = (world: Routed, note: string) => world.stage.until(note, async () => (await world.notes('shop')).includes(note));
  const annotate = (world: Routed, annotations: JsonObject) => world.editRoutedIP('shop', { metadata: { annotations } });

  test('under Retain leaves its address attached, gives its ports back and takes its mark off', async () => {
    const { world, address, holder } = await shop();
    const before = world.lastCall();
    await world.deleteRoutedIP('shop');
    await gone(world);
    expect(world.changes(before)).toEqual(['DeletePort', 'DeleteNode']);
    expect([world.stage.heldBy(address), world.firewall()]).toEqual([holder, { ports: ['tcp/22'], nodes: [] }]);
    await unmarked(world, holder);
    await told(world, `Retained: ${address} stays where it is`);
  });

  test('under Delete takes the address along that was created for it', async () => {
    const { world, address } = await shop({ routedIPReclaimPolicy: 'Delete' });
    await world.deleteRoutedIP('shop');
    await gone(world);
    expect(world.changes().slice(-3)).toEqual(['DeletePort', 'DeleteNode', 'DeleteRoutedIP']);
    expect([...world.stage.cloud.state.reservedIPs.keys()]).toEqual([]);
    await told(world, `Released: ${address} was deleted at the provider`);
  });

  test('under Delete leaves an address that was there before, unless an annotation says otherwise', async () => {
    const { ip } = routed().stage.cloud.addReservedIP({ region: 'nyc3' });
    const { world, address } = await shop({ routedIPReclaimPolicy: 'Delete' }, { routedIP: ip });
    expect([address, (await world.status('shop'))?.addressOrigin]).toEqual([ip, 'Found']);
    await world.deleteRoutedIP('shop');
    await gone(world);
    expect(world.stage.heldBy(ip)).not.toBeNull();

    await world.routedIP('shop', { routedIP: ip });
    await world.stable('shop');
    await annotate(world, { 'routedip.io/delete-adopted': 'true' });
    await world.deleteRoutedIP('shop');
    await gone(world);
    expect([...world.stage.cloud.state.reservedIPs.keys()]).toEqual([]);
  });

  test('while the provider is away stays, says why, and goes when the provider is back', async () => {
    const { world, address } = await shop({ routedIPReclaimPolicy: 'Delete' });
    const away = world.stage.cloud.faults.add(AWAY);
    await world.deleteRoutedIP('shop');
    await world.stage.until('it says why', async () => ((await world.status('shop'))?.error ?? '').includes('503'));
    // While it is tried again nothing counts as wrong for a moment.
    await world.stage.until('it is degraded', async () => (await world.condition('shop'))?.status === 'True');
    expect(world.stage.cloud.state.reservedIPs.has(address)).toBe(true);
    away.remove();
    await gone(world);
    expect([...world.stage.cloud.state.reservedIPs.keys()]).toEqual([]);
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });

  test('while the provider is away goes at once when it is forced, and leaves what is there', async () => {
    const { world, address, holder } = await shop({ routedIPReclaimPolicy: 'Delete' });
    const away = world.stage.cloud.faults.add(AWAY);
    await world.deleteRoutedIP('shop');
    await world.stage.until('it says why', async () => ((await world.status('shop'))?.error ?? '').includes('503'));
    await annotate(world, { 'routedip.io/force-release': 'true' });
    await gone(world, 30_000);
    await unmarked(world, holder);
    expect(world.stage.heldBy(address)).toBe(holder);
    await world.stage.until('an Event says what is left', async () =>
      (await world.notes('shop')).some((note) => note.includes(address) && note.includes('force')),
    );
    away.remove();
    // What is left of its ports nobody claims, and it was ours.
    await world.stage.until('the firewall is clean', () => world.firewall().nodes.length === 0);
    expect(world.stage.cloud.state.reservedIPs.has(address)).toBe(true);
  });

  test('is let go once although the finalizer of somebody else keeps it for a while', async () => {
    const { world, address, holder } = await shop();
    const finalizers = async () => (await world.stage.target.client.get(REF)).metadata.finalizers;
    await world.editRoutedIP('shop', { metadata: { finalizers: ['routedip.io/finalizer', 'example.com/keeps'] } });
    const before = world.lastCall();
    await world.deleteRoutedIP('shop');
    await world.stage.until('ours is off', async () => JSON.stringify(await finalizers()) === JSON.stringify(['example.com/keeps']));
    // What is begun anew would be seen by then: the provider is read for it, and the port opened.
    const reads = () => world.stage.cloud.calls.select({ since: before }).filter(({ path }) => path.startsWith('/v2/reserved_ips?')).length;
    const now = reads();
    await world.stage.until('the provider is read again and again', () => reads() > now + 1);
    expect(world.changes(before)).toEqual(['DeletePort', 'DeleteNode']);
    expect([world.stage.heldBy(address), await finalizers()]).toEqual([holder, ['example.com/keeps']]);
    await world.editRoutedIP('shop', { metadata: { finalizers: [] } });
    await gone(world);
  });

  test('is the last to use its class: the class goes after it, and until then it serves', async () => {
    const { world, address, holder } = await shop();
    const { client } = world.stage.target;
    const ref = { apiVersion: GROUP, kind: 'ClusterRoutedIPClass', name: CLASS };
    // Its status and its finalizer are written in no order.
    await world.stage.until('the class names its user, and is kept for it', async () => {
      const { metadata, status } = await client.get(ref);
      const { routedIPs = [] } = (status ?? {}) as { readonly routedIPs?: readonly JsonObject[] };
      return routedIPs.length === 1 && (metadata.finalizers ?? []).includes('routedip.io/finalizer');
    });
    await client.delete(ref);
    expect((await client.get(ref)).metadata.deletionTimestamp).toBeDefined();
    await world.stage.notReady(holder);
    await world.stage.until('it has moved', () => world.stage.heldBy(address) !== holder);
    await world.stable('shop', world.stage.heldBy(address) ?? '');
    await world.deleteRoutedIP('shop');
    await gone(world);
    await world.stage.until('the class is gone', async () => {
      const names = (await client.list(GROUP, 'ClusterRoutedIPClass')).map(({ metadata }) => metadata.name);
      return !names.includes(CLASS);
    });
    expect(world.firewall()).toEqual({ ports: ['tcp/22'], nodes: [] });
  });
});
