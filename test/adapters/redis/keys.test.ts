import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { charts } from '../../../actors/controllers/chart-registry.ts';
import type { Json } from '../../../actors/ports/records.ts';
import { DEFAULT_SETTINGS } from '../../../actors/ports/settings.ts';
import { Supervisor } from '../../../actors/supervisor.ts';
import { bullQueues } from '../../../adapters/bullmq/queues.ts';
import { memoryCluster } from '../../../adapters/memory/cluster.ts';
import { memoryDirectory } from '../../../adapters/memory/directory.ts';
import { memoryLease } from '../../../adapters/memory/leadership.ts';
import { memoryProvider } from '../../../adapters/memory/provider.ts';
import { memoryVipCluster } from '../../../adapters/memory/vip-cluster.ts';
import { redisBudget } from '../../../adapters/redis/budget.ts';
import { patientClient } from '../../../adapters/redis/client.ts';
import { redisLink } from '../../../adapters/redis/link.ts';
import { redisStore } from '../../../adapters/redis/store.ts';
import { endableClock, systemClock } from '../../../adapters/system/clock.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import { secretKey } from '../../../machines/model/provider-key.ts';
import type { ObjectRef, ProviderID } from '../../../machines/model/types.ts';
import { startTestRedis, type TestRedis } from '../../support/redis.ts';
import { PATIENCE_MS, waitFor } from '../../support/wait-for.ts';
import { node, PROVIDER } from '../../support/world.ts';

const PREFIX = '{keys}';
const CLASS_NAME = 'digitalocean.com/floating-ip';
const ACCOUNT = secretKey(PROVIDER, 'web', 'theirs');
const ZONE = 'example.com';
/** How often what is left of accounts is looked for. */
const LEFT_QUEUES_MS = 3_000;
const SETTINGS = { ...DEFAULT_SETTINGS, leftQueuesEveryMs: LEFT_QUEUES_MS, sweepEveryMs: 200, resyncEveryMs: 500, verifyEveryMs: 1_000 };

let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis({ aof: true });
});
afterAll(() => redis.stop());

/** A row of the table in docs/runtime.md. */
interface Row {
  readonly key: string;
  readonly pattern: RegExp;
}

/** What stands for something in the table, as a pattern. */
const PARTS: Readonly<Record<string, string>> = {
  // A job's id bears no colon.
  '<job>': '[^:]+\\.\\d+\\.\\d+\\.\\d+[^:]*',
  '<queue>': '(?:digitalocean(?:@[^:]+)?|outcomes|timers|vip)',
  '<cell>': '.+',
  '<token>': '[0-9a-z]+',
  '<provider>': '[^:]+',
  '<purpose>': '[a-z]+',
  '<reserve>': String.raw`\d+`,
  '<namespace>': '[-a-z0-9]+',
};

const patternOf = (key: string): RegExp => {
  const parts = key.replace('…', '').split(/(<\w+>)/);
  return new RegExp(`^${parts.map((part) => PARTS[part] ?? part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('')}$`);
};

function documented(): readonly Row[] {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/runtime.md'), 'utf8');
  const section = text.slice(text.indexOf('## What Redis holds'), text.indexOf('## DNS: record sets and zones'));
  const rows = [...section.matchAll(/^\| (`….*?) \| (.+?) \| (.+?) \|$/gm)];
  return rows.flatMap(([, keys = '', , goes = '']) => {
    if (goes.length < 4) throw new Error(`nobody deletes ${keys}`);
    return [...keys.matchAll(/`([^`]+)`/g)].map(([, key = '']) => ({ key, pattern: patternOf(key) }));
  });
}

const keysNow = async (): Promise<readonly string[]> =>
  ((await redis.command('KEYS', `${PREFIX}*`)) as readonly string[]).map((key) => key.slice(PREFIX.length)).sort();

/** A world around operators that keep everything in Redis, on the clock of the machine. */
function openWorld() {
  const clock = systemClock();
  const cluster = memoryCluster({ queryOf });
  const provider = memoryProvider(clock, { name: PROVIDER, providerIDPrefix: 'digitalocean://', actionMs: 20, callMs: 2 });
  const vips = memoryVipCluster({ clock });
  const lease = memoryLease(clock, { durationMs: 3_000, renewDeadlineMs: 2_000, retryMs: 200 });
  const facts = { addresses: true, dns: true, ipv6: false, addressesPerNode: 1, providerIDPrefix: 'digitalocean://', missing: null };
  let started = 0;
  const start = async () => {
    const own = endableClock(clock);
    const link = redisLink({ url: redis.url, commandTimeoutMs: PATIENCE_MS });
    const queues = bullQueues({ link, connectPatient: () => patientClient({ url: redis.url }), prefix: PREFIX, clock: own });
    const process = cluster.process();
    const seen = vips.process();
    started += 1;
    const contender = lease.contender(`process-${started}`);
    const known = { facts, provider: provider.process() };
    const providers = memoryDirectory({ [PROVIDER]: known, [ACCOUNT]: known });
    const virtualIPs = vips.virtualIPs.process();
    const silent = () => undefined;
    const supervisor = new Supervisor({
      charts: charts(SETTINGS, () => 1),
      store: redisStore({ link, prefix: PREFIX }),
      queues,
      clock: own,
      log: { debug: silent, info: silent, warn: silent, error: (message, fields) => console.error(message, fields) },
      probe: silent,
      leadership: contender,
      source: process,
      writer: process,
      vips: { source: seen, writer: seen, virtualIPs },
      providers,
      observers: [],
      settings: SETTINGS,
    });
    await supervisor.start();
    await waitFor('it leads', () => supervisor.leading, PATIENCE_MS);
    // What the clients of the accounts pay with.
    const budget = redisBudget({ link, prefix: PREFIX, tokenHash: '0123456789abcdef', minuteMs: 60_000, perMinute: 1 });
    await budget.pay('create');
    await budget.pay('create');
    return {
      providers,
      stop: async () => {
        await supervisor.stop();
        own.end();
        contender.end();
        process.end();
        seen.end();
        virtualIPs.end();
        await queues.close();
        await link.close();
      },
    };
  };
  return { cluster, provider, vips, start };
}

const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => waitFor(what, holds, 2 * PATIENCE_MS);

test('every key has an owner that deletes it: of objects and accounts that are gone nothing is left', { timeout: 240_000 }, async () => {
  const { cluster, provider, vips, start } = openWorld();
  const rows = documented();
  expect(rows.length).toBeGreaterThan(20);
  const unknown = (keys: readonly string[]) => keys.filter((key) => !rows.some(({ pattern }) => pattern.test(key)));
  const stateOf = (ref: ObjectRef): string => {
    const { state, ips } = (cluster.pool(ref)?.status ?? {}) as { state?: string; ips?: Record<string, { state: string }> };
    return state ?? Object.values(ips ?? {}).map((ip) => ip.state)[0] ?? '';
  };

  const nodes = ['a', 'b', 'c', 'd'].map((name) => node(name, { externalIPs: ['203.0.113.200'] as never }));
  provider.cloud.addNode(...nodes.map(({ providerID }) => providerID as ProviderID));
  provider.cloud.addZone(ZONE);
  cluster.setNode(...nodes);
  const policy = { region: 'nyc3', routedIPReclaimPolicy: 'Delete' };
  provider.cloud.addFirewall('ours', ['tcp/22']);
  provider.cloud.addFirewall('theirs', ['tcp/22']);
  vips.setGroup('group', { segment: '192.0.2.0/29', excludedIPs: [] });
  vips.virtualIPs.setMapping('mapping', { segment: '198.51.100.0/29', keepalivedGroup: 'mapping' });
  let process = await start();
  let running = true;
  onTestFinished(async () => {
    if (running) await process.stop();
  });
  const policies = [
    cluster.setPolicy({
      kind: 'ClusterRoutedIPClass',
      name: 'ours',
      spec: { className: CLASS_NAME, routedIPFirewallName: 'ours', ...policy },
    }),
    cluster.setPolicy({
      kind: 'RoutedIPIssuer',
      namespace: 'web',
      name: 'theirs',
      spec: { issuerClass: PROVIDER, fromSecretsRef: [{ name: 'theirs' }], routedIPFirewallName: 'theirs', ...policy },
    }),
  ];
  const by: readonly { readonly [field: string]: Json }[] = [{ className: CLASS_NAME }, { issuerRef: { name: 'theirs' } }];
  const refs = by.map((served, index) => {
    const name = `routed-${index}`;
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const, targetPort: 80, nodePort: 8080 }];
    const endpoints = nodes.map((each) => ({ node: each.name, ready: true, pod: null }));
    cluster.setService('web', name, { type: 'NodePort', hasSelector: true, ports, endpoints });
    return cluster.setPool({ kind: 'RoutedIP', namespace: 'web', name, spec: { ...served, serviceRef: { serviceName: name } } });
  });
  const match = { nodeLabel: 'pool=work' };
  const dns = (recordName: string) => ({ dnsRecordSet: { zone: ZONE, recordName } });
  refs.push(
    cluster.setPool({
      name: 'pool',
      spec: { provider: PROVIDER, region: 'nyc3', match, desiredIPs: 1, ips: [], ...dns('pool') },
    }),
    cluster.setPool({ kind: 'NodeDNSRecordSet', name: 'names', spec: { match, ...dns('nodes') } }),
  );
  const service = vips.setService({ name: 'service' });
  vips.setService({
    name: 'legacy',
    type: 'ClusterIP',
    more: { labels: {}, annotations: {}, owners: [], spec: { ports: [], selector: { app: 'web' } } },
  });
  vips.virtualIPs.set({ name: 'virtual', service: 'legacy' });
  const isServed = (): boolean =>
    refs.every((ref) => /^(?:Stable|active)$/.test(stateOf(ref))) &&
    (vips.service('default', 'service')?.ingress.length ?? 0) > 0 &&
    vips.virtualIPs.find('virtual')?.status.state === 'Valid';
  await until('all is served', isServed);

  // A failover, and another leader.
  const holderOf = (ref: ObjectRef | undefined) => (ref && (cluster.pool(ref)?.status as { assignedNode?: string }))?.assignedNode;
  const holder = nodes.find(({ name }) => holderOf(refs[0]) === name);
  if (!holder) throw new Error('nobody holds the address');
  cluster.setNode({ ...holder, ready: false });
  await until('it is elsewhere', () => isServed() && holderOf(refs[0]) !== holder.name);
  cluster.setNode(holder);
  await process.stop();
  running = false;
  process = await start();
  running = true;
  await until('all is served again', isServed);
  const busy = await keysNow();
  expect(unknown(busy)).toEqual([]);
  const silent = rows.filter(({ pattern }) => !busy.some((key) => pattern.test(key))).map(({ key }) => key);
  // Those stand while there is much to do, or something is wrong.
  const passing = ['marker', 'stalled', 'stalled-check', 'wait', 'prioritized', 'active', 'failed', 'pc', '<job>:lock'].map(
    (part) => `…:<queue>:${part}`,
  );
  expect(silent.filter((key) => !passing.includes(key))).toEqual([]);

  for (const ref of refs) {
    if (ref.kind === 'RoutedIP') cluster.markDeleting(ref);
    else cluster.removePool(ref);
  }
  vips.deleteService(service);
  vips.virtualIPs.remove('virtual');
  await until('all is gone', () => refs.every((ref) => cluster.pool(ref) === null) && vips.service('default', 'service') === null);
  await until('the VirtualIP is gone', () => vips.virtualIPs.find('virtual') === null);
  for (const ref of policies) cluster.removePolicy(ref);
  process.providers.set(ACCOUNT, null);
  const cellsLeft = async (): Promise<readonly string[]> => (await keysNow()).flatMap((key) => /^:cell:(.+):records$/.exec(key)?.[1] ?? []);
  await until('their records are gone', async () =>
    (await cellsLeft()).every((cell) => cell === `verify/${PROVIDER}` || cell.startsWith('zone/')),
  );
  await until('the queue of the account is gone', async () => (await keysNow()).every((key) => !key.startsWith(`:${ACCOUNT}:`)));
  await process.stop();
  running = false;
  // What is left: of the jobs that have ended, and of what is shared and stays.
  const isEndedJob = (key: string): boolean => rows.some((row) => row.key === '…:<queue>:<job>' && row.pattern.test(key));
  const fields = async (key: string): Promise<readonly string[]> => (await redis.command('HKEYS', `${PREFIX}${key}`)) as readonly string[];
  const left = (await keysNow()).filter((key) => !isEndedJob(key) && !key.startsWith(':budget:'));
  const queueKeys = left.filter((key) => /^:(?:digitalocean|outcomes|timers|vip):/.test(key));
  const others = left.filter((key) => !queueKeys.includes(key) && !key.startsWith(':cell:zone/'));
  expect(new Set(queueKeys.map((key) => key.split(':')[1]))).toEqual(new Set([PROVIDER, 'outcomes', 'timers', 'vip']));
  expect(others.filter((key) => !/:(?:journal|outbox|seen)$/.test(key))).toEqual([
    `:cell:verify/${PROVIDER}:heads`,
    `:cell:verify/${PROVIDER}:records`,
    ':cells',
    ':meta',
  ]);
  expect((await fields(':cells')).filter((cell) => !cell.startsWith('zone/'))).toEqual([`verify/${PROVIDER}`]);
});
