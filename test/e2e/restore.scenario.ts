import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, GROUP, openRouted, type Routed } from './routed.ts';
import { NAMESPACE } from './routed-objects.ts';
import { openStage, type Stage } from './stage.ts';
import { openTarget } from './target.ts';
import { Vips } from './vip-objects.ts';

type Metadata = Readonly<Record<string, JsonObject>>;

/** What a backup has of an object that is restored elsewhere: neither its status nor what its API server gave it. */
function backedUp({ apiVersion, kind, metadata, spec }: JsonObject): JsonObject {
  const { name, namespace, labels, annotations } = metadata as unknown as Metadata;
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespace && { namespace }), ...(labels && { labels }), ...(annotations && { annotations }) },
    spec,
  } as unknown as JsonObject;
}

/** Clusters of one account, as docs/restoring.md tells it: each has an API server, a Redis and an operator of its own. */
export const restoreScenarios = () =>
  describe('what was backed up of a cluster', () => {
    vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
    let ends: (() => Promise<void>)[] = [];
    let former: Routed;

    const opened = async (nodes: readonly string[], beside?: Stage): Promise<Routed> => {
      const target = await openTarget();
      ends.push(() => target.close());
      const stage = await openStage(target, beside ? { beside } : {});
      ends.push(() => stage.close());
      const world = openRouted(stage);
      ends.push(() => world.close());
      await stage.nodes(...nodes);
      await world.addFirewall(`edge-${nodes[0]}`);
      await world.setClass(CLASS, { routedIPFirewallName: `edge-${nodes[0]}` });
      await world.service('shop', nodes);
      return world;
    };
    const stored = ({ stage }: Routed): Promise<JsonObject> =>
      stage.target.client.get({ apiVersion: GROUP, kind: 'RoutedIP', namespace: NAMESPACE, name: 'shop' });
    const addresses = (): readonly string[] => [...former.stage.cloud.state.reservedIPs.keys()];

    beforeEach(async () => {
      ends = [];
      former = await opened(['a', 'b']);
    });
    afterEach(async () => {
      for (const end of ends.reverse()) await end();
    });

    test('gets its address in another cluster, whose operator knows of it by the annotation alone', async () => {
      const operator = await former.stage.start();
      await former.routedIP('shop');
      const address = await former.stable('shop');
      await former.stage.until('the annotation names it', async () => {
        const { annotations } = (await stored(former)).metadata as unknown as Metadata;
        return (annotations as unknown as Record<string, string> | undefined)?.['routedip.io/address'] === address;
      });
      const backup = backedUp(await stored(former));
      operator.kill('SIGKILL');
      await operator.exited;
      for (const [id, { name }] of former.stage.cloud.state.droplets) if (['a', 'b'].includes(name)) former.stage.cloud.removeDroplet(id);

      const next = await opened(['c', 'd'], former.stage);
      await next.put(backup);
      await next.stage.start();
      expect(await next.stable('shop')).toBe(address);
      expect(addresses()).toEqual([address]);
      expect(await next.events('shop')).toContain('AddressFound');
      expect((await next.status('shop'))?.addressOrigin).toBe('Found');
    });

    test('waits for its address in another cluster while a machine of the former one has it', async () => {
      await former.stage.start();
      await former.routedIP('shop');
      const address = await former.stable('shop');
      const next = await opened(['c', 'd'], former.stage);
      const backup = backedUp(await stored(former));
      await next.put(backup);
      await next.stage.start();
      const message = await next.degraded('shop', 'HeldElsewhere');
      expect(message).toContain(address);
      expect([addresses(), former.stage.heldBy(address) !== null]).toEqual([[address], true]);
    });

    test('of a RoutedIP is not needed: made again from its manifest it has the address that was retained, also after Redis was emptied', async () => {
      const operator = await former.stage.start();
      await former.routedIP('shop');
      const address = await former.stable('shop');
      await former.deleteRoutedIP('shop');
      await former.stage.until('it is gone', async () => (await former.status('shop')) === null);
      operator.kill('SIGTERM');
      await operator.exited;
      await former.stage.redis.flushAll();
      await former.routedIP('shop');
      await former.stage.start();
      expect(await former.stable('shop')).toBe(address);
      expect(addresses()).toEqual([address]);
      expect(await former.events('shop')).toContain('AddressReused');
    });

    test('of Services and their IPGroup gives each its address again, once the uids of the former cluster are taken off the IPs', async () => {
      const vips = new Vips(former.stage);
      await vips.group('group', '10.3.0.0/29');
      const operator = await vips.start();
      for (const name of ['first', 'second']) await vips.service(name);
      for (const [name, address] of [
        ['first', '10.3.0.0'],
        ['second', '10.3.0.1'],
      ] as const)
        await vips.listing(name, address);
      await vips.remove('first');
      await vips.until('it is gone', async () => (await vips.find('first')) === null);
      operator.kill('SIGKILL');
      await operator.exited;
      const ips = await vips.client.list('paas.org/v1', 'IP');
      expect(ips.map(({ metadata }) => metadata.name)).toEqual(['10.3.0.1']);

      const next = await opened(['c', 'd'], former.stage);
      const restored = new Vips(next.stage);
      await restored.group('group', '10.3.0.0/29');
      for (const ip of ips) {
        const backup = backedUp(ip) as unknown as { metadata: { annotations: Record<string, string> } };
        delete backup.metadata.annotations['ips.paas.org/owner-uid'];
        await next.put(backup as unknown as JsonObject);
      }
      await restored.service('second');
      await restored.start();
      await restored.listing('second', '10.3.0.1');
      await restored.service('first');
      await restored.listing('first', '10.3.0.0');
    });
  });
