{{/*
Annotations of the migration's objects. As hooks they are created before everything else of the release, the Job last, and deleted
when the Job has succeeded. dict "root" $ "weight" "0" "annotations" {…}
*/}}
{{- define "tallystick.migrate.annotations" -}}
{{- $hook := dict -}}
{{- with .root.Values.migrate }}{{- if eq .mode "hook" -}}
{{- $hook = dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" $.weight "helm.sh/hook-delete-policy" .hookDeletePolicy -}}
{{- end }}{{- end -}}
{{- with merge $hook (default dict .annotations) (default dict .root.Values.migrate.annotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tallystick.migrate.template" -}}
{{- $ctx := dict "root" . "component" "migrate" -}}
metadata:
  labels:
    {{- include "tallystick.podLabels" $ctx | nindent 4 }}
  {{- with include "tallystick.podAnnotations" $ctx }}{{ trim . | nindent 2 }}{{ end }}
spec:
  {{- include "tallystick.podFields" $ctx | trim | nindent 2 }}
  restartPolicy: Never
  containers:
    - name: migrate
      args: [migrate]
      {{- include "tallystick.containerFields" $ctx | nindent 6 }}
  volumes:
    {{- include "tallystick.volumes" $ctx | nindent 4 }}
{{- end }}

{{/*
A Job can't be changed. A hook is deleted before it is created again. A plain Job gets a new name each time, from the revision and
from a hash of its template, because Argo CD has no revisions.
*/}}
{{- define "tallystick.migrate.name" -}}
{{- $fullname := include "tallystick.fullname" . -}}
{{- if eq .Values.migrate.mode "hook" -}}
{{- printf "%s-migrate" $fullname -}}
{{- else -}}
{{- $version := regexReplaceAll "[^a-z0-9]+" (lower .Chart.Version) "-" | trunc 12 | trimSuffix "-" -}}
{{- $hash := include "tallystick.migrate.template" . | sha256sum | trunc 8 -}}
{{- printf "%s-migrate-%s-%d-%s" (include "tallystick.short" (dict "name" $fullname "max" 26)) $version .Release.Revision $hash -}}
{{- end -}}
{{- end }}
