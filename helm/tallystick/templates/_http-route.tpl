{{/* An HTTPRoute to the servers: `dict "root" $ "name" … "matches" …`. */}}
{{- define "tallystick.httpRoute" -}}
{{- $gateway := .root.Values.gateway -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ .name }}
  labels:
    {{- include "tallystick.labels" (dict "root" .root "component" "api") | nindent 4 }}
spec:
  parentRefs:
    {{- toYaml $gateway.parentRefs | nindent 4 }}
  hostnames:
    {{- default (list (include "tallystick.publicHost" .root)) $gateway.hostnames | toYaml | nindent 4 }}
  rules:
    - matches:
        {{- toYaml .matches | nindent 8 }}
      {{- with $gateway.deployment }}
      filters:
        - type: ResponseHeaderModifier
          responseHeaderModifier: { set: [{ name: Tallystick-Deployment, value: {{ . | quote }} }] }
      {{- end }}
      {{- with $gateway.requestTimeout }}
      timeouts: { request: {{ . | quote }} }
      {{- end }}
      backendRefs:
        - name: {{ include "tallystick.fullname" .root }}-api
          port: {{ int .root.Values.service.port }}
{{- end }}
