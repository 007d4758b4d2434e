import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addPod, createNamespace, labelNode, removePod } from '../../simulator/kubernetes/cluster.ts';
import { type Names, named } from '../e2e/named.ts';
import { movedFrom } from '../e2e/served.ts';
import type { Zone } from '../e2e/zones.ts';
import { shareOfScenarios } from '../support/extent.ts';
import { kubectl } from '../support/kubectl.ts';
import { MORTAL_FLAGS } from '../support/operator.ts';

const SAMPLES = join(import.meta.dirname, '../../crds/samples');
const PROVIDERS = shareOfScenarios(['digitalocean', 'cloudflare'] as const, 2);
const [A, B, C] = ['198.51.100.1', '198.51.100.2', '198.51.100.3'];

/** The record set `nodes` lists the nodes a and b at nodes.example.com, in a zone in which more stands. */
async function published(names: Names, provider: Zone['provider'], flags: readonly string[] = []): Promise<Zone> {
  const { stage } = names;
  const zone = await names.zoneAt(provider);
  zone.add({ type: 'TXT', name: 'nodes', data: 'somebody else’s', ttl: 300 });
  zone.add({ type: 'A', name: 'other', data: '192.0.2.99', ttl: 300 });
  await stage.nodes('a', 'b');
  await names.external('a', A);
  await names.external('b', B);
  // What happens is heard of when it happens, not when everything is told again.
  await names.start({ flags: ['--resync-interval=1h', ...flags] });
  await names.recordSet('nodes', { dnsRecordSet: { provider, zone: 'example.com', recordName: 'nodes.example.com', ttl: 120 } });
  await stage.until('it is published', async () => (await names.status('nodes')).state === 'active');
  expect(zone.records('nodes')).toEqual([`A ${A} 120`, `A ${B} 120`]);
  return zone;
}

const untilRecords = ({ stage }: Names, zone: Zone, ...wanted: readonly string[]): Promise<void> =>
  stage.until(`nodes.example.com is ${wanted.join(', ')}`, () => JSON.stringify(zone.records('nodes')) === JSON.stringify(wanted));

/** One round of verification, seen by what is asked of the provider. */
async function nextVerification(names: Names, provider: Zone['provider']): Promise<void> {
  const { calls } = provider === 'cloudflare' ? names.cloudflare : names.stage.cloud;
  const since = calls.all().at(-1)?.n ?? 0;
  const lists = () => calls.select({ since }).filter(({ method, path }) => method === 'GET' && path.includes('records?')).length;
  // The first may have begun before whatever is to be found.
  await names.stage.until('the zone was listed twice', () => lists() >= 2);
}

/** No object claims anything in any zone: nothing will be written. */
const isForgotten = async (names: Names): Promise<boolean> => (await names.zoneCells()).length === 0;

describe('DNS', () => {
  const { names: current, target } = named();

  for (const provider of PROVIDERS) {
    describe(`at ${provider}`, () => {
      test('lists the addresses of the matching nodes, and follows the address of a node that changes', async () => {
        const names = current();
        const zone = await published(names, provider);
        await names.external('b', C);
        await untilRecords(names, zone, `A ${A} 120`, `A ${C} 120`);
        await names.stage.notReady('a');
        await untilRecords(names, zone, `A ${C} 120`);
        await names.stage.ready('a');
        await untilRecords(names, zone, `A ${A} 120`, `A ${C} 120`);
        expect(zone.records('other')).toEqual(['A 192.0.2.99 300']);
      });

      test('has IPv6 addresses of nodes as AAAA records', async () => {
        const names = current();
        const zone = await published(names, provider);
        await names.external('a', A, '2001:db8::1');
        await untilRecords(names, zone, `A ${A} 120`, `A ${B} 120`, 'AAAA 2001:db8::1 120');
        await names.external('a', A, '2001:db8::2');
        await untilRecords(names, zone, `A ${A} 120`, `A ${B} 120`, 'AAAA 2001:db8::2 120');
      });

      test('is never made empty: the last records of a set without a node stay, and its status says so', async () => {
        const names = current();
        const zone = await published(names, provider);
        await names.stage.notReady('a');
        await untilRecords(names, zone, `A ${B} 120`);
        const before = zone.writes().length;
        await names.stage.notReady('b');
        await names.stage.until('the status says so', async () => (await names.degraded('nodes'))?.reason === 'NoAddress');
        await names.stage.until('the zone is left alone', () => isForgotten(names));
        expect([zone.records('nodes'), zone.writes().length]).toEqual([[`A ${B} 120`], before]);
        await names.stage.ready('a');
        await untilRecords(names, zone, `A ${A} 120`);
      });

      test('has a record that was changed or deleted by hand put right at the next verification', async () => {
        const names = current();
        const zone = await published(names, provider);
        zone.remove('nodes', A);
        expect(zone.records('nodes')).toEqual([`A ${B} 120`]);
        await untilRecords(names, zone, `A ${A} 120`, `A ${B} 120`);
        zone.change('nodes', B, { data: '192.0.2.66', ttl: 3600 });
        expect(zone.records('nodes')).toContain('A 192.0.2.66 3600');
        await untilRecords(names, zone, `A ${A} 120`, `A ${B} 120`);
        zone.change('nodes', A, { ttl: 3600, proxied: true });
        await untilRecords(names, zone, `A ${A} 120`, `A ${B} 120`);
        zone.add({ type: 'A', name: 'nodes', data: '192.0.2.67', ttl: 60 });
        await untilRecords(names, zone, `A ${A} 120`, `A ${B} 120`);
      });

      test('is left alone by an operator that was killed and the one after it, and by a deleted object', async () => {
        const names = current();
        const zone = await published(names, provider, MORTAL_FLAGS);
        const before = zone.writes().length;
        const next = await names.start({ flags: MORTAL_FLAGS });
        const [former] = names.operators();
        former?.kill('SIGKILL');
        await names.stage.until('the next one leads', () => next.log.some(({ msg }) => msg === 'leads'));
        await nextVerification(names, provider);
        expect(zone.writes().length).toBe(before);
        await names.deleteRecordSet('nodes');
        await names.stage.until('nobody asks for the zone any more', () => isForgotten(names));
        expect([zone.records('nodes'), zone.writes().length]).toEqual([[`A ${A} 120`, `A ${B} 120`], before]);
      });
    });
  }

  test('of Cloudflare may be named by the id of its zone, and be the zone itself', async () => {
    const names = current();
    const zone = await names.zoneAt('cloudflare');
    zone.add({ type: 'MX', name: '@', data: 'mail.example.com', ttl: 300 });
    await names.stage.nodes('a');
    await names.external('a', A);
    await names.start();
    await names.recordSet('nodes', { provider: 'cloudflare', dnsRecordSet: { zone: zone.id, recordName: '@' } });
    await names.stage.until('it is published', async () => (await names.status('nodes')).state === 'active');
    expect(zone.records('@')).toEqual([`A ${A} 60`]);
    expect(zone.writes()).toHaveLength(1);
  });

  for (const provider of PROVIDERS) {
    test(`at ${provider} lists the active addresses of a pool: after a failover too; an address without a node leaves it`, async () => {
      const names = current();
      const { stage } = names;
      const zone = await names.zoneAt(provider);
      await stage.nodes('a', 'b', 'c');
      const ips = [stage.cloud.addReservedIP({ region: 'nyc3' }).ip, stage.cloud.addReservedIP({ region: 'nyc3' }).ip].sort();
      const [first = '', second = ''] = ips;
      await names.start();
      await stage.pool('ingress', { ips, dnsRecordSet: { provider, zone: 'example.com', recordName: 'nodes' } });
      await untilRecords(names, zone, `A ${first} 60`, `A ${second} 60`);

      const holder = stage.heldBy(first) ?? '';
      await stage.notReady(holder);
      await movedFrom({ stage, ip: first }, holder);
      await nextVerification(names, provider);
      await untilRecords(names, zone, `A ${first} 60`, `A ${second} 60`);

      await stage.notReady(stage.heldBy(first) ?? '');
      await untilRecords(names, zone, `A ${second} 60`);
      await stage.notReady(stage.heldBy(second) ?? '');
      await stage.until('nothing is active', async () => (await stage.getPool('ingress')).status?.activeIPs === 0);
      await stage.until('the zone is left alone', () => isForgotten(names));
      expect(zone.records('nodes')).toEqual([`A ${second} 60`]);
      for (const name of ['a', 'b', 'c']) await stage.ready(name);
      await untilRecords(names, zone, `A ${first} 60`, `A ${second} 60`);
    });
  }

  test('of FLIPOP’s published manifests, as they are: a pool with a record, and the record of its nodes', async () => {
    const names = current();
    const { stage } = names;
    const { client } = target();
    const zone = await names.zoneAt('digitalocean');
    await createNamespace(client, 'ingress').catch(() => undefined);
    await stage.nodes('a', 'b', 'c');
    const pods = ['a', 'b', 'c'].map((node) => ({
      name: `nginx-${node}`,
      namespace: 'ingress',
      node,
      labels: { app: 'nginx', component: 'controller' },
    }));
    for (const pod of pods) {
      await labelNode(client, pod.node, { 'doks.digitalocean.com/node-pool': 'work' });
      await addPod(client, pod);
    }
    // They hold the addresses that the manifest lists: between two assignments it asks for 20 seconds.
    const dropletOf = (name: string) => [...stage.cloud.state.droplets.values()].find((droplet) => droplet.name === name)?.id ?? 0;
    stage.cloud.addReservedIP({ ip: '192.168.1.1', region: 'nyc3', dropletId: dropletOf('a') });
    stage.cloud.addReservedIP({ ip: '192.168.2.1', region: 'nyc3', dropletId: dropletOf('b') });
    const operator = await names.start();
    for (const file of ['floatingippool-dns.yaml', 'nodednsrecordset.yaml']) await names.apply(join(SAMPLES, file));

    await stage.until('three addresses are active', async () => (await stage.getPool('ingress-pool')).status?.activeIPs === 3, 120_000);
    const { ips = [] } = (await stage.getPool('ingress-pool')).spec;
    expect(ips).toHaveLength(3);
    const listing = (ttl: number) => ips.map((ip) => `A ${ip} ${ttl}`).sort();
    await untilRecords(names, zone, ...listing(120));
    await stage.until('the pool is published too', () => JSON.stringify(zone.records('hello')) === JSON.stringify(listing(30)));
    // It was active before with fewer.
    await stage.until('it says so', async () => {
      const { state, records } = await names.status('ingress-nodes');
      return state === 'active' && records === 3;
    });

    const { stdout, stderr, code } = await kubectl(['get', 'nodednsrecordsets'], { kubeconfig: target().adminKubeconfig });
    expect(code, stderr).toBe(0);
    const [head = '', row = ''] = stdout.split('\n');
    expect(head.split(/\s{2,}/).map((column) => column.trim())).toEqual([
      'NAME',
      'ZONE',
      'RECORD',
      'STATE',
      'RECORDS',
      'READY',
      'REASON',
      'ERROR',
      'AGE',
    ]);
    expect(row).toMatch(/^ingress-nodes +example\.com +nodes\.example\.com +active +3 +True +Published +\d+[ms]/);

    const records =
      'flipop_nodednsrecordset_records{namespace="default",name="ingress-nodes",provider="digitalocean",dns="nodes.example.com"} 3';
    await stage.until('the metrics count them', async () => (await operator.metrics()).text.includes(records));
    expect((await operator.metrics()).text).toMatch(/routedip_queue_jobs\{queue="cloudflare",state="waiting"\} 0/);
    for (const pod of pods) await removePod(client, pod);
  });
});
