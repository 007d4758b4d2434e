{{- define "routedip-operator.image" -}}
{{- $image := .image -}}
{{- $registry := .root.Values.registry | default $image.registry -}}
{{- with $registry }}{{ trimSuffix "/" . }}/{{ end }}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "routedip-operator.args" -}}
- run
- --metrics-bind-addr
- :8080
{{- with .Values.controllers }}
- --controllers={{ join "," . }}
{{- end }}
{{- with .Values.loadBalancerClass }}
- --load-balancer-class={{ . }}
{{- end }}
{{- if .Values.dashboard.enabled }}
- --dashboard-bind-addr=:8081
{{- end }}
{{- if eq .Values.metrics.auth "token-review" }}
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
{{- if eq .Values.redis.mode "memory" }}
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
{{- if eq .Values.redis.mode "memory" }}1{{ else }}{{ .Values.replicas }}{{ end }}
{{- end }}

{{- define "routedip-operator.strategy" -}}
{{- if eq .Values.redis.mode "memory" }}
type: Recreate
{{- else }}
type: RollingUpdate
rollingUpdate:
  maxSurge: 1
  maxUnavailable: 0
{{- end }}
{{- end }}

{{- define "routedip-operator.REDIS_URL" -}}
{{- if eq .Values.redis.mode "internal" }}
- name: REDIS_URL
  value: redis://routedip-operator-redis:6379
{{- end }}
{{- if eq .Values.redis.mode "external" }}
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
{{- if eq .Values.redis.mode "internal" }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: routedip-operator-redis
      key: REDIS_PASSWORD
{{- end }}
{{- if eq .Values.redis.mode "external" }}
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
{{- if eq .Values.redis.mode "external" }}
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
{{- if eq .Values.redis.mode "external" }}
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
{{- if .Values.dashboard.enabled }}
- name: ROUTEDIP_DASHBOARD_TOKEN
  valueFrom:
    secretKeyRef:
      name: routedip-operator-dashboard
      key: ROUTEDIP_DASHBOARD_TOKEN
{{- end }}
{{- end }}

{{- define "routedip-operator.dashboardPorts" -}}
{{- if .Values.dashboard.enabled }}
- name: dashboard
  containerPort: 8081
{{- end }}
{{- end }}

{{- define "routedip-operator.initContainers" -}}
{{- if eq .Values.redis.mode "internal" }}
- name: redis-password
  image: {{ include "routedip-operator.image" (dict "image" .Values.image "root" $) | quote }}
  args:
    - generate-secret
    - --secret
    - routedip-operator-redis
    - --key
    - REDIS_PASSWORD
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
      drop:
        - ALL
{{- end }}
{{- if .Values.dashboard.enabled }}
- name: dashboard-token
  image: {{ include "routedip-operator.image" (dict "image" .Values.image "root" $) | quote }}
  args:
    - generate-secret
    - --secret
    - routedip-operator-dashboard
    - --key
    - ROUTEDIP_DASHBOARD_TOKEN
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
      drop:
        - ALL
{{- end }}
{{- end }}
