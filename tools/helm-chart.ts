import { parse, stringify } from 'yaml';
import { added, block, entry, only, optional, scalar, type Templated, templateOf } from './helm-template.ts';
import { definitionTexts, manifestText } from './manifests.ts';

const CONTAINER = ['spec', 'template', 'spec', 'containers', 0] as const;
const POD = ['spec', 'template', 'spec'] as const;

interface Workload {
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: readonly [Container]; readonly initContainers?: readonly Container[] } };
    readonly volumeClaimTemplates?: readonly {
      readonly spec: { readonly resources: { readonly requests: { readonly storage: string } } };
    }[];
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly resources: object;
}

/** The operator's Deployment and the StatefulSet of Redis, from which the chart takes its defaults. */
export const workloads = (): { readonly operator: Workload; readonly redis: Workload } => {
  const operator: Workload = parse(manifestText('operator.yaml'));
  const redis = manifestText('redis.yaml')
    .split('\n---\n')
    .map((text): Workload & { readonly kind: string } => parse(text))
    .find(({ kind }) => kind === 'StatefulSet');
  if (!redis) throw new Error('deploy/redis.yaml has no StatefulSet');
  return { operator, redis };
};

export const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0];

const INTERNAL = 'eq .Values.redis.mode "internal"';
const REVIEWED = 'eq .Values.metrics.auth "token-review"';

/** The operator's own, as each of its containers has it. */
const IMAGE = 'include "routedip-operator.image" (dict "image" .Values.image "root" $)';

const operatorSettings = (): Templated => {
  const { env } = containerOf(workloads().operator);
  const settings = env.map(({ name }, index) =>
    name.startsWith('REDIS_')
      ? entry([...CONTAINER, 'env', index], `include "routedip-operator.${name}" .`)
      : scalar([...CONTAINER, 'env', index, 'valueFrom', 'secretKeyRef', 'name'], '.Values.secretName | quote'),
  );
  return {
    settings: [
      scalar(['spec', 'replicas'], '.Values.replicas'),
      optional([...POD, 'imagePullSecrets'], '.Values.imagePullSecrets'),
      optional([...POD, 'initContainers'], 'include "routedip-operator.initContainers" . | trim', '. | nindent'),
      scalar([...CONTAINER, 'image'], `${IMAGE} | quote`),
      block([...CONTAINER, 'args'], 'include "routedip-operator.args" .'),
      block([...CONTAINER, 'resources'], 'toYaml .Values.resources'),
      ...settings,
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
  'components/service-monitor/service-monitor.yaml': () => ({
    when: '.Values.metrics.serviceMonitor.enabled',
    settings: [added(['spec', 'endpoints', 0, 'bearerTokenFile'], '/var/run/secrets/kubernetes.io/serviceaccount/token', REVIEWED)],
  }),
  'vip-admission-policies.yaml': always('eq .Values.admission "policies"'),
  'vip-admission-webhook.yaml': always('eq .Values.admission "webhook"'),
  'virtual-ips.yaml': always('.Values.virtualIPs.enabled'),
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

const IMAGE_MARK = 'image-of-the-operator';

/** A list as lines of YAML. @throws Error when it is empty: what the chart is made of has gone */
const lines = (list: readonly unknown[] = []): string => {
  if (list.length === 0) throw new Error('deploy/operator.yaml has not what the chart takes from it');
  return stringify(list).trimEnd().replaceAll(IMAGE_MARK, `{{ ${IMAGE} | quote }}`);
};

const HELPERS = (): string => {
  const { operator } = workloads();
  const { args, env } = containerOf(operator);
  const envOf = (wanted: string): string => lines(env.filter(({ name }) => name === wanted));
  const initialOf = (wanted: string): string =>
    lines(
      operator.spec.template.spec.initContainers?.filter(({ name }) => name === wanted).map((each) => ({ ...each, image: IMAGE_MARK })),
    );
  return `{{- define "routedip-operator.image" -}}
{{- $image := .image -}}
{{- $registry := .root.Values.registry | default $image.registry -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "routedip-operator.args" -}}
${lines(args)}
{{- with .Values.controllers }}
- --controllers={{ join "," . }}
{{- end }}
{{- with .Values.loadBalancerClass }}
- --load-balancer-class={{ . }}
{{- end }}
{{- if ${REVIEWED} }}
- --metrics-auth=token-review
{{- end }}
{{- if eq .Values.admission "webhook" }}
- --admission=webhook
- --webhook-bind-addr=:9443
- --webhook-service={{ .Release.Namespace }}/vip-allocator-operator-webhook-service
{{- end }}
{{- if .Values.journal.enabled }}
- --journal-bind-addr=:8084
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "routedip-operator.REDIS_URL" -}}
{{- if ${INTERNAL} }}
${envOf('REDIS_URL')}
{{- else }}
- name: REDIS_URL
{{- with .Values.redis.url }}
  value: {{ quote . }}
{{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ required "redis.mode is external: say in redis.url where yours is, or in redis.urlSecret.name which Secret has the URL" .Values.redis.urlSecret.name | quote }}
      key: {{ .Values.redis.urlSecret.key | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "routedip-operator.REDIS_PASSWORD" -}}
{{- if ${INTERNAL} }}
${envOf('REDIS_PASSWORD')}
{{- else }}
{{- with .Values.redis.username }}
- name: REDIS_USERNAME
  value: {{ quote . }}
{{- end }}
{{- with .Values.redis.passwordSecret.name }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ quote . }}
      key: {{ $.Values.redis.passwordSecret.key | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "routedip-operator.initContainers" -}}
{{- if ${INTERNAL} }}
${initialOf('redis-password')}
{{- end }}
{{- end }}
`;
};

/** The templates of the chart by file name. */
export const chartTemplates = (): Readonly<Record<string, string>> => ({
  '_helpers.tpl': HELPERS(),
  'crds.yaml': definitions(),
  ...Object.fromEntries(Object.entries(SOURCES).map(([path, of]) => [path.replace(/^.*\//, ''), templateOf(manifestText(path), of)])),
});
