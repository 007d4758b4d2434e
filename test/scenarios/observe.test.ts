import { describe, expect, test } from 'vitest';
import type { Difference } from '../../machines/model/types.ts';
import { conditionOfPod, OWN_CONDITION, observe, planOf, plans, rows, served } from '../e2e/observing.ts';
import { type Routed, routedStage } from '../e2e/routed.ts';
import { HTTP, NODE_PORT } from '../e2e/routed-objects.ts';
import type { Target } from '../e2e/target.ts';
import { Vips } from '../e2e/vip-objects.ts';
import { digitalOceanZone } from '../e2e/zones.ts';

const LEASE = 'floating-ip-pool-controller-leader-election';
const NODES = ['a', 'b', 'c', 'd', 'e', 'f'];
const OTHER_PORT = { ...HTTP, nodePort: NODE_PORT + 1 };
const STALE = '203.0.113.250';

/** A pool with an address on node a and a loose one, both to be published; a pool that lacks an address; a RoutedIP behind a firewall; a Service with an IPGroup. */
async function account(world: Routed, web = 'web', segment = '10.6.0.0/29') {
  const { stage } = world;
  await stage.nodes(...NODES);
  const droplet = (name: string) => [...stage.cloud.state.droplets.values()].find((each) => each.name === name)?.id ?? 0;
  const address = (dropletId?: number) => stage.cloud.addReservedIP({ region: 'nyc3', ...(dropletId && { dropletId }) }).ip;
  const [held, loose, bound] = [address(droplet('a')), address(), address()];
  const zone = await digitalOceanZone(stage.cloud, 'example.com');
  zone.add({ type: 'A', name: 'www', data: STALE, ttl: 60 });
  await world.addFirewall();
  await world.setClass('floating');
  await world.service('shop', NODES);
  const vips = new Vips(stage);
  await world.put({ apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: `of-${web}` }, spec: { segment, excludedIPs: [] } });
  await world.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: web, namespace: 'default' },
    spec: { type: 'LoadBalancer', selector: { app: web }, ports: [{ name: 'web', port: 80 }] },
  });
  await stage.pool('ingress', {
    ips: [held, loose],
    dnsRecordSet: { provider: 'digitalocean', zone: 'example.com', recordName: 'www', ttlSeconds: 60 },
  });
  await stage.pool('lacking', { desiredIPs: 1 });
  await world.routedIP('shop', { routedIP: bound });
  const since = world.lastCall();
  const kube = stage.target.operatorWrites().length;
  const writes = () => [...world.changes(since), ...stage.target.operatorWrites().slice(kube)];
  return { stage, vips, zone, droplet, held, loose, bound, writes };
}

/** Who holds the Lease, and under which term. */
const leaseOf = async ({ client }: Target): Promise<unknown> => {
  const ref = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'routedip-operator', name: LEASE };
  const { metadata, spec } = await client.get(ref);
  return [metadata.annotations, (spec as { readonly holderIdentity?: string } | undefined)?.holderIdentity];
};

describe('an operator that only observes', () => {
  const { routed } = routedStage({ audit: true });

  test('decides all and writes nothing; a crash changes nothing of that; without the flag it does all of it', async () => {
    const world = routed();
    const { stage, vips, zone, droplet, held, loose, bound, writes } = await account(world);
    let operator = await observe(stage);
    const expected = (moved: readonly RegExp[] = []): readonly RegExp[] => [
      /^allocate 10\.6\.0\.0: - > vip\/default\/web$/,
      new RegExp(`^assign ${loose}: - > [b-f]$`),
      new RegExp(`^assign ${bound}: - > [b-f]$`),
      /^create a new address: - > pool\/default\/lacking$/,
      ...moved,
      /^open [b-f]: - > firewall edge$/,
      new RegExp(`^open tcp/${NODE_PORT}: - > firewall edge$`),
      new RegExp(`^publish A www\\.example\\.com: - > ${held}$`),
      new RegExp(`^publish A www\\.example\\.com: - > ${loose}$`),
      new RegExp(`^withdraw A www\\.example\\.com: ${STALE} > -$`),
    ];
    await plans(stage, operator, expected());
    expect(operator.log.filter(({ observeOnly }) => observeOnly !== true)).toEqual([]);
    expect((await operator.metrics('/readyz')).text).toContain('observe: only observes');
    expect((await operator.metrics('/metrics')).text).toMatch(/^routedip_observe_only 1$/m);
    expect(await (await fetch(`${served(operator, 'dashboard')}/api/about`)).json()).toMatchObject({ observes: true });
    const asked = (await (await fetch(`${served(operator, 'journal')}/plan`)).json()) as { differences: readonly Difference[] };
    expect(rows(asked.differences)).toEqual(rows(await planOf(operator)));

    await stage.notReady('a');
    const moves = new RegExp(`^move ${held}: a > [b-f]$`);
    await plans(stage, operator, expected([moves]));
    // With pauses of 100 ms between tries it would have been tried again long since.
    const tries = operator.log.filter(({ msg, message }) => msg === 'a change is withheld' && String(message).startsWith('create '));
    expect([tries.length, operator.log.filter(({ msg }) => msg === 'a job failed')]).toEqual([1, []]);
    operator.kill('SIGKILL');
    await operator.exited;
    operator = await observe(stage);
    await plans(stage, operator, expected([moves]));

    // Somebody else does one of them, and something else with another one.
    const to = (await planOf(operator)).find(({ subject }) => subject === loose)?.to ?? '';
    stage.cloud.moveReservedIP(loose, droplet(to));
    zone.add({ type: 'A', name: 'www', data: loose, ttl: 60 });
    await stage.until('these are planned no more', async () => {
      const plan = rows(await planOf(operator));
      return !plan.some((row) => row.startsWith(`assign ${loose}`) || row.endsWith(` > ${loose}`));
    });
    await stage.until('its Pod says so', async () => (await conditionOfPod(stage.target)) === 'True');
    expect(await operator.stop()).toBe(0);
    // Each process says so of its own Pod.
    expect(writes()).toEqual([OWN_CONDITION, OWN_CONDITION]);
    expect(stage.target.observerRefusals()).toEqual([]);
    expect(operator.log.filter(({ level }) => level === 'error')).toEqual([]);

    await stage.start();
    await stage.until('the pool has both', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    const published = [`A ${held} 60`, `A ${loose} 60`].sort().join();
    await stage.until('they are published', () => zone.records('www').join() === published);
    await stage.until('the other pool has one', async () => (await stage.getPool('lacking')).spec.ips?.length === 1);
    expect(await world.stable('shop')).toBe(bound);
    await vips.listing('web', '10.6.0.0');
    expect(world.firewall().ports).toEqual(['tcp/22', `tcp/${NODE_PORT}`]);
    expect(world.firewall().nodes).toEqual([stage.heldBy(bound)]);
    expect(stage.heldBy(loose)).toBe(to);
    expect(stage.heldBy(held)).not.toBe('a');
    expect(writes()).toEqual(expect.arrayContaining(['AssignRoutedIP', 'AddPort', expect.stringMatching(/ \/apis\/paas\.org\/v1\/ips$/)]));
  });

  test('looks on beside one that acts: it disturbs nothing, and plans nothing that is done', async () => {
    const world = routed();
    const { stage, held, bound, vips } = await account(world, 'other', '10.7.0.0/29');
    const acting = await stage.start();
    await stage.until('the pool has both', async () => (await stage.getPool('ingress')).status?.activeIPs === 2);
    await world.stable('shop');
    await vips.listing('other', '10.7.0.0');
    const leader = await leaseOf(stage.target);
    const observer = await observe(stage);
    const leads = () => observer.log.some(({ msg }) => msg === 'leads');
    await stage.until('it decides', leads);
    const plansNothing = () => stage.until('it plans nothing', async () => leads() && (await planOf(observer)).length === 0);
    await plansNothing();

    await stage.notReady('a');
    await stage.until('it is elsewhere', async () => (await stage.activeOn('ingress', held)) !== null && stage.heldBy(held) !== 'a');
    await world.service('late', NODES, [OTHER_PORT]);
    await world.routedIP('late');
    const late = await world.stable('late');
    await plansNothing();
    expect([stage.assigns(held).length, stage.assigns(bound).length, stage.assigns(late).length]).toEqual([1, 1, 1]);
    expect(await leaseOf(stage.target)).toEqual(leader);
    expect(world.changes().filter((change) => change === 'CreateRoutedIP')).toHaveLength(2);
    for (const { log } of [acting, observer]) expect(log.filter(({ level }) => level === 'error')).toEqual([]);
    expect(acting.log.filter(({ msg }) => msg === 'leads')).toHaveLength(1);
  });

  test('runs no Job of a class, and says which would be the first', async () => {
    const world = routed();
    const { stage } = world;
    await stage.nodes('a');
    await world.service('shop', ['a']);
    await world.service('kept', ['a'], [OTHER_PORT]);
    const template = { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'x' }] } } };
    const templates = { updateRoutedIP: template, updateFirewall: template };
    await world.setClass('by-jobs', { className: 'example.com/by-jobs', ...templates });
    await world.routedIP('shop', { className: 'example.com/by-jobs' });
    await world.routedIP('kept', { className: 'example.com/by-jobs', routedIP: '203.0.113.77' });
    const kube = stage.target.operatorWrites().length;
    const operator = await observe(stage);
    const wanted = ['create a new address: - > rip/default/shop', 'run job find: - > rip/default/kept/ip/203.0.113.77'];
    // Another test may have left a Service.
    const ofRoutedIPs = async () => rows(await planOf(operator)).filter((row) => row.includes('rip/'));
    await stage.until('it says so', async () => (await ofRoutedIPs()).join() === wanted.join());
    await stage.until('its Pod says so', async () => (await conditionOfPod(stage.target)) === 'True');
    expect(stage.target.operatorWrites().slice(kube)).toEqual([OWN_CONDITION]);
    const withheld = operator.log.filter(({ msg, actor }) => msg === 'a change is withheld' && String(actor).startsWith('rip/'));
    expect(withheld).toHaveLength(2);
  });
});
