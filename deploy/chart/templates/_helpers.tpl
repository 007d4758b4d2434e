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
{{- if eq .Values.admission "webhook" }}
- --admission=webhook
- --webhook-bind-addr=:9443
- --webhook-service={{ .Release.Namespace }}/vip-allocator-operator-webhook-service
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "routedip-operator.REDIS_URL" -}}
- name: REDIS_URL
{{- if eq .Values.redis.mode "internal" }}
  value: redis://routedip-operator-redis:6379
{{- else }}
  valueFrom:
    secretKeyRef:
      name: {{ required "redis.mode is external: say in redis.urlSecret.name which Secret has the URL" .Values.redis.urlSecret.name | quote }}
      key: {{ .Values.redis.urlSecret.key | quote }}
{{- end }}
{{- end }}
