import { stringify } from 'yaml';
import { containerOf, workloads } from './helm-workloads.ts';

interface ImageValue {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
}

/** An image's name in its parts: a registry has a dot or a port in it. */
export const imageParts = (image: string): ImageValue => {
  const [, registry = '', repository = '', tag = ''] = /^(?:([^/]*[.:][^/]*)\/)?([^:@]+):([^/]+)$/.exec(image) ?? [];
  if (repository === '') throw new Error(`the image ${image} has no tag`);
  return { registry, repository, tag };
};

const TEXT = { type: 'string' } as const;
const SWITCH = { type: 'boolean' } as const;

const record = (properties: Readonly<Record<string, object>>): object => ({ type: 'object', additionalProperties: false, properties });

const SECRET_KEY = record({ name: TEXT, key: { ...TEXT, minLength: 1 } });

const IMAGE = record({ registry: TEXT, repository: { ...TEXT, minLength: 1 }, tag: TEXT });

/** What a values file may say: Helm refuses another one with a message before anything is applied. */
export const valuesSchema = (): object => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...record({
    global: { type: 'object' },
    registry: TEXT,
    image: IMAGE,
    imagePullSecrets: { type: 'array', items: record({ name: TEXT }) },
    replicas: { type: 'integer', minimum: 0 },
    resources: { type: 'object' },
    secretName: { ...TEXT, minLength: 1 },
    controllers: { type: 'array', items: { enum: ['flipop', 'routedip', 'vip'] }, uniqueItems: true },
    loadBalancerClass: TEXT,
    extraArgs: { type: 'array', items: TEXT },
    redis: record({
      mode: { enum: ['internal', 'external', 'memory'] },
      url: { ...TEXT, pattern: '^$|^rediss?(\\+(sentinel|cluster))?://[^@]+$' },
      urlSecret: SECRET_KEY,
      username: TEXT,
      passwordSecret: SECRET_KEY,
      sentinel: record({ username: TEXT, passwordSecret: SECRET_KEY }),
      tls: record({ caSecret: SECRET_KEY, certSecret: record({ name: TEXT }) }),
      image: IMAGE,
      resources: { type: 'object' },
      storage: TEXT,
      storageClassName: TEXT,
    }),
    dashboard: record({ enabled: SWITCH }),
    metrics: record({ auth: { enum: ['none', 'token-review'] }, serviceMonitor: record({ enabled: SWITCH }) }),
    networkPolicy: record({ enabled: SWITCH }),
    // Not `off`, which some readers of YAML take for false.
    admission: { enum: ['none', 'policies', 'webhook'] },
    virtualIPs: record({ enabled: SWITCH }),
    vipLease: record({ enabled: SWITCH, namespace: { ...TEXT, minLength: 1 }, name: { ...TEXT, minLength: 1 } }),
    journal: record({ enabled: SWITCH }),
    openshift: SWITCH,
    crds: record({ install: SWITCH }),
  }),
});

interface Value {
  readonly says: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The values with what each means, in the order in which they are read. The defaults are those of the plain manifests. */
const VALUES = (): readonly Value[] => {
  const { operator, redis } = workloads();
  const storage = redis.spec.volumeClaimTemplates?.[0]?.spec.resources.requests.storage;
  if (storage === undefined) throw new Error('deploy/redis.yaml asks for no disk');
  return [
    {
      says: 'Where all images are fetched from, instead of the registry of each: for a cluster that reaches no other.',
      value: { registry: '' },
    },
    {
      says: "The operator's image; without a tag that of the chart's version.",
      value: { image: { ...imageParts(containerOf(operator).image), tag: '' } },
    },
    { says: 'Secrets with the credentials of the registry: a list of {name: …}.', value: { imagePullSecrets: [] } },
    { says: 'All run jobs, one decides.', value: { replicas: operator.spec.replicas, resources: containerOf(operator).resources } },
    {
      says: 'The Secret with the keys DIGITALOCEAN_ACCESS_TOKEN and CLOUDFLARE_TOKEN. Both may be absent.',
      value: { secretName: 'routedip-operator' },
    },
    { says: 'Of flipop, routedip and vip; empty for those whose kinds are served.', value: { controllers: [] } },
    { says: 'Class of Services that get addresses of IPGroups besides those of no class.', value: { loadBalancerClass: '' } },
    { says: 'More flags of the operator.', value: { extraArgs: [] } },
    {
      says: [
        'internal: a small Redis with a disk, whose password the operator makes; image, resources and storage are of it.',
        'external: yours. Where it is says url, or the key of the Secret urlSecret, since a URL may bear a password; otherwise that is in passwordSecret.',
        'memory: none. One replica keeps everything in memory, whatever `replicas` says, and goes by the status of the objects when it starts again.',
        'sentinel: the login of the Sentinels themselves. tls: an authority of your own, and a certificate (tls.crt, tls.key) for a Redis that asks for one.',
      ].join('\n# '),
      value: {
        redis: {
          mode: 'internal',
          url: '',
          urlSecret: { name: '', key: 'REDIS_URL' },
          username: '',
          passwordSecret: { name: '', key: 'REDIS_PASSWORD' },
          sentinel: { username: '', passwordSecret: { name: '', key: 'REDIS_SENTINEL_PASSWORD' } },
          tls: { caSecret: { name: '', key: 'ca.crt' }, certSecret: { name: '' } },
          image: imageParts(containerOf(redis).image),
          resources: containerOf(redis).resources,
          storage,
          storageClassName: '',
        },
      },
    },
    {
      says: 'auth: none, or token-review for those only who may get the nonResourceURL /metrics. serviceMonitor: for the Prometheus Operator.',
      value: { metrics: { auth: 'none', serviceMonitor: { enabled: false } } },
    },
    {
      says: 'The dashboards on a Service of their own, for whoever bears the token in the Secret routedip-operator-dashboard, which the operator makes.',
      value: { dashboard: { enabled: false } },
    },
    {
      says: 'Only the operator may connect to its Redis, and nobody to its dashboards unless they are enabled.',
      value: { networkPolicy: { enabled: true } },
    },
    {
      says: 'Who judges who writes IPs and VirtualIPs: none (nobody), policies (the API server, Kubernetes 1.30 and newer), webhook (the operator).',
      value: { admission: 'none' },
    },
    { says: 'More rights, for clusters with VirtualIPs.', value: { virtualIPs: { enabled: false } } },
    {
      says: 'In the place of another allocator: nothing is done for Services while that one holds this Lease, which may be read and taken.',
      value: { vipLease: { enabled: false, namespace: 'vip-allocator-operator', name: '88cd116a.org' } },
    },
    {
      says: 'What happened to each address, for kubectl routedip journal: whoever reaches port 8084 of the Pods may read it.',
      value: { journal: { enabled: false } },
    },
    { says: 'OpenShift chooses the user of every Pod itself.', value: { openshift: false } },
    { says: 'Definitions are updated with the release, and stay when it is uninstalled.', value: { crds: { install: true } } },
  ];
};

/** The text of values.yaml. */
export const valuesText = (): string =>
  VALUES()
    .map(({ says, value }) => `# ${says}\n${stringify(value, { lineWidth: 0 })}`)
    .join('\n');
