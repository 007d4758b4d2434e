import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { GROUP_CLASS, runJobs } from '../e2e/group-jobs.ts';
import { CLASS, GROUP, openRouted, type Routed } from '../e2e/routed.ts';
import { NAMESPACE } from '../e2e/routed-objects.ts';
import { openStage, type Stage } from '../e2e/stage.ts';
import { openTarget } from '../e2e/target.ts';
import { Vips } from '../e2e/vip-objects.ts';
import { kubectl } from '../support/kubectl.ts';
import type { Operator } from '../support/operator.ts';

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

const LEDGER = 'routedip-operator-addresses-default';

/** The command by which docs/restoring.md has the uids of former Services taken off. */
const WITHOUT_UIDS = /kubectl (annotate ips .*)/.exec(readFileSync(new URL('../../docs/restoring.md', import.meta.url), 'utf8'))?.[1] ?? '';

/** Clusters of one account, as docs/restoring.md tells it: each has an API server, a Redis and an operator of its own. */
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
  /** All of the former cluster is gone, its machines too. */
  const isLost = async (operator: Operator): Promise<void> => {
    operator.kill('SIGKILL');
    await operator.exited;
    for (const [id, { name }] of former.stage.cloud.state.droplets) if (['a', 'b'].includes(name)) former.stage.cloud.removeDroplet(id);
  };
  /** Restores the objects `IP`, as docs/restoring.md has it. */
  const restoreIPs = async (ips: readonly JsonObject[], { put, stage: { target } }: Routed): Promise<void> => {
    for (const ip of ips) await put(backedUp(ip));
    const { code, stderr } = await kubectl(WITHOUT_UIDS.split(' '), { kubeconfig: target.adminKubeconfig });
    expect([code, stderr]).toEqual([0, '']);
  };
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
    await isLost(operator);

    const next = await opened(['c', 'd'], former.stage);
    await next.put(backup);
    await next.stage.start();
    expect(await next.stable('shop')).toBe(address);
    expect(addresses()).toEqual([address]);
    expect(await next.events('shop')).toContain('AddressFound');
    expect((await next.status('shop'))?.addressOrigin).toBe('Found');
  });

  test('gets it as one that was created, where the list of what was created is restored too', async () => {
    const operator = await former.stage.start();
    await former.routedIP('shop');
    const address = await former.stable('shop');
    const ledger = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'routedip-operator', name: LEDGER };
    const listed = async () =>
      former.stage.target.client.get(ledger).then(
        (found) => found as unknown as { data: { addresses: string } },
        () => null,
      );
    await former.stage.until('it is listed', async () => (await listed())?.data.addresses.includes(address) ?? false);
    const { metadata: _, ...list } = (await listed()) as unknown as JsonObject;
    const { metadata: __, ...object } = backedUp(await stored(former));
    await isLost(operator);

    const next = await opened(['c', 'd'], former.stage);
    const { name, namespace } = ledger;
    await next.put({ ...list, metadata: { name, namespace, labels: { 'app.kubernetes.io/name': 'routedip-operator' } } });
    // From a manifest that has not even the annotation.
    await next.put({ ...object, metadata: { name: 'shop', namespace: NAMESPACE } });
    await next.stage.start();
    expect(await next.stable('shop')).toBe(address);
    expect(addresses()).toEqual([address]);
    expect(await next.events('shop')).toContain('AddressReused');
    expect((await next.status('shop'))?.addressOrigin).toBe('Created');
  });

  test('of a pool has the addresses that were created, by its list', async () => {
    const operator = await former.stage.start();
    await former.stage.pool('ingress', { desiredIPs: 2 });
    await former.stage.until('both are active', async () => (await former.stage.getPool('ingress')).status?.activeIPs === 2);
    const created = [...addresses()];
    const backup = backedUp((await former.stage.getPool('ingress')) as unknown as JsonObject);
    await isLost(operator);

    const next = await opened(['c', 'd'], former.stage);
    await next.put(backup);
    await next.stage.start();
    await next.stage.until('both are active there', async () => (await next.stage.getPool('ingress')).status?.activeIPs === 2);
    expect([created.length, addresses()]).toEqual([2, created]);
    expect(created.map(next.stage.heldBy).sort()).toEqual(['c', 'd']);
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
    await restoreIPs(ips, next);
    await restored.service('second');
    await restored.start();
    await restored.listing('second', '10.3.0.1');
    await restored.service('first');
    await restored.listing('first', '10.3.0.0');
  });

  test('of a RoutedIP of an IPGroup gives it its address again, by the same command', async () => {
    const groupClass = { ...GROUP_CLASS, spec: { ...(GROUP_CLASS.spec as JsonObject), routedIPReclaimPolicy: 'Retain' } };
    const opens = async (world: Routed): Promise<Operator> => {
      await new Vips(world.stage).group('edge', '10.9.0.0/29', ['10.9.0.0', '10.9.0.3-10.9.0.7']);
      await world.put(groupClass);
      return world.stage.start({ flags: ['--controllers=routedip,vip'] });
    };
    const has = (world: Routed, name: string, address: string) =>
      world.stage.until(`RoutedIP ${name} has ${address}`, async () => {
        await runJobs(world.stage);
        const status = await world.status(name);
        return status?.state === 'Stable' && status.routedIP === address;
      });
    const operator = await opens(former);
    await former.routedIP('first', { className: 'example.com/http', serviceRef: { serviceName: 'shop' } });
    await has(former, 'first', '10.9.0.1');
    await former.routedIP('shop', { className: 'example.com/http' });
    await has(former, 'shop', '10.9.0.2');
    await former.deleteRoutedIP('first');
    await former.stage.until('it is gone', async () => {
      await runJobs(former.stage);
      return (await former.status('first')) === null;
    });
    const ips = await former.stage.target.client.list('paas.org/v1', 'IP');
    const backup = backedUp(await stored(former));
    await isLost(operator);

    const next = await opened(['c', 'd'], former.stage);
    await restoreIPs(ips, next);
    await next.put(backup);
    await opens(next);
    await has(next, 'shop', '10.9.0.2');
    expect((await next.status('shop'))?.addressOrigin).toBe('IPGroup');
    // What was kept of the one that is gone is its name's, here too.
    await next.routedIP('other', { className: 'example.com/http', serviceRef: { serviceName: 'shop' } });
    await next.routedIP('first', { className: 'example.com/http', serviceRef: { serviceName: 'shop' } });
    await has(next, 'first', '10.9.0.1');
    expect(await new Vips(next.stage).reserved()).toEqual({ '10.9.0.1': 'RoutedIP/default/first', '10.9.0.2': 'RoutedIP/default/shop' });
  });
});
