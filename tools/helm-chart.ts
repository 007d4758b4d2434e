import { DASHBOARD, helpersText, IMAGE, INTERNAL, REVIEWED } from './helm-helpers.ts';
import { added, block, entry, only, optional, type Setting, scalar, type Templated, templateOf } from './helm-template.ts';
import { containerOf, workloads } from './helm-workloads.ts';
import { definitionTexts, manifestText } from './manifests.ts';

const CONTAINER = ['spec', 'template', 'spec', 'containers', 0] as const;
const POD = ['spec', 'template', 'spec'] as const;

const operatorSettings = (): Templated => {
  const { env } = containerOf(workloads().operator);
  const settings = env.map(({ name }, index) =>
    name.startsWith('REDIS_')
      ? entry([...CONTAINER, 'env', index], `include "routedip-operator.${name}" .`)
      : scalar([...CONTAINER, 'env', index, 'valueFrom', 'secretKeyRef', 'name'], '.Values.secretName | quote'),
  );
  return {
    settings: [
      scalar(['spec', 'replicas'], 'include "routedip-operator.replicas" .'),
      block(['spec', 'strategy'], 'include "routedip-operator.strategy" . | trim'),
      optional([...POD, 'imagePullSecrets'], '.Values.imagePullSecrets'),
      optional([...POD, 'initContainers'], 'include "routedip-operator.initContainers" . | trim', '. | nindent'),
      scalar([...CONTAINER, 'image'], `${IMAGE} | quote`),
      block([...CONTAINER, 'args'], 'include "routedip-operator.args" .'),
      block([...CONTAINER, 'resources'], 'toYaml .Values.resources'),
      ...settings,
      entry([...CONTAINER, 'env', env.length], 'include "routedip-operator.dashboardEnv" .'),
      entry([...CONTAINER, 'ports', 1], 'include "routedip-operator.dashboardPorts" .'),
      optional([...CONTAINER, 'volumeMounts'], 'include "routedip-operator.volumeMounts" . | trim', '. | nindent'),
      optional([...POD, 'volumes'], 'include "routedip-operator.volumes" . | trim', '. | nindent'),
    ],
  };
};

const redisSettings = (): Templated => ({
  when: INTERNAL,
  settings: [
    optional([...POD, 'imagePullSecrets'], '.Values.imagePullSecrets'),
    ...['runAsUser', 'runAsGroup', 'fsGroup'].map((field) => only([...POD, 'securityContext', field], 'not .Values.openshift')),
    scalar([...CONTAINER, 'image'], 'include "routedip-operator.image" (dict "image" .Values.redis.image "root" $) | quote'),
    block([...CONTAINER, 'resources'], 'toYaml .Values.redis.resources'),
    scalar(['spec', 'volumeClaimTemplates', 0, 'spec', 'resources', 'requests', 'storage'], '.Values.redis.storage | quote'),
    optional(['spec', 'volumeClaimTemplates', 0, 'spec', 'storageClassName'], '.Values.redis.storageClassName', 'quote . | nindent'),
  ],
});

const REDIS = 'routedip-operator-redis';

/** A list of one. */
const LEASE_NAMED: Setting = {
  path: ['rules', 1, 'resourceNames'],
  rewrite: (line) => line.replace(/: .*$/, ': [{{ .Values.vipLease.name | quote }}]'),
};

const always = (when?: string) => (): Templated => ({ when });

/** Each file of deploy/ that the chart has, and how its objects are there. */
const SOURCES: Readonly<Record<string, (kind: string, name: string) => Templated>> = {
  'rbac.yaml': always(),
  'redis.yaml': (kind) => (kind === 'StatefulSet' ? redisSettings() : { when: INTERNAL }),
  'operator.yaml': operatorSettings,
  'disruption-budget.yaml': always(),
  'metrics-service.yaml': always(),
  'network-policy.yaml': (_, name) => ({
    when: name === REDIS ? `and .Values.networkPolicy.enabled (${INTERNAL})` : '.Values.networkPolicy.enabled',
  }),
  'metrics-auth.yaml': always(REVIEWED),
  'dashboard.yaml': (kind) => ({
    when: kind === 'NetworkPolicy' ? `and .Values.networkPolicy.enabled ${DASHBOARD}` : DASHBOARD,
  }),
  'components/service-monitor/service-monitor.yaml': () => ({
    when: '.Values.metrics.serviceMonitor.enabled',
    settings: [added(['spec', 'endpoints', 0, 'bearerTokenFile'], '/var/run/secrets/kubernetes.io/serviceaccount/token', REVIEWED)],
  }),
  'vip-admission-policies.yaml': always('eq .Values.admission "policies"'),
  'vip-admission-webhook.yaml': always('eq .Values.admission "webhook"'),
  'virtual-ips.yaml': always('.Values.virtualIPs.enabled'),
  'components/vip-allocator/lease.yaml': (kind) => ({
    when: '.Values.vipLease.enabled',
    settings: [scalar(['metadata', 'namespace'], '.Values.vipLease.namespace | quote'), ...(kind === 'Role' ? [LEASE_NAMED] : [])],
  }),
  'journal.yaml': (kind) => ({
    when: kind === 'NetworkPolicy' ? 'and .Values.networkPolicy.enabled .Values.journal.enabled' : '.Values.journal.enabled',
  }),
};

/** Definitions are templates, since Helm never updates what is in the folder it has for them; and they stay when the release goes, with everything of their kinds. */
const definitions = (): string =>
  definitionTexts()
    .map((text) =>
      templateOf(text.replaceAll('{{', '{{ "{{" }}'), () => ({
        when: '.Values.crds.install',
        settings: [{ path: ['metadata', 'annotations', 'helm.sh/resource-policy'], rewrite: (line) => line.replace(/: .*$/, ': keep') }],
      })),
    )
    .join('');

/** The templates of the chart by file name. */
export const chartTemplates = (): Readonly<Record<string, string>> => ({
  '_helpers.tpl': helpersText(),
  'crds.yaml': definitions(),
  ...Object.fromEntries(Object.entries(SOURCES).map(([path, of]) => [path.replace(/^.*\//, ''), templateOf(manifestText(path), of)])),
});
