import { parse, stringify } from 'yaml';
import { containerOf, type Workload, workloads } from './helm-workloads.ts';
import { manifestText } from './manifests.ts';

/** Conditions in the template language. */
export const INTERNAL = 'eq .Values.redis.mode "internal"';
const EXTERNAL = 'eq .Values.redis.mode "external"';
const FLEETING = 'eq .Values.redis.mode "memory"';
export const DASHBOARD = '.Values.dashboard.enabled';
export const REVIEWED = 'eq .Values.metrics.auth "token-review"';

/** The operator's own, as each of its containers has it. */
export const IMAGE = 'include "routedip-operator.image" (dict "image" .Values.image "root" $)';

const IMAGE_MARK = 'image-of-the-operator';

/** A list as lines of YAML. @throws Error when it is empty: what the chart is made of has gone */
const lines = (list: readonly unknown[] = []): string => {
  if (list.length === 0) throw new Error('deploy/operator.yaml has not what the chart takes from it');
  return stringify(list).trimEnd().replaceAll(IMAGE_MARK, `{{ ${IMAGE} | quote }}`);
};

type Pod = Workload['spec']['template']['spec'];

const initial = ({ initContainers }: Pod): string => lines(initContainers?.map((each) => ({ ...each, image: IMAGE_MARK })));

/** What a component of kustomize adds to the Pods of the operator. */
const patchOf = (component: string): Pod => {
  const patch: Workload = parse(manifestText(`components/${component}/deployment.yaml`));
  return patch.spec.template.spec;
};

/** The text of _helpers.tpl. */
export const helpersText = (): string => {
  const { operator } = workloads();
  const { args, env } = containerOf(operator);
  const envOf = (wanted: string): string => lines(env.filter(({ name }) => name === wanted));
  const dashboard = patchOf('dashboard');
  const [shown] = dashboard.containers;
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
{{- if ${DASHBOARD} }}
- --dashboard-bind-addr=:8081
{{- end }}
{{- if ${REVIEWED} }}
- --metrics-auth=token-review
{{- end }}
{{- if eq .Values.admission "webhook" }}
- --admission=webhook
- --webhook-bind-addr=:9443
- --webhook-service={{ .Release.Namespace }}/vip-allocator-operator-webhook-service
{{- end }}
{{- with .Values.vipLease }}
{{- if .enabled }}
- --vip-lease={{ .namespace }}/{{ .name }}
{{- end }}
{{- end }}
{{- if ${FLEETING} }}
- --jobs=memory
{{- end }}
{{- if .Values.journal.enabled }}
- --journal-bind-addr=:8084
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "routedip-operator.replicas" -}}
{{- if ${FLEETING} }}1{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{- define "routedip-operator.strategy" -}}
{{- if ${FLEETING} }}
type: Recreate
{{- else }}
${stringify(operator.spec.strategy).trimEnd()}
{{- end }}
{{- end }}

{{- define "routedip-operator.REDIS_URL" -}}
{{- if ${INTERNAL} }}
${envOf('REDIS_URL')}
{{- end }}
{{- if ${EXTERNAL} }}
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
{{- end }}
{{- if ${EXTERNAL} }}
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
{{- with .Values.redis.sentinel.username }}
- name: REDIS_SENTINEL_USERNAME
  value: {{ quote . }}
{{- end }}
{{- with .Values.redis.sentinel.passwordSecret.name }}
- name: REDIS_SENTINEL_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ quote . }}
      key: {{ $.Values.redis.sentinel.passwordSecret.key | quote }}
{{- end }}
{{- with .Values.redis.tls.caSecret.name }}
- name: REDIS_CA_FILE
  value: /etc/redis-tls/ca/{{ $.Values.redis.tls.caSecret.key }}
{{- end }}
{{- with .Values.redis.tls.certSecret.name }}
- name: REDIS_CERT_FILE
  value: /etc/redis-tls/cert/tls.crt
- name: REDIS_KEY_FILE
  value: /etc/redis-tls/cert/tls.key
{{- end }}
{{- end }}
{{- end }}

{{- define "routedip-operator.volumes" -}}
{{- if ${EXTERNAL} }}
{{- with .Values.redis.tls.caSecret.name }}
- name: redis-ca
  secret:
    secretName: {{ quote . }}
{{- end }}
{{- with .Values.redis.tls.certSecret.name }}
- name: redis-cert
  secret:
    secretName: {{ quote . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "routedip-operator.volumeMounts" -}}
{{- if ${EXTERNAL} }}
{{- with .Values.redis.tls.caSecret.name }}
- name: redis-ca
  mountPath: /etc/redis-tls/ca
  readOnly: true
{{- end }}
{{- with .Values.redis.tls.certSecret.name }}
- name: redis-cert
  mountPath: /etc/redis-tls/cert
  readOnly: true
{{- end }}
{{- end }}
{{- end }}

{{- define "routedip-operator.dashboardEnv" -}}
{{- if ${DASHBOARD} }}
${lines(shown.env)}
{{- end }}
{{- end }}

{{- define "routedip-operator.dashboardPorts" -}}
{{- if ${DASHBOARD} }}
${lines(shown.ports)}
{{- end }}
{{- end }}

{{- define "routedip-operator.initContainers" -}}
{{- if ${INTERNAL} }}
${initial(operator.spec.template.spec)}
{{- end }}
{{- if ${DASHBOARD} }}
${initial(dashboard)}
{{- end }}
{{- end }}
`;
};
