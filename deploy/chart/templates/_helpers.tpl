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
{{- if eq .Values.metrics.auth "token-review" }}
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
{{- if eq .Values.redis.mode "internal" }}
- name: REDIS_URL
  value: redis://routedip-operator-redis:6379
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
{{- if eq .Values.redis.mode "internal" }}
- name: REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: routedip-operator-redis
      key: REDIS_PASSWORD
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
      memory: 128Mi
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
