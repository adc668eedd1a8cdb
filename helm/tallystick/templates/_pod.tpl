{{/*
Fields of every pod: `dict "root" $ "component" "api"`. A component's own values are added to the top-level values, and take
precedence over them.
*/}}
{{- define "tallystick.podFields" -}}
{{- $root := .root -}}
{{- $values := index .root.Values .component -}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if hasKey $values "serviceAccount" }}
serviceAccountName: {{ include "tallystick.serviceAccountName" . }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  {{- with $root.Values.runAsUser }}
  runAsUser: {{ int . }}
  runAsGroup: {{ int . }}
  fsGroup: {{ int . }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile: { type: RuntimeDefault }
{{- with default $root.Values.priorityClassName $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with merge dict (default dict $values.nodeSelector) (default dict $root.Values.nodeSelector) }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat (default list $root.Values.tolerations) (default list $values.tolerations) }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Annotations of a pod, if there are any. */}}
{{- define "tallystick.podAnnotations" -}}
{{- with merge dict (default dict (index .root.Values .component).podAnnotations) (default dict .root.Values.podAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Fields of every container, without name, arguments, ports and probes. */}}
{{- define "tallystick.containerFields" -}}
image: {{ include "tallystick.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
env:
  {{- include "tallystick.env" . | nindent 2 }}
{{- $values := index .root.Values .component }}
{{- with $values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- $mounts := include "tallystick.mounts" . | fromYamlArray }}
  {{- concat $mounts (default list .root.Values.extraVolumeMounts) (default list $values.extraVolumeMounts) | toYaml | nindent 2 }}
{{- end }}

{{- define "tallystick.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if include "tallystick.hasOperatorKey" . }}
- { name: operator-key, mountPath: /etc/tallystick/operator-key, readOnly: true }
{{- end }}
{{- if ne .component "test" }}
- { name: master-key, mountPath: /etc/tallystick/master-key, readOnly: true }
{{- if or .root.Values.database.ca.existingConfigMap .root.Values.database.ca.existingSecret }}
- { name: database-ca, mountPath: /etc/tallystick/ca, readOnly: true }
{{- end }}
{{- $login := include "tallystick.login" .component }}
{{- if eq (include "tallystick.databaseAuth" (dict "root" .root "login" $login)) "password" }}
- { name: database-password, mountPath: /etc/tallystick/database, readOnly: true }
{{- end }}
{{- if and (eq .component "migrate") (eq .root.Values.database.auth "password") }}
- { name: api-database-password, mountPath: /etc/tallystick/api-database, readOnly: true }
- { name: worker-database-password, mountPath: /etc/tallystick/worker-database, readOnly: true }
{{- end }}
{{- end }}
{{- if eq .component "worker" }}
- { name: data, mountPath: /data }
{{- end }}
{{- end }}

{{- define "tallystick.volumes" -}}
{{- $own := include "tallystick.ownVolumes" . | fromYamlArray -}}
{{- concat $own (default list .root.Values.extraVolumes) (default list (index .root.Values .component).extraVolumes) | toYaml -}}
{{- end }}

{{- define "tallystick.ownVolumes" -}}
{{- $database := .root.Values.database -}}
- { name: tmp, emptyDir: { sizeLimit: 64Mi } }
{{- if include "tallystick.hasOperatorKey" . }}
{{- $of := eq .component "test" | ternary (omit .root.Values.operatorKey "previousKey") .root.Values.operatorKey }}
{{ include "tallystick.keyVolume" (dict "name" "operator-key" "of" $of) }}
{{- end }}
{{- if ne .component "test" }}
{{ include "tallystick.keyVolume" (dict "name" "master-key" "of" .root.Values.masterKey) }}
{{- with $database.ca }}
{{- if .existingConfigMap }}
- { name: database-ca, configMap: { name: {{ .existingConfigMap | quote }}, items: [{ key: {{ .key | quote }}, path: ca.pem }] } }
{{- else if .existingSecret }}
- { name: database-ca, secret: { secretName: {{ .existingSecret | quote }}, items: [{ key: {{ .key | quote }}, path: ca.pem }] } }
{{- end }}
{{- end }}
{{- $login := include "tallystick.login" .component }}
{{- if eq (include "tallystick.databaseAuth" (dict "root" .root "login" $login)) "password" }}
{{ include "tallystick.passwordVolume" (dict "name" "database-password" "of" (index $database $login)) }}
{{- end }}
{{- if and (eq .component "migrate") (eq $database.auth "password") }}
{{ include "tallystick.passwordVolume" (dict "name" "api-database-password" "of" $database.api) }}
{{ include "tallystick.passwordVolume" (dict "name" "worker-database-password" "of" $database.worker) }}
{{- end }}
{{- end }}
{{- if eq .component "worker" }}
{{- if .root.Values.worker.persistence.enabled }}
- { name: data, persistentVolumeClaim: { claimName: {{ include "tallystick.claimName" .root | quote }} } }
{{- else }}
- { name: data, emptyDir: { sizeLimit: 1Gi } }
{{- end }}
{{- end }}
{{- end }}

{{/* 288 is 0440; the group is the pod's. No subPath, because such a mount is never updated. */}}
{{- define "tallystick.passwordVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .of.existingSecret | quote }}
    defaultMode: 288
    items: [{ key: {{ .of.passwordKey | quote }}, path: password }]
{{- end }}

{{/* A key, with the previous one if there is one. A process refuses a key that all users can read. */}}
{{- define "tallystick.keyVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .of.existingSecret | quote }}
    defaultMode: 288
    items:
      - { key: {{ .of.key | quote }}, path: key }
      {{- with .of.previousKey }}
      - { key: {{ . | quote }}, path: previous }
      {{- end }}
{{- end }}

{{/* Servers check the operator's key; the test creates a ledger with it. */}}
{{- define "tallystick.hasOperatorKey" -}}
{{- if and .root.Values.operatorKey.existingSecret (has .component (list "api" "test")) }}true{{ end -}}
{{- end }}

{{/* Spreads pods evenly over zones and nodes. During a rollout, only the new pods are counted. */}}
{{- define "tallystick.topologySpread" -}}
{{- range .root.Values.topologySpreadKeys }}
- maxSkew: 1
  topologyKey: {{ . | quote }}
  whenUnsatisfiable: {{ $.root.Values.topologySpreadWhenUnsatisfiable }}
  # Tainted nodes, such as those of a lost zone, are not counted. Otherwise pods would have to be placed there first.
  nodeTaintsPolicy: Honor
  labelSelector:
    matchLabels:
      {{- include "tallystick.selectorLabels" $ | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{/* dict "probe" .startup "path" "/livez" "port" "http" "failureThreshold" 30 (if the probe has none) */}}
{{- define "tallystick.probe" -}}
httpGet: { path: {{ .path }}, port: {{ .port }} }
periodSeconds: {{ int .probe.periodSeconds }}
timeoutSeconds: {{ int .probe.timeoutSeconds }}
failureThreshold: {{ default .failureThreshold .probe.failureThreshold | int }}
{{- end }}

{{/* A start takes at most a minute, plus the wait for the schema. */}}
{{- define "tallystick.startFailures" -}}
{{- $seconds := add 60 (include "tallystick.schemaWaitSeconds" .root | int) -}}
{{- div (add $seconds (sub (int .periodSeconds) 1)) (int .periodSeconds) -}}
{{- end }}
