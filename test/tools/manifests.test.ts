import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/kube.ts';
import { applyFile, installCrds } from '../support/kube-apply.ts';
import { findKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait-for.ts';
import { wholeTemplate } from './helm.ts';
import { describedGroups, SCHEMA_PATH, writeSchemas } from './schemas.ts';
import { runTool } from './tool.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const yamlIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(folder, name));

/** The kinds of the Prometheus Operator, which is not ours. */
const MONITORING = join(process.env.CHECK_TOOLS ?? '', 'monitoring');
const OURS = ['apis/flipop.digitalocean.com/v1alpha1', 'apis/routedip.io/v1alpha1', 'apis/paas.org/v1', 'apis/monitoring.coreos.com/v1'];

let cluster: Cluster;
const schemas = mkdtempSync(join(tmpdir(), 'schemas-'));

beforeAll(async () => {
  cluster = await startCluster();
  await installCrds(cluster);
  for (const file of [...yamlIn('crds/legacy'), ...readdirSync(MONITORING).map((name) => join(MONITORING, name))]) {
    if (file.endsWith('.yaml')) await applyFile(cluster, file.startsWith('/') ? file : join(ROOT, file));
  }
  await waitFor('the server describes the new kinds', async () => {
    const described = await describedGroups(cluster);
    return OURS.every((group) => described.includes(group));
  });
  expect(await writeSchemas(cluster, schemas)).toBeGreaterThan(100);
});
afterAll(async () => {
  rmSync(schemas, { recursive: true });
  await cluster?.stop();
});

interface Summary {
  readonly resources: readonly { readonly kind: string; readonly name: string; readonly status: string; readonly msg: string }[];
  readonly summary: { readonly valid: number; readonly invalid: number; readonly errors: number; readonly skipped: number };
}

const judged = (text: string): Summary => {
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', join(schemas, SCHEMA_PATH), '-'];
  return JSON.parse(runTool('kubeconform', args, text).stdout);
};

/** Every object is of a kind that is described, and as that description says. */
const expectValid = (text: string): void => {
  const { resources, summary } = judged(text);
  expect(resources).toEqual([]);
  expect(summary).toMatchObject({ invalid: 0, errors: 0, skipped: 0 });
  expect(summary.valid).toBe(text.match(/^kind: /gm)?.length);
};

const COMPONENTS = readdirSync(join(ROOT, 'deploy/components'));

/** What `kubectl apply -k` would apply of deploy/ with components. */
const overlaid = (...components: readonly string[]): string => {
  // Below the project: a kustomization names its parts by relative paths.
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.cache/overlay-'));
  try {
    const paths = components.map((component) => `../../deploy/components/${component}`);
    writeFileSync(join(folder, 'kustomization.yaml'), `resources: [../../deploy]\ncomponents: [${paths.join(', ')}]\n`);
    return execFileSync(findKubectl(), ['kustomize', folder], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Each value that is handed over to Pods. */
const PODS = {
  extraEnv: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
  podAnnotations: { note: 'x' },
  podLabels: { tier: 'infra' },
  priorityClassName: 'system-cluster-critical',
  nodeSelector: { pool: 'infra' },
  tolerations: [{ operator: 'Exists' }],
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } } },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' }],
};

describe('as Kubernetes describes its kinds, strictly, are', () => {
  test.each([
    'deploy/bundle.yaml',
    'deploy/bundle-webhook.yaml',
    'deploy/observer.yaml',
    'deploy/prometheus/rules.yaml',
    'deploy/prometheus/pod-monitor.yaml',
    ...yamlIn('crds'),
    ...yamlIn('crds/legacy'),
  ])('%s', (path) => expectValid(read(path)));

  test.each(yamlIn('crds/samples'))('%s', (path) => expectValid(read(path)));

  test.each(['metrics-auth', 'dashboard', 'inspector', 'journal', 'vip-admission-policies', 'vip-admission-webhook', 'virtual-ips'])(
    'deploy/%s.yaml',
    (name) => expectValid(read(`deploy/${name}.yaml`)),
  );

  test.each(COMPONENTS)('deploy/ with the component %s', (component) =>
    // The authority is one of a Redis of your own.
    expectValid(component === 'redis-ca' ? overlaid('external-redis', component) : overlaid(component)),
  );

  test.each([
    ['nothing', {}],
    ['redis.mode=memory', { redis: { mode: 'memory' } }],
    ['observe', { observe: true }],
    [
      'an external Redis',
      { redis: { mode: 'external', url: 'rediss+sentinel://a,b/mymaster', sentinel: { username: 'w', passwordSecret: { name: 's' } } } },
    ],
    [
      'its certificates',
      { redis: { mode: 'external', urlSecret: { name: 'url' }, tls: { caSecret: { name: 'ca' }, certSecret: { name: 'cert' } } } },
    ],
    ['admission=none', { admission: 'none', virtualIPs: { enabled: true } }],
    ['admission=webhook', { admission: 'webhook', vipLease: { enabled: true }, journal: { enabled: true } }],
    [
      'dashboard, inspector and metrics',
      { dashboard: { enabled: true }, inspector: { enabled: true }, metrics: { auth: 'token-review', serviceMonitor: { enabled: true } } },
    ],
    [
      'alerts, their runbooks and the dashboard of Grafana',
      {
        metrics: {
          serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
          prometheusRule: { enabled: true, labels: { release: 'prometheus' }, runbookBaseUrl: 'https://wiki.example.com/routedip' },
          dashboard: { enabled: true, annotations: { 'example.com/folder': 'Network' } },
        },
      },
    ],
    [
      'openshift and a registry',
      {
        openshift: true,
        registry: 'r.example.com',
        imagePullSecrets: [{ name: 'pull' }],
        redis: { storageClassName: 'fast' },
        extraArgs: ['--debug'],
      },
    ],
    ['Pods as told', { ...PODS, redis: PODS }],
  ])('the chart with %s', (_, values) => expectValid(wholeTemplate(values, 'elsewhere')));
});

test('a field that is misspelt, a wrong type and an unknown kind are found', () => {
  const policy = read('deploy/network-policy.yaml');
  expect(judged(policy.replace('ingress:', 'ingres:')).summary).toMatchObject({ valid: 1, invalid: 1 });
  expect(judged(policy.replace('port: 8080', 'port: [8080]')).summary).toMatchObject({ valid: 1, invalid: 1 });
  expect(judged(policy.replace('kind: NetworkPolicy', 'kind: NetworkPolicies')).summary).toMatchObject({ valid: 1, errors: 1 });
});
