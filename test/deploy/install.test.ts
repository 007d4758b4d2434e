import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_SETTINGS } from '../../actors/ports/settings.ts';
import { addGenerateSecret, type GenerateSecret } from '../../adapters/cli/generate-secret.ts';
import { parseCommandLine } from '../../adapters/cli/options.ts';
import { installFiles } from '../../tools/generate-install.ts';
import { staleFiles } from '../../tools/generated-files.ts';
import { imagesOf } from '../../tools/manifests.ts';
import { findKubectl, kubectlVersion } from '../support/kubectl.ts';
import { type ByName, isWorkload, keyed, pick, rulesOf, type Shipped, shippedIn } from './manifest-facts.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, 'deploy', path), 'utf8');
const NAME = 'routedip-operator';

const bundle = shippedIn(read('bundle.yaml'));
const OPTIONAL = [
  'metrics-auth.yaml',
  'dashboard.yaml',
  'inspector.yaml',
  'vip-admission-webhook.yaml',
  'virtual-ips.yaml',
  'journal.yaml',
  'components/observe/role.yaml',
  'components/service-monitor/service-monitor.yaml',
  'components/prometheus-rule/rules.yaml',
];
const extras = OPTIONAL.flatMap((path) => shippedIn(read(path)));
const workloads = bundle.filter(isWorkload);

/** The one object of a kind and name in the bundle. */
const find = (kind: string, name: string): Shipped => pick(keyed(bundle), `${kind} ${name}`);

/** kubectl reads a kustomization by itself: no server is asked. */
const built = (folder: string): readonly Shipped[] =>
  shippedIn(execFileSync(findKubectl(), ['kustomize', folder], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 }));

describe('what installs the operator', () => {
  test('is as the plain manifests give it', () => {
    expect(installFiles().length).toBeGreaterThan(15);
    expect(staleFiles(installFiles()).map(({ path }) => relative(ROOT, path))).toEqual([]);
  });

  test('is the same by kubectl apply -k and by the bundle', () => {
    expect(bundle.length).toBeGreaterThan(20);
    expect(keyed(built(join(ROOT, 'deploy')))).toEqual(keyed(bundle));
  });

  test('has each object once, whole, and in the namespace that comes first', () => {
    const objects = [...bundle, ...extras];
    expect(Object.keys(keyed(objects))).toHaveLength(objects.length);
    expect(bundle[0]).toMatchObject({ kind: 'Namespace', metadata: { name: NAME } });
    for (const { apiVersion, kind, metadata } of objects) {
      expect([typeof apiVersion, typeof kind, typeof metadata.name]).toEqual(['string', 'string', 'string']);
      expect([undefined, NAME]).toContain(metadata.namespace);
    }
  });

  test('gives the operator longer to stop than it takes, with time to spare', () => {
    const { terminationGracePeriodSeconds: seconds = 0 } = find('Deployment', NAME).spec.template.spec;
    const { stop_grace_period: compose = '' } = parse(readFileSync(join(ROOT, 'docker-compose.operator.yml'), 'utf8')).services.operator;
    expect(DEFAULT_SETTINGS.shutdownGraceMs).toBeGreaterThan(20_000);
    expect(seconds * 1000 - DEFAULT_SETTINGS.shutdownGraceMs).toBeGreaterThanOrEqual(2_000);
    expect(compose).toBe(`${seconds}s`);
  });

  test('names every image', () => {
    const images = read('images.txt').trim().split('\n');
    expect(images).toEqual(imagesOf([...bundle, ...extras]));
    expect(images).toHaveLength(2);
    for (const image of images) expect(image).toMatch(/:[\w.-]+$/);
    expect(images).not.toContainEqual(expect.stringMatching(/:latest$/));
  });
});

describe('the Pods', () => {
  test.each(workloads)('of $kind $metadata.name have no right on their node', ({ spec }) => {
    const pod = spec.template.spec;
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(pod).not.toHaveProperty('hostNetwork');
    expect(pod.containers.length).toBeGreaterThan(0);
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      expect(container.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(container.resources).toMatchObject({
        requests: { cpu: expect.anything(), memory: expect.anything() },
        limits: { memory: expect.anything() },
      });
    }
  });

  test('of the operator run as any user, two of them and apart where that can be', () => {
    expect(workloads.map(({ metadata }) => metadata.name).sort()).toEqual([NAME, `${NAME}-redis`]);
    const { spec } = find('Deployment', NAME);
    expect(spec.replicas).toBe(2);
    expect(spec.template.spec.securityContext).not.toHaveProperty('runAsUser');
    const [apart] = spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
    expect(apart.podAffinityTerm.labelSelector).toEqual(spec.selector);
    expect(find('PodDisruptionBudget', NAME).spec).toEqual({ maxUnavailable: 1, selector: spec.selector });
  });

  test('of the operator are started with flags that it has, the metrics where the Service and the policy say', async () => {
    const [container] = find('Deployment', NAME).spec.template.spec.containers;
    const parsed = await parseCommandLine(container.args, {}, '0.1.0');
    expect(parsed?.options).toMatchObject({ metricsBindAddr: ':8080' });
    expect(container.ports).toEqual([{ name: 'metrics', containerPort: 8080 }]);
    expect(find('Service', `${NAME}-metrics`).spec.ports).toMatchObject([{ name: 'metrics', targetPort: 'metrics' }]);
    expect(find('NetworkPolicy', NAME).spec.ingress[0].ports).toContainEqual({ protocol: 'TCP', port: 8080 });
  });

  test('of Redis are none of those that Services, budget and policies of the operator choose', () => {
    const labelsOf = (workload: Shipped) => workload.spec.template.metadata.labels;
    const [operator, redis] = ['Deployment', 'StatefulSet'].map((kind) => workloads.find((workload) => workload.kind === kind));
    if (!operator || !redis) throw new Error('a workload is missing');
    const selector = find('Service', `${NAME}-metrics`).spec.selector;
    expect(labelsOf(operator)).toMatchObject(selector);
    expect(labelsOf(redis)).not.toMatchObject(selector);
    expect(labelsOf(redis)).toMatchObject(find('Service', `${NAME}-redis`).spec.selector);
    const policy = find('NetworkPolicy', `${NAME}-redis`).spec;
    expect(labelsOf(redis)).toMatchObject(policy.podSelector.matchLabels);
    expect(policy.ingress).toHaveLength(1);
    expect(labelsOf(operator)).toMatchObject(policy.ingress[0].from[0].podSelector.matchLabels);
    // No rule lets anything out.
    expect([policy.policyTypes, policy.egress]).toEqual([['Ingress', 'Egress'], undefined]);
  });

  test('of Redis keep what they are told, never evict, and are where the operator looks for them', () => {
    const { spec } = find('StatefulSet', `${NAME}-redis`);
    const [container] = spec.template.spec.containers;
    const following = (flag: string) => container.args[container.args.indexOf(flag) + 1];
    expect([following('--appendonly'), following('--maxmemory-policy'), following('--hz'), following('--dir')]).toEqual([
      'yes',
      'noeviction',
      '100',
      '/data',
    ]);
    expect(container.volumeMounts).toEqual([{ name: spec.volumeClaimTemplates[0].metadata.name, mountPath: '/data' }]);
    expect(spec.template.spec.automountServiceAccountToken).toBe(false);
    const { env } = find('Deployment', NAME).spec.template.spec.containers[0];
    const [port] = find('Service', `${NAME}-redis`).spec.ports;
    expect(env).toContainEqual({ name: 'REDIS_URL', value: `redis://${NAME}-redis:${port.port}` });
  });

  test('of the operator make the password by which both know each other, with a right for this alone', () => {
    const { initContainers = [], containers } = find('Deployment', NAME).spec.template.spec;
    const [operator] = containers;
    expect(initContainers.map(({ image }) => image)).toEqual([operator.image]);
    const asked: GenerateSecret[] = [];
    parseCommandLine(initContainers[0]?.args ?? [], {}, '0.1.0', (program) => addGenerateSecret(program, (each) => void asked.push(each)));
    const reference = { name: `${NAME}-redis`, key: 'REDIS_PASSWORD' };
    expect(asked).toEqual([{ secret: reference.name, key: reference.key }]);
    expect(operator.env).toContainEqual({ name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: reference } });
    const [redis] = find('StatefulSet', `${NAME}-redis`).spec.template.spec.containers;
    expect(redis.env).toEqual([{ name: 'REDISCLI_AUTH', valueFrom: { secretKeyRef: reference } }]);
    expect(find('Role', `${NAME}-redis`).rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
      { apiGroups: [''], resources: ['secrets'], resourceNames: [reference.name], verbs: ['get'] },
    ]);
    expect(find('RoleBinding', `${NAME}-redis`).roleRef).toMatchObject({ kind: 'Role', name: `${NAME}-redis` });
  });
});

describe('an operator that only observes', () => {
  const observer = shippedIn(read('observer.yaml'));

  test('may read what the operator may, and write one thing: the status of Pods where it is', () => {
    const rights = observer.flatMap((object) => rulesOf(object).map((rule) => ({ kind: object.kind, rule })));
    const isRead = (verb: string): boolean => ['get', 'list', 'watch'].includes(verb);
    expect(rights.filter(({ rule }) => !rule.verbs.every(isRead))).toEqual([
      { kind: 'Role', rule: { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] } },
    ]);
    const readBy = (objects: readonly Shipped[], name: string) =>
      rulesOf(pick(keyed(objects), `ClusterRole ${name}`))
        .filter(({ verbs }) => verbs.some(isRead))
        .map(({ resources }) => resources);
    expect(readBy(observer, 'routedip-observer').length).toBeGreaterThan(8);
    expect(readBy(observer, 'routedip-observer')).toEqual(readBy(bundle, NAME));
  });

  test('has nothing in common with any other installation, and is started as one', () => {
    expect(Object.keys(keyed([...observer, ...bundle, ...extras]))).toHaveLength(observer.length + bundle.length + extras.length);
    for (const { kind, metadata } of observer)
      expect(metadata.namespace ?? metadata.name, `${kind} ${metadata.name}`).toBe('routedip-observer');
    const { spec } = pick(keyed(observer), 'Deployment routedip-observer');
    const [{ args, env }] = spec.template.spec.containers;
    expect(parseCommandLine(args, {}, '0.1.0')?.options).toMatchObject({ observe: true, tokensSecret: { name: 'routedip-observer' } });
    expect([env, spec.template.spec.initContainers]).toEqual([undefined, undefined]);
  });
});

describe('the rights', () => {
  test('have no wildcard, and none on Secrets that is bound for the whole cluster', () => {
    const objects = [...bundle, ...extras];
    const roles = objects.flatMap((object) => rulesOf(object).map((rule) => ({ kind: object.kind, name: object.metadata.name, rule })));
    expect(roles.length).toBeGreaterThan(20);
    expect(roles.filter(({ rule }) => JSON.stringify(rule).includes('*'))).toEqual([]);
    const bound = objects.flatMap((object) => (object.kind === 'ClusterRoleBinding' ? [object.roleRef?.name] : []));
    expect(bound).toContain(NAME);
    expect(
      roles.filter(({ kind, name, rule }) => kind === 'ClusterRole' && bound.includes(name) && rule.resources.includes('secrets')),
    ).toEqual([]);
  });
});

const { major, minor } = kubectlVersion();
const hasComponents = major > 1 || minor >= 21;

describe('the components', () => {
  let folder: string;
  beforeAll(() => {
    // Below the project: a kustomization names its parts by relative paths.
    mkdirSync(join(ROOT, '.cache'), { recursive: true });
    folder = mkdtempSync(join(ROOT, '.cache/overlay-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const overlaid = (...components: readonly string[]): ByName => {
    const paths = components.map((component) => `../../deploy/components/${component}`);
    writeFileSync(join(folder, 'kustomization.yaml'), `resources: [../../deploy]\ncomponents: [${paths.join(', ')}]\n`);
    return keyed(built(folder));
  };

  const why = hasComponents ? '' : ` (skipped: kubectl ${major}.${minor} has no components, 1.21 does)`;
  const base = Object.keys(keyed(bundle));

  test.skipIf(!hasComponents).each([
    ['observe', ['components/observe/role.yaml']],
    ['service-monitor', ['components/service-monitor/service-monitor.yaml']],
    ['prometheus-rule', ['prometheus/rules.yaml']],
    ['virtual-ips', ['virtual-ips.yaml']],
    ['metrics-auth', ['metrics-auth.yaml']],
    ['journal', ['journal.yaml']],
    ['dashboard', ['dashboard.yaml']],
    ['inspector', ['inspector.yaml']],
  ])(`%s adds what belongs to it${why}`, (component, paths) => {
    const added = keyed(paths.flatMap((path) => shippedIn(read(path))));
    expect(Object.keys(added).length).toBeGreaterThan(0);
    expect(overlaid(component)).toMatchObject(added);
    expect(Object.keys(overlaid(component)).sort()).toEqual([...base, ...Object.keys(added)].sort());
  });

  test.skipIf(!hasComponents)(`grafana-dashboard adds the dashboard as it is, where the sidecar of Grafana finds it${why}`, () => {
    const { [`ConfigMap ${NAME}-grafana`]: added, ...others } = overlaid('grafana-dashboard');
    expect(others).toEqual(keyed(bundle));
    expect(added).toMatchObject({
      metadata: { namespace: NAME, labels: { grafana_dashboard: '1' } },
      data: { 'routedip-operator.json': read('grafana/routedip-operator.json') },
    });
  });

  const policies = base.filter((key) => key.startsWith('ValidatingAdmissionPolicy'));

  test.skipIf(!hasComponents)(
    `admission-webhook has the operator serve it, in the place of all policies, as bundle-webhook.yaml does${why}`,
    async () => {
      expect(policies).toHaveLength(6);
      const objects = overlaid('admission-webhook');
      const added = Object.keys(keyed(shippedIn(read('vip-admission-webhook.yaml'))));
      expect(Object.keys(objects).sort()).toEqual([...base.filter((key) => !policies.includes(key)), ...added].sort());
      expect(objects).toEqual(keyed(shippedIn(read('bundle-webhook.yaml'))));
      const { args } = pick(objects, `Deployment ${NAME}`).spec.template.spec.containers[0];
      expect((await parseCommandLine(args, {}, '0.1.0'))?.options).toMatchObject({
        admission: 'webhook',
        webhookBindAddr: ':9443',
        metricsBindAddr: ':8080',
      });
    },
  );

  test.skipIf(!hasComponents)(
    `admission-policies adds nothing to the policies that are there, and has the operator go by them${why}`,
    async () => {
      const objects = overlaid('admission-policies');
      expect(Object.keys(objects).sort()).toEqual([...base].sort());
      const { args } = pick(objects, `Deployment ${NAME}`).spec.template.spec.containers[0];
      expect((await parseCommandLine(args, {}, '0.1.0'))?.options).toMatchObject({ admission: 'policy', metricsBindAddr: ':8080' });
    },
  );

  test.skipIf(!hasComponents)(`the overlay of docs/install.md has the policies know the operator in another namespace${why}`, () => {
    const [, overlay = ''] =
      /^### Another namespace\n[^`]*```yaml\n(.*?)```/ms.exec(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')) ?? [];
    writeFileSync(join(folder, 'kustomization.yaml'), overlay.replace('../routedip-operator/', '../../'));
    const objects = built(folder);
    const users = objects.flatMap((object) => JSON.stringify(object).match(/system:serviceaccount:[\w:-]+/g) ?? []);
    expect(users).toEqual(Array(2).fill(`system:serviceaccount:elsewhere:${NAME}`));
    expect(pick(keyed(objects), `ServiceAccount ${NAME}`).metadata.namespace).toBe('elsewhere');
  });

  test.skipIf(!hasComponents).each([
    [['vip-allocator', 'admission-webhook'], []],
    [['admission-webhook', 'vip-allocator'], []],
    [['flipop', 'admission-webhook'], []],
    [['admission-webhook', 'flipop'], []],
    [
      ['flipop', 'vip-allocator'],
      [`ValidatingAdmissionPolicy ${NAME}-nodes`, `ValidatingAdmissionPolicyBinding ${NAME}-nodes`],
    ],
  ])(`%j leave of the policies those alone that are meant: %j${why}`, (components, expected) => {
    expect(Object.keys(overlaid(...components)).filter((key) => policies.includes(key))).toEqual(expected);
  });

  test.skipIf(!hasComponents)(`metrics-auth has the operator ask for tokens, and Prometheus send its own${why}`, async () => {
    const objects = overlaid('service-monitor', 'metrics-auth');
    const { args } = pick(objects, `Deployment ${NAME}`).spec.template.spec.containers[0];
    expect((await parseCommandLine(args, {}, '0.1.0'))?.options).toMatchObject({ metricsAuth: 'token-review', metricsBindAddr: ':8080' });
    const [endpoint] = pick(objects, `ServiceMonitor ${NAME}`).spec.endpoints;
    expect(endpoint).toMatchObject({ path: '/metrics', bearerTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' });
    expect(pick(overlaid('service-monitor'), `ServiceMonitor ${NAME}`).spec.endpoints).toEqual([
      { port: 'metrics', path: '/metrics', interval: '30s', honorLabels: true },
    ]);
  });

  test.skipIf(!hasComponents).each([
    ['dashboard', 8081, { dashboardBindAddr: ':8081' }],
    ['inspector', 8082, { inspect: ':8082' }],
  ] as const)(`%s has the operator serve it where its Service leads, for a token that is made${why}`, async (component, port, options) => {
    const objects = overlaid(component);
    const { initContainers = [], containers } = pick(objects, `Deployment ${NAME}`).spec.template.spec;
    const [{ args, env, ports, image, securityContext }] = containers;
    const asked: GenerateSecret[] = [];
    const making = initContainers.find(({ name }) => name === 'dashboard-token');
    parseCommandLine(making?.args ?? [], {}, '0.1.0', (program) => addGenerateSecret(program, (each) => void asked.push(each)));
    const reference = { name: `${NAME}-dashboard`, key: 'ROUTEDIP_DASHBOARD_TOKEN' };
    expect(asked).toEqual([{ secret: reference.name, key: reference.key }]);
    expect(making).toMatchObject({ image, securityContext });
    expect(env).toContainEqual({ name: 'ROUTEDIP_DASHBOARD_TOKEN', valueFrom: { secretKeyRef: reference } });
    expect((await parseCommandLine(args, {}, '0.1.0'))?.options).toMatchObject(options);
    expect(ports).toContainEqual({ name: component, containerPort: port });
    expect(pick(objects, `Service ${NAME}-${component}`).spec.ports).toMatchObject([{ port: 80, targetPort: component }]);
    expect(pick(objects, `NetworkPolicy ${NAME}-${component}`).spec.ingress).toEqual([{ ports: [{ protocol: 'TCP', port }] }]);
    expect(pick(objects, `Role ${NAME}-${component}`).rules?.[1]).toMatchObject({ resourceNames: [reference.name], verbs: ['get'] });
    expect(JSON.stringify(bundle)).not.toContain(String(port));
  });

  test.skipIf(!hasComponents)(`dashboard and inspector are served together, for one token${why}`, async () => {
    const objects = overlaid('dashboard', 'inspector');
    const { initContainers = [], containers } = pick(objects, `Deployment ${NAME}`).spec.template.spec;
    const [{ args, env }] = containers;
    expect((await parseCommandLine(args, {}, '0.1.0'))?.options).toMatchObject({ dashboardBindAddr: ':8081', inspect: ':8082' });
    expect(initContainers.filter(({ name }) => name === 'dashboard-token')).toHaveLength(1);
    expect(env.filter(({ name }) => name === 'ROUTEDIP_DASHBOARD_TOKEN')).toHaveLength(1);
  });

  test.skipIf(!hasComponents)(`external-redis leaves nothing of the one inside and takes the URL from the Secret${why}`, () => {
    const objects = overlaid('external-redis');
    expect(base.filter((key) => key.endsWith('-redis'))).toHaveLength(6);
    expect(Object.keys(objects).sort()).toEqual(base.filter((key) => !key.endsWith('-redis')).sort());
    const { containers, initContainers } = pick(objects, `Deployment ${NAME}`).spec.template.spec;
    const secretKeyRef = { name: NAME, key: 'REDIS_URL' };
    expect(containers[0].env.filter(({ name }) => name.startsWith('REDIS_'))).toEqual([
      { name: 'REDIS_URL', valueFrom: { secretKeyRef } },
      { name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { ...secretKeyRef, key: 'REDIS_PASSWORD', optional: true } } },
    ]);
    expect(containers[0].env).toHaveLength(2);
    expect(initContainers).toEqual([]);
  });

  test.skipIf(!hasComponents)(`without-redis leaves one replica that keeps everything in memory${why}`, async () => {
    const objects = overlaid('without-redis');
    expect(Object.keys(objects).sort()).toEqual(base.filter((key) => !key.endsWith('-redis')).sort());
    const { replicas, strategy, template } = pick(objects, `Deployment ${NAME}`).spec;
    expect([replicas, strategy]).toEqual([1, { type: 'Recreate' }]);
    const [{ args, env }] = template.spec.containers;
    expect([template.spec.initContainers, env.filter(({ name }) => name.startsWith('REDIS_'))]).toEqual([[], []]);
    expect((await parseCommandLine(args, {}, '0.1.0'))?.options.jobs).toBe('memory');
  });

  test.skipIf(!hasComponents)(`redis-ca has the operator know Redis by the authority in a Secret${why}`, () => {
    const [operator] = pick(overlaid('redis-ca'), `Deployment ${NAME}`).spec.template.spec.containers;
    expect(operator.env).toContainEqual({ name: 'REDIS_CA_FILE', value: '/etc/redis-ca/ca.crt' });
    expect(JSON.stringify(operator)).toContain('"mountPath":"/etc/redis-ca"');
  });

  test.skipIf(!hasComponents)(`openshift leaves the users to the cluster${why}`, () => {
    expect(JSON.stringify(bundle)).toContain('"runAsUser":999');
    const objects = overlaid('openshift');
    expect(Object.keys(objects).sort()).toEqual([...base].sort());
    expect(JSON.stringify(objects)).not.toMatch(/"(runAsUser|runAsGroup|fsGroup)"/);
  });
});
