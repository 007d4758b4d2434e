import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentedSeries } from '../adapters/telemetry/page.ts';
import { labelsOf, metricsOf, type Sample, type ScrapedMetric } from '../adapters/telemetry/scrape.ts';
import { openStage, type Stage } from '../e2e/stage.ts';
import { openTarget, type Target } from '../e2e/target.ts';
import { digitalOceanZone } from '../e2e/zones.ts';
import type { Operator } from '../support/operator.ts';

const { version: VERSION } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  readonly version: string;
};

let target: Target;
let stage: Stage;
let operator: Operator;
let scrape: ReadonlyMap<string, ScrapedMetric>;
let ip: string;
let failing: string;

/** The process that is shipped, from its sources as they are, after a failover that was refused once. */
beforeAll(async () => {
  target = await openTarget();
  stage = await openStage(target);
  await stage.nodes('a', 'b');
  ({ ip } = stage.cloud.addReservedIP({ region: 'nyc3' }));
  // What it sends is counted: a machine that stands still must not have it send anything twice.
  operator = await stage.start({ isBundled: false, flags: ['--call-deadline=5s'] });
  await stage.pool('ingress', { ips: [ip] });
  await digitalOceanZone(stage.cloud, 'example.com');
  const metadata = { name: 'nodes', namespace: 'default' };
  const spec = {
    match: { nodeLabel: 'pool=work' },
    addressType: 'flipop.digitalocean.com/ipv4-reserved-ip',
    dnsRecordSet: { zone: 'example.com', recordName: 'nodes' },
  };
  await target.client.create({ apiVersion: 'flipop.digitalocean.com/v1alpha1', kind: 'NodeDNSRecordSet', metadata, spec });
  const group = { segment: '198.51.100.8/31', excludedIPs: [] };
  await target.client.create({ apiVersion: 'paas.org/v1', kind: 'IPGroup', metadata: { name: 'edge' }, spec: group });
  await stage.until('the address is active', async () => (await stage.activeOn('ingress', ip)) !== null);
  failing = (await stage.activeOn('ingress', ip)) ?? '';
  stage.cloud.faults.add({ match: { method: 'POST', path: '/actions$' }, kind: 'status', code: 503, times: 1 });
  await stage.notReady(failing);
  await stage.until('it is active elsewhere', async () => ![null, failing].includes(await stage.activeOn('ingress', ip)));
  await stage.until('the record of its node stands', async () => {
    const { status, text } = await operator.metrics();
    expect(status).toBe(200);
    scrape = metricsOf(text);
    const records = samples('flipop_nodednsrecordset_records').some(({ value }) => value === 1);
    const isCounted = by('routedip_ipgroup_addresses', 'state').available === 2;
    return records && isCounted && samples('routedip_outbox_commands').every(({ value }) => value === 0);
  });
}, 150_000);

afterAll(async () => {
  await stage?.close();
  await target?.close();
});

const samples = (name: string): readonly Sample[] =>
  [...scrape.values()].flatMap((metric) => metric.samples.filter((one) => one.name === name));
const by = (name: string, label: string): Readonly<Record<string, number>> =>
  Object.fromEntries(samples(name).map(({ labels, value }) => [labels[label] ?? '', value]));

/** Here everything is served; what they show otherwise is tested where they are made. */
const ONLY_IN_TROUBLE: ReadonlySet<string> = new Set(['routedip_objects_unserved', 'routedip_drift_total']);

describe('the operator as a process', () => {
  test('serves every documented series with its labels', () => {
    const all = documentedSeries();
    expect(all.map(({ name }) => name).sort()).toEqual([...scrape.keys()].sort());
    const documented = all.filter(({ name }) => !ONLY_IN_TROUBLE.has(name));
    const shown = documented.map(({ name }) => ({ name, labels: labelsOf(scrape.get(name) ?? { name, type: '', samples: [] }) }));
    expect(shown).toEqual(documented.map(({ name, labels }) => ({ name, labels })));
    expect(documented.filter(({ name }) => scrape.get(name)?.samples.length === 0)).toEqual([]);
  });

  test('counts the calls for its pool, the failover and the job that failed', () => {
    const calls = samples('flipop_providers_calls_total').filter(({ labels }) => labels.call === 'AssignIP');
    expect(new Set(calls.map(({ labels: { kind, namespace, name } }) => `${kind} ${namespace}/${name}`))).toEqual(
      new Set(['FloatingIPPool default/ingress']),
    );
    expect(calls.filter(({ labels }) => labels.outcome === 'error').map(({ value }) => value)).toEqual([1]);
    expect(by('routedip_failover_duration_seconds_count', 'provider')).toEqual({ digitalocean: 1 });
    expect(samples('routedip_job_duration_seconds_count').map(({ labels }) => `${labels.job_name} ${labels.outcome}`)).toEqual(
      expect.arrayContaining(['assign error', 'assign success']),
    );
  });

  test('logs the failover: that the node is lost, which is elected, and that it has the address', () => {
    const about = { object: 'FloatingIPPool default/ingress', address: ip, term: 1, from: failing };
    const to = failing === 'a' ? 'b' : 'a';
    const lines = operator.log.filter(({ address, from, level }) => address === ip && from === failing && level === 'info');
    expect(lines).toEqual([
      expect.objectContaining({ ...about, msg: 'an address has lost its node', reason: 'NodeLost' }),
      expect.objectContaining({ ...about, msg: 'a node is elected for an address', to }),
      expect.objectContaining({ ...about, msg: 'an address is assigned', to, job: expect.stringContaining(ip) }),
    ]);
    expect(lines[2]?.durationMs).toBeGreaterThan(0);
  });

  test('tells what is left of its budget, whether its caches are in step, that it leads, and that nothing is on its way', () => {
    const left = by('routedip_provider_budget_left', 'window');
    const limit = by('routedip_provider_budget_limit', 'window');
    expect(limit).toMatchObject({ minute: 6_000, hour: 100_000 });
    expect(left.hour).toBeGreaterThan(99_000);
    expect(left.hour).toBeLessThan(100_000);
    expect(samples('routedip_provider_budget_left')[0]?.labels.token).toMatch(/^[0-9a-f]{16}$/);
    expect(by('routedip_cache_synced', 'kind')).toMatchObject({ FloatingIPPool: 1, Node: 1, Pod: 1 });
    for (const at of Object.values(by('routedip_cache_last_sync_timestamp_seconds', 'kind'))) {
      expect(Math.abs(Date.now() / 1000 - at)).toBeLessThan(120);
    }
    expect(samples('routedip_leader').map(({ value }) => value)).toEqual([1]);
    expect(samples('routedip_outbox_commands').map(({ value }) => value)).toEqual([0]);
    expect(samples('routedip_machines').find(({ labels }) => labels.state === 'Stable.Holding')?.value).toBe(1);
  });

  test('tells the API server who it is: by every request, and with every write whose the fields are', () => {
    // The client of the test names itself by nothing.
    const ofOperator = target.simulator?.requests.filter(({ userAgent }) => userAgent !== '') ?? [];
    const agents = [...new Set(ofOperator.map(({ userAgent }) => userAgent))];
    expect(agents).toEqual([`routedip-operator/${VERSION} (${process.platform}/${process.arch}) controller`]);
    const writes = ofOperator.filter(({ method }) => ['POST', 'PUT', 'PATCH'].includes(method));
    const managers = new Set(writes.map(({ query }) => new URLSearchParams(query).get('fieldManager')));
    expect([...managers].sort()).toEqual(['routedip-operator', 'routedip-operator-status']);
  });

  test('gives its metrics to nobody but those with a token when told so, and its probes to everybody', async () => {
    const guarded = await stage.start({ flags: ['--metrics-auth=token-review'] });
    await guarded.ready();
    const { status, text } = await guarded.metrics();
    expect([status, text]).toEqual([401, '/metrics asks for a token of the cluster, as "Authorization: Bearer …".\n']);
    await target.client.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'prometheus', namespace: 'default' } });
    const url = `${guarded.log.find(({ msg }) => msg === 'serves metrics and probes')?.url}/metrics`;
    const headers = { authorization: `Bearer ${target.simulator?.tokenFor('default', 'prometheus')}` };
    const answer = await fetch(url, { headers });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('routedip_leader')]);
    expect((await fetch(url, { headers: { authorization: 'Bearer made-up' } })).status).toBe(401);
    expect((await guarded.metrics('/healthz')).status).toBe(200);
  });
});
