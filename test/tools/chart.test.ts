import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseCommandLine } from '../../adapters/cli/options.ts';
import { publicationOf } from '../../tools/release.ts';
import { publishedChart } from '../../tools/release-chart.ts';
import { type ByName, isWorkload, keyed, pick, type Shipped, shippedIn } from '../deploy/manifest-facts.ts';
import { CHART, rendered, wholeTemplate } from './helm.ts';
import { outputOf, temporaryFolder } from './tool.ts';

const DEPLOY = join(CHART, '..');
const NAME = 'routedip-operator';
const { version: VERSION } = JSON.parse(readFileSync(join(DEPLOY, '../package.json'), 'utf8')) as { readonly version: string };

const policyOf = ({ metadata }: Shipped) => metadata.annotations?.['helm.sh/resource-policy'];

/** The objects of the bundle, but for the namespace, which Helm makes when it is asked to. */
const plain = (): ByName => keyed(shippedIn(readFileSync(join(DEPLOY, 'bundle.yaml'), 'utf8')).filter(({ kind }) => kind !== 'Namespace'));

/** Without what tells Helm to keep definitions, which the bundle does not say. */
const withoutPolicies = (objects: ByName): ByName =>
  Object.fromEntries(
    Object.entries(objects).map(([key, object]) => {
      if (policyOf(object) === undefined) return [key, object];
      const { annotations: _, ...metadata } = object.metadata;
      return [key, { ...object, metadata }];
    }),
  );

/** Each once. */
const podImages = ({ containers, initContainers = [] }: Shipped['spec']['template']['spec']): readonly string[] => [
  ...new Set([...initContainers, ...containers].map(({ image }) => image)),
];

const operatorIn = (objects: ByName) => pick(objects, `Deployment ${NAME}`).spec.template.spec;

describe('the chart', () => {
  test('has nothing that helm lint minds', () => {
    expect(outputOf('helm', ['lint', '--strict', CHART])).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  test('installs by default what the bundle does', () => {
    expect(Object.keys(plain()).length).toBeGreaterThan(20);
    expect(withoutPolicies(rendered())).toEqual(plain());
  });

  test('is the same when it is packed', () => {
    const folder = temporaryFolder();
    outputOf('helm', ['package', CHART, '--destination', folder]);
    const { version } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { readonly version: string };
    expect(wholeTemplate({}, NAME, join(folder, `routedip-operator-${version}.tgz`))).toBe(wholeTemplate());
    expect(version).toBe(VERSION);
  });

  test('of a release is as good, and finds its image where that is published', () => {
    const folder = join(temporaryFolder(), NAME);
    publishedChart(folder, publicationOf(`v${VERSION}`, 'Example/routedip'));
    expect(outputOf('helm', ['lint', '--strict', folder])).toContain('1 chart(s) linted, 0 chart(s) failed');
    const published = wholeTemplate({}, NAME, folder);
    expect(published).toBe(wholeTemplate({ image: { registry: 'ghcr.io/example' } }));
    expect(outputOf('helm', ['show', 'readme', folder])).toContain('oci://ghcr.io/example/charts/routedip-operator');
  });

  test.each([
    ['dashboard', { dashboard: { enabled: true } }, 'dashboard.yaml'],
    ['inspector', { inspector: { enabled: true } }, 'inspector.yaml'],
    ['journal', { journal: { enabled: true } }, 'journal.yaml'],
    ['observe', { admission: 'policies', observe: true }, 'components/observe/role.yaml'],
    ['metrics.auth', { metrics: { auth: 'token-review' } }, 'metrics-auth.yaml'],
    ['metrics.serviceMonitor', { metrics: { serviceMonitor: { enabled: true } } }, 'components/service-monitor/service-monitor.yaml'],
    ['metrics.prometheusRule', { metrics: { prometheusRule: { enabled: true } } }, 'prometheus/rules.yaml'],
    ['virtualIPs', { virtualIPs: { enabled: true } }, 'virtual-ips.yaml'],
    ['vipLease', { admission: 'policies', vipLease: { enabled: true } }, 'components/vip-allocator/lease.yaml'],
  ])('adds with %s the objects of the plain manifest, and no other', (_, values, path) => {
    const added = keyed(shippedIn(readFileSync(join(DEPLOY, path), 'utf8')));
    expect(Object.keys(added).length).toBeGreaterThan(0);
    const { [`Deployment ${NAME}`]: changed, ...others } = withoutPolicies(rendered(values));
    const { [`Deployment ${NAME}`]: before, ...othersBefore } = plain();
    expect(others).toEqual({ ...othersBefore, ...added });
    expect(changed).toMatchObject({ metadata: before?.metadata });
  });

  describe('has who writes IPs judged, and what the operator does to Nodes,', () => {
    const objectsOf = (file: string): readonly string[] => Object.keys(keyed(shippedIn(readFileSync(join(DEPLOY, file), 'utf8'))));
    const [policies, nodes, webhook] = ['vip-admission-policies.yaml', 'node-policy.yaml', 'vip-admission-webhook.yaml'].map(objectsOf);
    const all = [policies, nodes, webhook].flatMap((keys = []) => keys);
    const found = (values: unknown, flags: readonly string[]): readonly string[] =>
      Object.keys(keyed(shippedIn(wholeTemplate(values, NAME, CHART, ...flags)))).filter((key) => all.includes(key));
    const NEW = ['--kube-version', '1.30.0'];
    const OLD = ['--kube-version', '1.29.9'];
    const kinds = (...names: readonly string[]) => ['--api-versions', ['v1/Pod', ...names].join(',')];
    const SERVED = 'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy';

    test.each([
      ['by policies', 'by default, on a release that has them', {}, NEW, [policies, nodes]],
      ['by policies', 'by default, on a cluster that says that it has them', {}, [...OLD, ...kinds(SERVED)], [policies, nodes]],
      ['by the webhook', 'by default, on a release that has none', {}, OLD, [webhook]],
      ['by the webhook', 'by default, on a cluster that has switched them off', {}, [...NEW, ...kinds()], [webhook]],
      ['as to Nodes alone', 'where another allocator writes IPs still', { vipLease: { enabled: true } }, NEW, [nodes]],
      ['as to Nodes alone', 'where it only observes', { observe: true }, NEW, [nodes]],
      ['as to Nodes alone', 'where it only observes, and would answer no webhook', { observe: true, admission: 'webhook' }, NEW, [nodes]],
      ['as to Nodes alone', 'where Services are not served', { controllers: ['flipop', 'routedip'] }, NEW, [nodes]],
      ['not at all', 'where neither is', { controllers: ['flipop'] }, OLD, []],
      ['by policies', 'where Services are served', { controllers: ['vip'] }, NEW, [policies, nodes]],
      ['not at all', 'when it was told so', { admission: 'none' }, NEW, []],
      ['by policies', 'when it was told so, whatever is known of the cluster', { admission: 'policies' }, OLD, [policies, nodes]],
      ['by the webhook', 'when it was told so, as to IPs', { admission: 'webhook' }, NEW, [webhook, nodes]],
      ['by the webhook', 'when it was told so, where there are no policies', { admission: 'webhook' }, OLD, [webhook]],
    ])('%s %s', (_how, _when, values, flags, expected) => {
      expect([...found(values, flags)].sort()).toEqual(expected.flatMap((keys = []) => keys).sort());
    });

    test.each([OLD, NEW])('and the operator serves the webhook where it is registered: %s %s', async (...flags) => {
      for (const admission of ['auto', 'webhook', 'policies', 'none']) {
        const objects = keyed(shippedIn(wholeTemplate({ admission }, 'elsewhere', CHART, ...flags)));
        const { args } = operatorIn(objects).containers[0];
        const isRegistered = Object.keys(objects).some((key) => key.startsWith('ValidatingWebhookConfiguration'));
        expect((await parseCommandLine(args, {}, '0.1.0'))?.options).toMatchObject(
          isRegistered
            ? { admission: 'webhook', webhookBindAddr: ':9443', webhookService: 'elsewhere/vip-allocator-operator-webhook-service' }
            : { admission: 'auto' },
        );
        expect(JSON.stringify(objects)).not.toContain(`serviceaccount:${NAME}:`);
      }
    });
  });

  test('adds nothing to the roles of the cluster when told not to', () => {
    const changed = (values: unknown) => {
      const objects = rendered(values);
      return Object.keys(objects).filter((key) => JSON.stringify(objects[key]).includes('rbac.authorization.k8s.io/aggregate-to-'));
    };
    expect(changed({})).toEqual(['view', 'edit', 'admin'].map((role) => `ClusterRole routedip-${role}`));
    expect(changed({ aggregateRoles: false })).toEqual([]);
    expect(Object.keys(rendered({ aggregateRoles: false }))).toEqual(Object.keys(rendered()));
  });

  test('keeps the definitions, and with them everything of their kinds, when it is uninstalled', () => {
    const kept = Object.values(rendered()).filter((object) => policyOf(object) === 'keep');
    expect(kept.length).toBeGreaterThan(5);
    expect(new Set(kept.map(({ kind }) => kind))).toEqual(new Set(['CustomResourceDefinition']));
    expect(Object.keys(rendered({ crds: { install: false } })).filter((key) => key.startsWith('Custom'))).toEqual([]);
  });

  test('fetches every image from one registry when told to', () => {
    const images = (values: unknown) =>
      Object.values(rendered(values)).flatMap((object) => (isWorkload(object) ? podImages(object.spec.template.spec) : []));
    expect(images({}).sort()).toEqual(readFileSync(join(DEPLOY, 'images.txt'), 'utf8').trim().split('\n'));
    expect(images({ registry: 'mirror.example.com:5000/apps/' }).sort()).toEqual([
      'mirror.example.com:5000/apps/library/redis:7.2-bookworm',
      `mirror.example.com:5000/apps/routedip-operator:${VERSION}`,
    ]);
    expect(images({ image: { registry: 'r.example.com', repository: 'ops/ip', tag: 'x' } })).toContain('r.example.com/ops/ip:x');
  });

  const redisEnv = (redis: object) => {
    const objects = rendered({ redis: { mode: 'external', ...redis } });
    const { initContainers, containers } = operatorIn(objects);
    expect([initContainers, Object.keys(objects).filter((key) => key.endsWith('-redis'))]).toEqual([undefined, []]);
    return containers[0].env.filter(({ name }) => name.startsWith('REDIS_'));
  };

  test('has no Redis and one replica when everything is kept in memory', async () => {
    const objects = rendered({ redis: { mode: 'memory' }, replicas: 3 });
    expect(Object.keys(objects).filter((key) => key.endsWith('-redis'))).toEqual([]);
    const { replicas, strategy } = pick(objects, `Deployment ${NAME}`).spec;
    expect([replicas, strategy]).toEqual([1, { type: 'Recreate' }]);
    const { initContainers, containers } = operatorIn(objects);
    expect([initContainers, containers[0].env]).toEqual([undefined, undefined]);
    expect((await parseCommandLine(containers[0].args, {}, '0.1.0'))?.options.jobs).toBe('memory');
  });

  test('takes the URL of an external Redis from a Secret, and has none of its own then', () => {
    expect(redisEnv({ urlSecret: { name: 'redis-url' } })).toEqual([
      { name: 'REDIS_URL', valueFrom: { secretKeyRef: { name: 'redis-url', key: 'REDIS_URL' } } },
    ]);
    expect(() => rendered({ redis: { mode: 'external' } })).toThrow('say in redis.url where yours is, or in redis.urlSecret.name');
  });

  test('takes the URL of an external Redis as it is, and its login apart from it', () => {
    const url = 'redis+sentinel://a:26379,b:26379/mymaster';
    expect(redisEnv({ url, username: 'operator', passwordSecret: { name: 'redis' } })).toEqual([
      { name: 'REDIS_URL', value: url },
      { name: 'REDIS_USERNAME', value: 'operator' },
      { name: 'REDIS_PASSWORD', valueFrom: { secretKeyRef: { name: 'redis', key: 'REDIS_PASSWORD' } } },
    ]);
  });

  test('gives the operator the certificates and the Sentinels of an external Redis', () => {
    const objects = rendered({
      redis: {
        mode: 'external',
        url: 'rediss+sentinel://a,b/mymaster',
        sentinel: { username: 'watcher', passwordSecret: { name: 'sentinels' } },
        tls: { caSecret: { name: 'redis-ca' }, certSecret: { name: 'redis-client' } },
      },
    });
    const { containers, volumes } = operatorIn(objects);
    expect(containers[0].env).toEqual(
      expect.arrayContaining([
        { name: 'REDIS_SENTINEL_USERNAME', value: 'watcher' },
        { name: 'REDIS_SENTINEL_PASSWORD', valueFrom: { secretKeyRef: { name: 'sentinels', key: 'REDIS_SENTINEL_PASSWORD' } } },
        { name: 'REDIS_CA_FILE', value: '/etc/redis-tls/ca/ca.crt' },
        { name: 'REDIS_CERT_FILE', value: '/etc/redis-tls/cert/tls.crt' },
        { name: 'REDIS_KEY_FILE', value: '/etc/redis-tls/cert/tls.key' },
      ]),
    );
    expect(containers[0].volumeMounts).toEqual([
      { name: 'redis-ca', mountPath: '/etc/redis-tls/ca', readOnly: true },
      { name: 'redis-cert', mountPath: '/etc/redis-tls/cert', readOnly: true },
    ]);
    expect(volumes).toEqual([
      { name: 'redis-ca', secret: { secretName: 'redis-ca' } },
      { name: 'redis-cert', secret: { secretName: 'redis-client' } },
    ]);
  });

  test.each([
    ['dashboard', { dashboardBindAddr: ':8081' }],
    ['inspector', { inspect: ':8082' }],
  ])('serves the %s when told to, by the same objects and for the same token as the component', async (component, options) => {
    const objects = rendered({ [component]: { enabled: true } });
    const { initContainers = [], containers } = operatorIn(objects);
    const patch: Shipped = parse(readFileSync(join(DEPLOY, `components/${component}/deployment.yaml`), 'utf8'));
    const { initContainers: made, containers: patched } = patch.spec.template.spec;
    expect(initContainers.slice(1)).toEqual(made);
    expect(containers[0].env).toEqual(expect.arrayContaining([...patched[0].env]));
    expect(containers[0].ports).toEqual(expect.arrayContaining([...patched[0].ports]));
    const parsed = await parseCommandLine(containers[0].args, {}, '0.1.0');
    expect(parsed?.options).toMatchObject(options);
    expect(objects).toMatchObject(keyed(shippedIn(readFileSync(join(DEPLOY, `${component}.yaml`), 'utf8'))));
    const open = rendered({ [component]: { enabled: true }, networkPolicy: { enabled: false } });
    expect(
      Object.keys(open)
        .filter((key) => key.endsWith(`-${component}`))
        .sort(),
    ).toEqual(['Role', 'RoleBinding', 'Service'].map((kind) => `${kind} ${NAME}-${component}`));
  });

  test.each(['123', 'true', 'null', '1e3'])('is of a namespace %s by its name, which YAML would take for something else', (namespace) => {
    const everything = { dashboard: { enabled: true }, inspector: { enabled: true }, admission: 'webhook', vipLease: { enabled: true } };
    const found = JSON.stringify(Object.values(rendered(everything, namespace))).match(/"namespace":[^{,}]+[,}]/g) ?? [];
    expect(found.length).toBeGreaterThan(20);
    expect(found.filter((each) => !each.startsWith(`"namespace":"${namespace}"`) && !each.includes('vip-allocator'))).toEqual([]);
  });

  test('hands values over whole, whatever is in them', () => {
    const odd = 'x\n            - --debug # a: b';
    expect(JSON.stringify(rendered({ loadBalancerClass: odd }))).toContain(JSON.stringify(`--load-balancer-class=${odd}`));
  });

  test('makes one token for the dashboard and the inspector together, and names another viewer when told to', async () => {
    const viewerUrl = 'https://viewer.example.com/inspect?room=1';
    const { initContainers = [], containers } = operatorIn(
      rendered({ dashboard: { enabled: true }, inspector: { enabled: true, viewerUrl } }),
    );
    expect(initContainers.filter(({ name }) => name === 'dashboard-token')).toHaveLength(1);
    expect(containers[0].env.filter(({ name }) => name === 'ROUTEDIP_DASHBOARD_TOKEN')).toHaveLength(1);
    const parsed = await parseCommandLine(containers[0].args, {}, '0.1.0');
    expect(parsed?.options).toMatchObject({ dashboardBindAddr: ':8081', inspect: ':8082', inspectViewerUrl: viewerUrl });
    expect(() => rendered({ inspector: { viewerUrl: 'viewer.example.com' } })).toThrow(/viewerUrl/);
  });

  test('gives the operator flags that it has', async () => {
    const values = {
      controllers: ['flipop', 'vip'],
      loadBalancerClass: 'example.com/vip',
      loadBalancerClassOnly: true,
      admission: 'webhook',
      extraArgs: ['--debug'],
    };
    const objects = rendered(values, 'elsewhere');
    const parsed = await parseCommandLine(operatorIn(objects).containers[0].args, {}, '0.1.0');
    expect(parsed?.options).toMatchObject({
      metricsBindAddr: ':8080',
      controllers: ['flipop', 'vip'],
      loadBalancerClass: 'example.com/vip',
      loadBalancerClassOnly: true,
      admission: 'webhook',
      webhookBindAddr: ':9443',
      webhookService: 'elsewhere/vip-allocator-operator-webhook-service',
      debug: true,
    });
    expect(Object.keys(objects)).toContain('ValidatingWebhookConfiguration vip-allocator-operator-validating-webhook-configuration');
  });

  test('takes the place of another allocator when told to, with the right to its Lease', async () => {
    const component = keyed(shippedIn(readFileSync(join(DEPLOY, 'components/vip-allocator/lease.yaml'), 'utf8')));
    const names = Object.keys(component);
    expect(names).toEqual([`Role ${NAME}-vip-lease`, `RoleBinding ${NAME}-vip-lease`]);
    const without = rendered({});
    expect(Object.keys(without)).not.toEqual(expect.arrayContaining(names));
    expect(operatorIn(without).containers[0].args.join()).not.toContain('vip-lease');
    const objects = rendered({ vipLease: { enabled: true } });
    expect(objects).toMatchObject(component);
    const parsed = await parseCommandLine(operatorIn(objects).containers[0].args, {}, '0.1.0');
    expect(parsed?.options.vipLease).toEqual({ namespace: 'vip-allocator-operator', name: '88cd116a.org' });
    const other = rendered({ vipLease: { enabled: true, namespace: 'theirs', name: 'lock' } }, 'elsewhere');
    const otherwise = await parseCommandLine(operatorIn(other).containers[0].args, {}, '0.1.0');
    expect(otherwise?.options.vipLease).toEqual({ namespace: 'theirs', name: 'lock' });
    for (const name of names) expect(pick(other, name).metadata.namespace).toBe('theirs');
    expect(other).toMatchObject({
      [`Role ${NAME}-vip-lease`]: { rules: [{ verbs: ['create'] }, { resourceNames: ['lock'], verbs: ['get', 'update'] }] },
      [`RoleBinding ${NAME}-vip-lease`]: { subjects: [{ name: NAME, namespace: 'elsewhere' }] },
    });
  });

  test('has metrics asked for with a token when told to, by Prometheus too', async () => {
    const objects = rendered({ metrics: { auth: 'token-review', serviceMonitor: { enabled: true } } });
    const parsed = await parseCommandLine(operatorIn(objects).containers[0].args, {}, '0.1.0');
    expect(parsed?.options.metricsAuth).toBe('token-review');
    const bearerTokenFile = '/var/run/secrets/kubernetes.io/serviceaccount/token';
    expect(pick(objects, `ServiceMonitor ${NAME}`).spec.endpoints).toMatchObject([{ bearerTokenFile }]);
    expect(Object.keys(objects)).toContain(`ClusterRole ${NAME}-metrics-reader`);
    const open = rendered({ metrics: { serviceMonitor: { enabled: true } } });
    expect(pick(open, `ServiceMonitor ${NAME}`).spec.endpoints[0]).not.toHaveProperty('bearerTokenFile');
    expect(Object.keys(open).filter((key) => key.includes('-metrics-'))).toEqual([]);
  });

  test('is wholly in the namespace of its release, the names of users too', () => {
    const everything = { admission: 'policies', virtualIPs: { enabled: true }, metrics: { serviceMonitor: { enabled: true } } };
    const objects = Object.values(rendered(everything, 'elsewhere'));
    expect(objects.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['ServiceMonitor', 'ValidatingAdmissionPolicy']));
    const text = JSON.stringify(objects);
    expect(text).toContain('system:serviceaccount:elsewhere:routedip-operator');
    expect(text).not.toContain('"namespace":"routedip-operator"');
    expect(text).not.toContain('system:serviceaccount:routedip-operator:');
  });

  test('leaves users to OpenShift, policies and disks to the cluster, and Secrets to whom they are of, when told to', () => {
    const objects = rendered({
      openshift: true,
      networkPolicy: { enabled: false },
      imagePullSecrets: [{ name: 'pull' }],
      secretName: 'tokens',
      replicas: 1,
      redis: { storageClassName: 'fast', storage: '5Gi' },
    });
    expect(JSON.stringify(objects)).not.toMatch(/"(runAsUser|fsGroup|runAsGroup)"|NetworkPolicy/);
    const redis = pick(objects, `StatefulSet ${NAME}-redis`).spec;
    expect(redis.volumeClaimTemplates[0].spec).toMatchObject({ storageClassName: 'fast', resources: { requests: { storage: '5Gi' } } });
    expect(redis.template.spec.imagePullSecrets).toEqual([{ name: 'pull' }]);
    expect(operatorIn(objects).containers[0].args).toContain('--tokens-secret=tokens');
    expect(pick(objects, `Deployment ${NAME}`).spec.replicas).toBe(1);
  });

  test("takes FLIPOP's place by its namespace and one value", () => {
    const objects = rendered({ secretName: 'flipop' }, 'flipop');
    expect(operatorIn(objects).containers[0].args).toContain('--tokens-secret=flipop');
    const places = new Set(Object.values(objects).map(({ metadata }) => metadata.namespace));
    expect(places).toEqual(new Set([undefined, 'flipop']));
  });
});

describe('values', () => {
  test.each([
    ['a word that is none', { redis: { mode: 'extern' } }, '/redis/mode'],
    ['a name that is misspelt', { replica: 3 }, 'additional properties'],
    ['a name below that is misspelt', { image: { repo: 'x' } }, '/image'],
    ['a number in quotes', { replicas: '3' }, '/replicas'],
    ['a controller that is none', { controllers: ['bgp'] }, '/controllers/0'],
    ['a URL of Redis that bears a password', { redis: { url: 'redis://:secret@redis:6379' } }, '/redis/url'],
    ['a URL that is none of Redis', { redis: { url: 'http://redis' } }, '/redis/url'],
    ['a way to ask for tokens that there is not', { metrics: { auth: true } }, '/metrics/auth'],
    [
      'a base of runbooks that is no URL',
      { metrics: { prometheusRule: { runbookBaseUrl: 'docs' } } },
      '/metrics/prometheusRule/runbookBaseUrl',
    ],
    ['a word that YAML takes for false', { admission: false }, '/admission'],
  ])('with %s are refused, and the message says where', (_, values, where) => {
    expect(() => rendered(values)).toThrow(where);
  });
});
