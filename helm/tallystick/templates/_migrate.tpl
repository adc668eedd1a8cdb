{{/*
Annotations of the migration's objects. As hooks they are there before everything else of the release, the Job after what it
needs, and are gone when it has succeeded. dict "root" $ "weight" "0" "annotations" {…}
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
A Job can't be changed. As a hook it is deleted before it is made anew; a plain one is another each time: by its revision, and by
what it runs, because Argo CD knows of no revisions.
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
