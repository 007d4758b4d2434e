{{/* The name of an image: (dict "image" .Values.image "root" $) */}}
{{- define "routedip-operator.image" -}}
{{- with .root.Values.registry | default .image.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* Labels with the name by which selectors know an object, whatever the others are: (dict "name" … "labels" …) */}}
{{- define "routedip-operator.labels" -}}
{{- toYaml (merge (dict "app.kubernetes.io/name" .name) (.labels | default dict)) }}
{{- end }}

{{/* Where Pods may run, as a part of their spec, from the values of a workload; nothing where these say nothing. */}}
{{- define "routedip-operator.scheduling" -}}
{{- range $field := list "priorityClassName" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with index $ $field }}
{{- toYaml (dict $field .) | nindent 6 }}
{{- end }}
{{- end }}
{{- end }}

{{/* An init container that makes a Secret unless it is there: (dict "name" … "secret" … "key" … "root" $) */}}
{{- define "routedip-operator.generateSecret" -}}
- name: {{ .name }}
  image: {{ include "routedip-operator.image" (dict "image" .root.Values.image "root" .root) | quote }}
  args: [generate-secret, --secret, {{ .secret }}, --key, {{ .key }}]
  resources:
    requests:
      cpu: 50m
      memory: 160Mi
    limits:
      memory: 256Mi
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
{{- end }}

{{/* `true` where the cluster evaluates ValidatingAdmissionPolicies. Without a cluster, as by `helm template`, helm knows no kinds: then its version tells. */}}
{{- define "routedip-operator.servesPolicies" -}}
{{- $asked := .Capabilities.APIVersions.Has "v1/Pod" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy" }}true
{{- else if and (not $asked) (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) }}true
{{- end }}
{{- end }}

{{/* Who judges writes of IPs and VirtualIPs: `none`, `policies` or `webhook`. By `auto` nobody does where Services are not served here, and where another allocator,
which writes IPs as well, is to be waited for, or where the operator only observes: that answers no webhook either. */}}
{{- define "routedip-operator.admission" -}}
{{- $serves := or (empty .Values.controllers) (has "vip" .Values.controllers) -}}
{{- if and .Values.observe (eq .Values.admission "webhook") }}none
{{- else if ne .Values.admission "auto" }}{{ .Values.admission }}
{{- else if or .Values.observe .Values.vipLease.enabled (not $serves) }}none
{{- else if include "routedip-operator.servesPolicies" . }}policies
{{- else }}webhook
{{- end }}
{{- end }}

{{/* Where Redis is and how the operator gets in; nothing when everything is kept in memory. */}}
{{- define "routedip-operator.redisEnv" -}}
{{- with .Values.redis }}
{{- if eq .mode "internal" }}
- name: REDIS_URL
  value: redis://routedip-operator-redis:6379
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: routedip-operator-redis
      key: REDIS_PASSWORD
{{- else if eq .mode "external" }}
- name: REDIS_URL
  {{- if .url }}
  value: {{ .url | quote }}
  {{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ required "redis.mode is external: say in redis.url where yours is, or in redis.urlSecret.name which Secret has the URL" .urlSecret.name | quote }}
      key: {{ .urlSecret.key | quote }}
  {{- end }}
{{- with .username }}
- name: REDIS_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- if .passwordSecret.name }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .passwordSecret.name | quote }}
      key: {{ .passwordSecret.key | quote }}
{{- end }}
{{- with .sentinel.username }}
- name: REDIS_SENTINEL_USERNAME
  value: {{ . | quote }}
{{- end }}
{{- if .sentinel.passwordSecret.name }}
- name: REDIS_SENTINEL_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ .sentinel.passwordSecret.name | quote }}
      key: {{ .sentinel.passwordSecret.key | quote }}
{{- end }}
{{- if .tls.caSecret.name }}
- name: REDIS_CA_FILE
  value: {{ printf "/etc/redis-tls/ca/%s" .tls.caSecret.key | quote }}
{{- end }}
{{- if .tls.certSecret.name }}
- name: REDIS_CERT_FILE
  value: /etc/redis-tls/cert/tls.crt
- name: REDIS_KEY_FILE
  value: /etc/redis-tls/cert/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- end }}
