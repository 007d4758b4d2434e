import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { launchChromium } from '../dashboard/chromium.ts';
import { plugin } from '../support/plugin.ts';
import { PATIENCE_MS } from '../support/wait-for.ts';
import { applied, install, leftBehind, replicas, uninstall } from './install.ts';
import { isReady, OPERATOR, podsOf, processesOf, REDIS, untilLed } from './pods.ts';
import { NAMESPACE, type NodeStage, openStage, ROOT, TOKEN, tellOnFailure } from './stage.ts';
import { forwarded, serviceUrl } from './ways.ts';

const OPERATOR_USER = `system:serviceaccount:${NAMESPACE}:routedip-operator`;
const NOBODY_MAY = 'cannot create ip objects';

let stage: NodeStage;
let address = '';

beforeAll(async () => {
  stage = await openStage();
  for (const name of ['a', 'b']) await stage.nodes.add(name);
});
afterAll(() => stage.close());
beforeEach(() => tellOnFailure(stage));

const inNamespace = (...args: readonly string[]): Promise<string> => stage.kubectl('--namespace', NAMESPACE, ...args);

/** A pool has an address, which is active. */
async function servesAPool(): Promise<void> {
  // What the pool of another installation leaves on a droplet would keep others from it.
  if (address !== '') stage.cloud.moveReservedIP(address, null);
  address = stage.cloud.addReservedIP({ region: 'nyc3' }).ip;
  await stage.pool('ingress', address);
  await stage.until('the address is active', async () => (await stage.activeOn('ingress', address)) !== null);
}

const secret = async (name: string, key: string): Promise<string> => {
  const { data } = (await stage.client.get({ apiVersion: 'v1', kind: 'Secret', namespace: NAMESPACE, name })) as unknown as {
    readonly data: Readonly<Record<string, string>>;
  };
  return Buffer.from(data[key] ?? '', 'base64').toString();
};

async function isRemoved(overlay: string): Promise<void> {
  await uninstall(stage, overlay);
  expect(await leftBehind(stage)).toEqual([]);
}

const ip = stringify({ apiVersion: 'paas.org/v1', kind: 'IP', metadata: { name: '192.0.2.1' } });

describe('dashboard, inspector, journal, metrics-auth, service-monitor, admission-policies and virtual-ips, together', () => {
  let overlay: string;

  test('are applied', async () => {
    const { CHECK_TOOLS: tools = '' } = process.env;
    await stage.kubectl('apply', '--server-side', '--filename', join(tools, 'monitoring/servicemonitors.yaml'));
    overlay = stage.overlay(['dashboard', 'inspector', 'journal', 'service-monitor', 'metrics-auth', 'admission-policies', 'virtual-ips']);
    await install(stage, overlay);
    await replicas(stage);
    await servesAPool();
  });

  test('show the dashboards to whoever has the token, by a forwarded port', async () => {
    const token = await secret('routedip-operator-dashboard', 'ROUTEDIP_DASHBOARD_TOKEN');
    await forwarded(stage, NAMESPACE, 'service/routedip-operator-dashboard', 80, async (url) => {
      expect((await fetch(url)).status).toBe(401);
      const opened = await fetch(`${url}/?token=${token}`, { headers: { accept: 'text/html' }, redirect: 'manual' });
      expect(opened.status).toBe(303);
      const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const page = await fetch(url, { headers: { cookie } });
      expect(await page.text()).toContain('<title>RoutedIP Operator</title>');
    });
  });

  test('have dashboards that work in a browser under their own Content-Security-Policy', async () => {
    const token = await secret('routedip-operator-dashboard', 'ROUTEDIP_DASHBOARD_TOKEN');
    // The replica that leads has the machines to show.
    const led = await untilLed(stage);
    await forwarded(stage, NAMESPACE, `pod/${led.metadata.name}`, 8081, async (url) => {
      const browser = await launchChromium();
      try {
        const page = await browser.newPage();
        const complaints: string[] = [];
        page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
        page.on('pageerror', (error) => complaints.push(error.message));
        const answer = await page.goto(`${url}/?token=${token}`);
        expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'");
        await page.getByText(address).first().waitFor();
        const jobs = await page.goto(`${url}/jobs`);
        expect(jobs?.headers()['content-security-policy']).toContain("default-src 'self'");
        await page.getByText('Completed').first().waitFor();
        expect(complaints).toEqual([]);
      } finally {
        await browser.close();
      }
    });
  });

  test('have an inspector that draws by itself, since the viewer cannot be reached, and says so; on a replica that does not lead who does', async () => {
    const token = await secret('routedip-operator-dashboard', 'ROUTEDIP_DASHBOARD_TOKEN');
    const led = await untilLed(stage);
    const other = (await replicas(stage)).find(({ metadata }) => metadata.name !== led.metadata.name);
    const browser = await launchChromium();
    const says = (page: Page, text: string) => page.getByText(text).first().waitFor({ timeout: PATIENCE_MS });
    try {
      await forwarded(stage, NAMESPACE, `pod/${led.metadata.name}`, 8082, async (url) => {
        expect((await fetch(url)).status).toBe(401);
        const page = await browser.newPage();
        await page.goto(`${url}/?token=${token}`);
        await says(page, 'The viewer at stately.ai does not answer: this page draws the charts itself.');
        await page.locator('.branch', { hasText: address }).click();
        await page.locator('.state.leaf.live').first().waitFor();
        await page.locator('#title', { hasText: `pool/default/ingress/ip/${address}` }).waitFor();
        await stage.kubectl('annotate', 'floatingippool', 'ingress', 'routedip.io/paused=false');
        await page.locator('.branch', { hasText: 'pool default/ingress' }).click();
        await page.locator('.sent', { hasText: 'SPEC_OBSERVED' }).first().waitFor({ timeout: PATIENCE_MS });
      });
      await forwarded(stage, NAMESPACE, `pod/${other?.metadata.name}`, 8082, async (url) => {
        const page = await browser.newPage();
        await page.goto(`${url}/?token=${token}`);
        await says(page, `kubectl -n ${NAMESPACE} port-forward pod/${led.metadata.name} 8082`);
      });
    } finally {
      await browser.close();
    }
  });

  test.each(['dashboard', 'inspector'])('reach the %s by its Service', async (name) => {
    const url = await serviceUrl(stage, NAMESPACE, `routedip-operator-${name}`);
    expect((await fetch(url)).status).toBe(401);
  });

  test('tell the journal through the API server', async () => {
    const told = await plugin(stage.kubeconfig, 'journal', address, '--namespace', 'default');
    expect(told.stderr).toBe('');
    expect(told.stdout).toContain('assign done');
  });

  test('let the journal be read by those who are bound to its Role', async () => {
    const path = `/api/v1/namespaces/${NAMESPACE}/services/routedip-operator-journal:journal/proxy/`;
    const read = () => stage.kubectl('get', '--raw', path, '--as=somebody');
    await expect(read()).rejects.toThrow(/cannot get resource "services\/proxy"/);
    await inNamespace('create', 'rolebinding', 'readers', '--role=routedip-journal-reader', '--user=somebody');
    await stage.until('they may', () =>
      read().then(
        () => true,
        // What the journal itself answers for a path that it does not have.
        (error: unknown) => String(error).includes('could not find the requested resource'),
      ),
    );
  });

  test('show metrics to whoever has the right, and to nobody else', async () => {
    const [pod] = await replicas(stage);
    const scrape = async (token?: string) =>
      (await fetch(`http://${pod?.status.podIP}:8080/metrics`, token ? { headers: { authorization: `Bearer ${token}` } } : {})).status;
    const token = (await stage.kubectl('create', 'token', 'default')).trim();
    expect(await scrape()).toBe(401);
    expect(await scrape('not-a-token')).toBe(401);
    expect(await scrape(token)).toBe(403);
    await stage.kubectl(
      'create',
      'clusterrolebinding',
      'scrapes',
      '--clusterrole=routedip-operator-metrics-reader',
      '--serviceaccount=default:default',
    );
    // What is refused is remembered for a while.
    await stage.until('it may', async () => (await scrape(token)) === 200);
    await stage.kubectl('delete', 'clusterrolebinding', 'scrapes');
    expect(await inNamespace('get', 'servicemonitor', 'routedip-operator', '--output=yaml')).toContain('bearerTokenFile');
  });

  test('have the API server refuse who writes IPs', async () => {
    await stage.until('the policies are evaluated', () =>
      stage.pipe(ip, 'create', '--filename=-', '--dry-run=server').then(
        () => false,
        (error: unknown) => String(error).includes(NOBODY_MAY),
      ),
    );
  });

  test('let the operator migrate VirtualIPs', async () => {
    await stage.kubectl('apply', '--filename', join(ROOT, 'crds/legacy'));
    // kubectl asks about another resource, and hears no, until the server serves this one.
    await stage.until('it may', async () => {
      const may = await stage
        .kubectl('auth', 'can-i', 'patch', 'virtualips.paas.org', '--all-namespaces', `--as=${OPERATOR_USER}`)
        .catch(String);
      return may.trim() === 'yes';
    });
  });

  test('are removed', async () => {
    await stage.kubectl('delete', '--filename', join(ROOT, 'crds/legacy'));
    await stage.kubectl('delete', 'customresourcedefinition', 'servicemonitors.monitoring.coreos.com');
    await isRemoved(overlay);
  });
});

describe('admission-webhook, vip-allocator and openshift, together', () => {
  const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'vip-allocator-operator', name: '88cd116a.org' };
  const ANY = 1_000_680_000;
  let overlay: string;

  const groups = stringify({
    apiVersion: 'paas.org/v1',
    kind: 'IPGroup',
    metadata: { name: 'edge' },
    spec: { segment: '198.51.100.0/28', excludedIPs: [] },
  });
  const listed = () => stage.kubectl('get', 'service', 'shop', '--output=jsonpath={.status.loadBalancer.ingress[*].ip}');

  test('are applied, beside an allocator that has its Lease', async () => {
    const { apiVersion, kind, namespace, name } = LEASE;
    await stage.kubectl('create', 'namespace', namespace);
    const spec = {
      holderIdentity: 'the-other',
      leaseDurationSeconds: 3_600,
      renewTime: '2100-01-01T00:00:00.000000Z',
      acquireTime: '2020-01-01T00:00:00.000000Z',
    };
    await stage.client.create({ apiVersion, kind, metadata: { namespace, name }, spec });
    // The user that OpenShift would choose.
    const chosen = [{ op: 'add', path: '/spec/template/spec/securityContext/runAsUser', value: ANY }];
    overlay = stage.overlay(['openshift', 'admission-webhook', 'vip-allocator'], {
      target: { kind: 'Deployment|StatefulSet', name: 'routedip-operator.*' },
      patch: stringify(chosen),
    });
    await install(stage, overlay);
    await replicas(stage);
  });

  test('run the operator and Redis as any user, who can write to the disk of Redis', async () => {
    const [pod] = await podsOf(stage, REDIS);
    if (!pod) throw new Error('there is no Redis');
    const own = (...command: readonly string[]) => inNamespace('exec', pod.metadata.name, '--', ...command);
    for (const { metadata } of [pod, ...(await replicas(stage))])
      expect((await inNamespace('exec', metadata.name, '--', 'id', '-u')).trim()).toBe(String(ANY));
    expect((await own('redis-cli', '-e', 'set', '{kept}', 'yes')).trim()).toBe('OK');
    expect(await own('ls', '/data')).toContain('appendonlydir');
  });

  test('leave Services to the other allocator until it gives its Lease up', async () => {
    await stage.pipe(groups, 'create', '--filename=-');
    await stage.kubectl('create', 'service', 'loadbalancer', 'shop', '--tcp=80:80');
    const logs = () => inNamespace('logs', `--selector=${OPERATOR}`, '--tail=-1');
    await stage.until('the operator says that it waits', async () => (await logs()).includes('the-other'));
    expect(await listed()).toBe('');
    await stage.client.patch(LEASE, { spec: { holderIdentity: '' } });
    await stage.until('the Service has an address', async () => (await listed()).startsWith('198.51.100.'));
  });

  test('have the operator judge who writes IPs, asked by the API server', async () => {
    // kube-proxy writes the rules of a Service once it gets around to it, and tries again after 30 s when something else holds the lock of iptables.
    await stage.until('the API server reaches the webhook', () =>
      stage.pipe(ip, 'create', '--filename=-', '--dry-run=server').then(
        () => true,
        (error: unknown) => !String(error).includes('connection refused'),
      ),
    );
    for (const { metadata, status } of await replicas(stage)) expect(status.containerStatuses?.[0]?.restartCount, metadata.name).toBe(0);
    await expect(stage.pipe(ip, 'create', '--filename=-')).rejects.toThrow(NOBODY_MAY);
    const [name] = (await stage.kubectl('get', 'ips.paas.org', '--output=name')).trim().split('\n');
    await expect(stage.kubectl('delete', name ?? '')).rejects.toThrow('cannot delete ip objects');
  });

  test('are removed', async () => {
    await stage.kubectl('delete', 'service', 'shop', '--ignore-not-found');
    await uninstall(stage, overlay);
    await stage.kubectl('delete', 'namespace', LEASE.namespace);
    expect(await leftBehind(stage)).toEqual([]);
  });
});

describe('without-redis', () => {
  let overlay: string;

  test('is applied, and serves a pool by one replica', async () => {
    overlay = stage.overlay(['without-redis']);
    await install(stage, overlay);
    await replicas(stage, 1);
    expect(await inNamespace('get', 'statefulsets,persistentvolumeclaims', '--output=name')).toBe('');
    await servesAPool();
  });

  test('leaves the address where it is when its process is killed', async () => {
    const led = await untilLed(stage);
    const node = stage.nodes.holderOf(address);
    for (const pid of processesOf(led)) process.kill(pid, 'SIGKILL');
    await stage.until('its container is started anew', async () => {
      const [pod] = await podsOf(stage, OPERATOR);
      return pod !== undefined && isReady(pod) && pod.status.containerStatuses?.[0]?.restartCount === 1;
    });
    expect(await stage.activeOn('ingress', address)).toBe(node);
  });

  test('is removed', () => isRemoved(overlay));
});

describe('external-redis and redis-ca', () => {
  const ELSEWHERE = 'elsewhere';
  const HOST = `redis.${ELSEWHERE}.svc`;
  const PASSWORD = 'of-their-own';
  let overlay: string;

  /** A Redis by TLS alone, with a certificate of an authority that nobody knows. */
  async function startRedis(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'redis-ca-'));
    const [crt, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const names = ['-subj', '/CN=redis', '-addext', `subjectAltName=DNS:${HOST}`];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names, '-keyout', key, '-out', crt], {
      stdio: 'pipe',
    });
    await stage.kubectl('create', 'namespace', ELSEWHERE);
    await stage.kubectl('--namespace', ELSEWHERE, 'create', 'secret', 'tls', 'redis', `--cert=${crt}`, `--key=${key}`);
    await inNamespace('create', 'secret', 'generic', 'routedip-operator-redis-ca', `--from-file=ca.crt=${crt}`);
    rmSync(folder, { recursive: true });
    const tls = [
      '--port',
      '0',
      '--tls-port',
      '6379',
      '--tls-cert-file',
      '/tls/tls.crt',
      '--tls-key-file',
      '/tls/tls.key',
      '--tls-auth-clients',
      'no',
    ];
    const args = [...tls, '--requirepass', PASSWORD, '--maxmemory-policy', 'noeviction', '--appendonly', 'yes'];
    const container = {
      name: 'redis',
      image: 'docker.io/library/redis:7.2-bookworm',
      command: ['redis-server', ...args],
      volumeMounts: [{ name: 'tls', mountPath: '/tls' }],
    };
    const spec = { containers: [container], volumes: [{ name: 'tls', secret: { secretName: 'redis' } }] };
    const metadata: JsonObject = { name: 'redis', namespace: ELSEWHERE, labels: { app: 'redis' } };
    await stage.client.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec });
    await stage.client.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: { app: 'redis' }, ports: [{ port: 6379 }] },
    });
    await stage.kubectl('--namespace', ELSEWHERE, 'wait', '--for=condition=Ready', 'pod/redis', '--timeout=170s');
  }

  test('are applied, and keep records in a Redis of somebody else', async () => {
    await stage.kubectl('apply', '--filename', join(ROOT, 'deploy/namespace.yaml'));
    await startRedis();
    const given = [
      `--from-literal=REDIS_URL=rediss://${HOST}:6379`,
      `--from-literal=REDIS_PASSWORD=${PASSWORD}`,
      `--from-literal=DIGITALOCEAN_ACCESS_TOKEN=${TOKEN}`,
    ];
    await inNamespace('create', 'secret', 'generic', 'routedip-operator', ...given);
    overlay = stage.overlay(['external-redis', 'redis-ca']);
    await applied(stage, overlay);
    await replicas(stage);
    await servesAPool();
    const cli = ['redis-cli', '--tls', '--insecure', '-a', PASSWORD, '--no-auth-warning', '--scan'];
    const keys = await stage.kubectl('--namespace', ELSEWHERE, 'exec', 'redis', '--', ...cli);
    expect(keys.split('\n').filter((key) => key.startsWith('{')).length).toBeGreaterThan(0);
    expect(await inNamespace('get', 'statefulsets,services', '--output=name')).not.toContain('redis');
  });

  test('are removed', async () => {
    await stage.kubectl('delete', 'namespace', ELSEWHERE);
    await isRemoved(overlay);
  });
});
