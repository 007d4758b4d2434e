import { labelNode } from '../../simulator/kubernetes/cluster.ts';
import type { JobScript } from '../../simulator/kubernetes/job-scripts.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { CLASS, GROUP } from '../e2e/routed.ts';
import { HTTP, NODE_PORT } from '../e2e/routed-objects.ts';
import type { World } from './world.ts';

export const NODES = Array.from({ length: 20 }, (_, index) => `n${String(index + 1).padStart(2, '0')}`);
/** What is quiet has nodes of its own, of which none fails. */
const QUIET_NODES = ['q01', 'q02', 'q03', 'q04', 'q05', 'q06'];
/** No pool matches these: what Jobs lead to nodes is on another platform. */
const PLATFORM_NODES = ['p01', 'p02', 'p03'];
const ALL_NODES = [...NODES, ...QUIET_NODES, ...PLATFORM_NODES];
const JOBS_CLASS = 'example.com/http';
/** The address that Jobs lead to nodes, of another platform. */
const PLATFORM_ADDRESS = '192.0.2.10';
const TEMPLATE: JsonObject = {
  template: { spec: { restartPolicy: 'Never', containers: [{ name: 'platform', image: 'registry.example/shell:1' }] } },
};
/** The RoutedIP that has its address by the former field `issuerClass`. */
export const FORMER = 'former';
const OPERATORS_ISSUER: JsonObject = {
  apiVersion: 'routedip.io/v1alpha1',
  kind: 'RoutedIPIssuer',
  metadata: { name: 'own', namespace: 'default' },
  // The new definition has no NoSchedule for issuers.
  spec: { issuerClass: 'digitalocean', region: 'nyc3', taintEffect: 'NoSchedule' },
};
const DNS_GROUP = 'flipop.digitalocean.com/v1alpha1';

/** A status that nobody has written to for so long is settled, ms. */
const SETTLED_MS = 3_000;

export const externalOf = (node: string): string => `198.51.100.${ALL_NODES.indexOf(node) + 1}`;

/** Nodes, a firewall, classes, and Services, before anybody runs. */
export async function prepare({ routed, vips }: World): Promise<void> {
  const { stage } = routed;
  await stage.nodes(...ALL_NODES);
  for (const node of ALL_NODES) await external(stage.target.client, node);
  for (const node of QUIET_NODES) await labelNode(stage.target.client, node, { pool: 'quiet' });
  for (const node of PLATFORM_NODES) await labelNode(stage.target.client, node, { pool: 'platform' });
  await routed.addFirewall();
  await routed.setClass(CLASS, { routedIPReclaimPolicy: 'Delete' });
  await routed.setClass('jobs', { className: JOBS_CLASS, updateRoutedIP: TEMPLATE, updateFirewall: TEMPLATE });
  // It names no Secret, and nobody opens its namespace: what it serves goes on.
  await routed.put(OPERATORS_ISSUER);
  await routed.service('quiet', QUIET_NODES, [{ ...HTTP, nodePort: NODE_PORT - 1 }]);
  await routed.service('shop', NODES, [{ ...HTTP, nodePort: NODE_PORT }]);
  await routed.service('fleeting', NODES, [{ ...HTTP, nodePort: NODE_PORT - 2 }]);
  await routed.service('platform', PLATFORM_NODES, [{ ...HTTP, nodePort: NODE_PORT - 3 }]);
  await vips.group('lan', '10.4.0.0/28');
}

/** What is to be there from the first stage to the last. Resolves when all of it has come to rest; from then on what is quiet stays as it is. */
export async function populate(
  world: World,
  given: { readonly quiet: readonly string[]; readonly busy: readonly string[] },
): Promise<void> {
  const { routed, vips } = world;
  const { stage } = routed;
  await stage.pool('quiet', {
    ips: [...given.quiet],
    match: { nodeLabel: 'pool=quiet', podNamespace: 'default', podLabel: 'app=ingress' },
    dnsRecordSet: { zone: 'example.com', recordName: 'quiet' },
  });
  await wantRoutedIP(world, 'quiet');
  world.wanted += 1;
  await routed.routedIP('quiet-issued', { className: null, issuerRef: { name: 'own' }, serviceRef: { serviceName: 'quiet' } });
  await routed.routedIP(FORMER, {
    ...{ className: null, issuerClass: 'digitalocean', serviceRef: { serviceName: 'quiet' } },
    // It has no region in which one could be made.
    routedIP: world.reserve(),
  });
  // The former version took it off a machine outside of the cluster, which the new one would not: it has served since.
  await routed.routedIP('quiet-taken', { routedIP: world.reserve('outside'), serviceRef: { serviceName: 'quiet' } });
  await routed.stable('quiet-issued');
  await routed.stable('quiet-taken');
  await routed.stable(FORMER);
  await vips.service('quiet-vip');
  await routed.stable('quiet');
  await world.until('the quiet pool is active', async () => (await stage.getPool('quiet')).status?.activeIPs === given.quiet.length);
  await recordSet(world, 'quiet', 'pool=quiet');
  await stage.pool('ingress', {
    ips: [...given.busy],
    desiredIPs: given.busy.length,
    dnsRecordSet: { zone: 'example.com', recordName: 'ingress' },
  });
  await recordSet(world, 'nodes', 'pool=work');
  scriptJobs(world, 0);
  await wantRoutedIP(world, 'shop');
  await routed.routedIP('platform', { className: JOBS_CLASS });
  await routed.stable('shop');
  await routed.stable('platform');
  await atRest(world);
  world.observer.beQuiet();
}

/** The new definition does not know the field by which it was served: it says so, and its address is where it was. */
export async function formerStays({ routed }: World): Promise<void> {
  const { routedIP, assignedNode = '' } = (await routed.status(FORMER)) ?? {};
  const told = await routed.degraded(FORMER, 'InvalidSpec');
  if (!told.startsWith('set exactly one of className and issuerRef; issuerClass is served no more')) throw new Error(told);
  const { droplets, reservedIPs } = routed.stage.cloud.state;
  const on = droplets.get(reservedIPs.get(routedIP ?? '')?.dropletId ?? 0)?.name;
  if (on !== assignedNode) throw new Error(`${routedIP} is on ${on}, not on ${assignedNode}`);
}

/** What the former version took for a conflict, and fought over: a second class with the className of the first, and a Service that somebody else serves. What is served stays as it is. */
export async function othersCome({ routed, vips, until, mark }: World): Promise<void> {
  const { client } = routed.stage.target;
  const second = { apiVersion: GROUP, kind: 'ClusterRoutedIPClass', name: 'second' };
  await routed.setClass(second.name, { routedIPFirewallName: '' });
  await until('the second class says what it shares', async () => JSON.stringify(await client.get(second)).includes('className: second'));
  const used = (await routed.status('quiet'))?.class?.name;
  if (used !== CLASS) throw new Error(`the RoutedIP is served by class ${used}`);
  await client.delete(second);
  await vips.service('theirs');
  await until('it has an address', async () => (await vips.listed('theirs')) !== '');
  for (const _ of [1, 2]) {
    await vips.setIngress('theirs', [{ ip: '203.0.113.200' }], 'cloud');
    await until(
      'it is put right, or left',
      async () => (await vips.listed('theirs')) !== '203.0.113.200' || (await vips.contended('theirs')) !== null,
    );
  }
  await until('it is left', async () => (await vips.contended('theirs')) !== null);
  mark({ kind: 'removed', object: 'Service theirs', address: null });
  await vips.remove('theirs');
  await until('it is gone', async () => (await vips.find('theirs')) === null);
}

export async function wantRoutedIP(world: World, name: string, service = name): Promise<void> {
  world.wanted += 1;
  await world.routed.routedIP(name, { serviceRef: { serviceName: service } });
}

/** How Jobs go from now on: the next one that assigns is refused a Pod for so long, ms. */
export function scriptJobs({ routed }: World, refusedMs: number): void {
  const jobs = routed.stage.target.simulator?.jobs;
  if (!jobs) throw new Error('Jobs go by script in the simulator only');
  const refused: JobScript = {
    outcome: 'refused',
    ms: refusedMs,
    count: 1,
    selector: 'routedip.io/action=assign',
    message: 'exceeded quota: pods',
  };
  const node = '"providerID":"$(ROUTEDIP_NODE_PROVIDER_ID)"';
  jobs.clear();
  if (refusedMs > 0) jobs.add(refused);
  jobs.add({ outcome: 'exit', ms: 200, selector: 'routedip.io/action=create', message: `{"address":"${PLATFORM_ADDRESS}"}` });
  jobs.add({ outcome: 'exit', ms: 200, selector: 'routedip.io/purpose', message: `{"address":"$(ROUTEDIP_ADDRESS)",${node}}` });
}

/** Resolves once all that is wanted is so, and nobody has written a status for a while. */
export async function atRest(world: World): Promise<void> {
  const { routed, zones } = world;
  const { stage } = routed;
  await world.until('the pool is active, and its name lists what it has', async () => {
    const { spec, status } = await stage.getPool('ingress');
    const { ips = [], desiredIPs } = spec;
    const listed = ips.map((address) => `A ${address} 60`).sort();
    return ips.length === desiredIPs && status?.activeIPs === desiredIPs && same(zones.pools.records('ingress'), listed);
  });
  await world.until('the nodes are listed', () =>
    same(zones.nodes.records('nodes'), NODES.map((node) => `A ${externalOf(node)} 60`).sort()),
  );
  for (const name of ['quiet', 'shop', 'platform']) await routed.stable(name);
  await world.until('nobody writes a status', () => Date.now() - world.observer.lastAt > SETTLED_MS);
}

export const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

async function external(client: World['routed']['stage']['target']['client'], node: string): Promise<void> {
  const addresses = [
    { type: 'Hostname', address: node },
    { type: 'ExternalIP', address: externalOf(node) },
  ];
  const how = { subresource: 'status', type: 'application/merge-patch+json' } as const;
  await client.patch({ apiVersion: 'v1', kind: 'Node', name: node }, { status: { addresses } }, how);
}

const recordSet = ({ routed }: World, name: string, nodeLabel: string): Promise<void> =>
  routed.put({
    apiVersion: DNS_GROUP,
    kind: 'NodeDNSRecordSet',
    metadata: { name, namespace: 'default' },
    spec: { match: { nodeLabel }, dnsRecordSet: { provider: 'cloudflare', zone: 'example.org', recordName: name, ttl: 60 } },
  });
