{{- define "tallystick.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end }}

{{/*
A name of at most .max characters. A longer name is cut and ends with a part of its digest, so that different names stay different.
dict "name" … "max" 40
*/}}
{{- define "tallystick.short" -}}
{{- if le (len .name) .max -}}
{{- .name -}}
{{- else -}}
{{- printf "%s-%s" (.name | trunc (int (sub .max 9)) | trimSuffix "-") (.name | sha256sum | trunc 8) -}}
{{- end -}}
{{- end }}

{{/* At most 40 characters, so that names derived from it have at most 63 and are valid labels. */}}
{{- define "tallystick.fullname" -}}
{{- $name := include "tallystick.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- include "tallystick.short" (dict "name" .Release.Name "max" 40) -}}
{{- else -}}
{{- include "tallystick.short" (dict "name" (printf "%s-%s" .Release.Name $name) "max" 40) -}}
{{- end -}}
{{- end }}

{{/* Selects a component's pods. Never change it, because a Deployment's selector can't be changed. */}}
{{- define "tallystick.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tallystick.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of an object. The chart's labels take precedence over commonLabels. */}}
{{- define "tallystick.labels" -}}
{{- $own := include "tallystick.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "tallystick" -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/version" (.root.Chart.AppVersion | replace "+" "_") -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_")) -}}
{{- merge $own (default dict .root.Values.commonLabels) | toYaml -}}
{{- end }}

{{/*
Labels of a pod, without versions, which would restart unchanged pods. Runbooks select by part-of, because nameOverride does not
change it.
*/}}
{{- define "tallystick.podLabels" -}}
{{- $own := include "tallystick.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "tallystick" -}}
{{- if has .component (list "api" "worker") }}{{ $_ := set $own "tallystick/metrics" "true" }}{{ end -}}
{{- $values := index .root.Values .component -}}
{{- merge $own (default dict $values.podLabels) (default dict .root.Values.podLabels) (default dict .root.Values.commonLabels) | toYaml -}}
{{- end }}

{{- define "tallystick.serviceAccountName" -}}
{{- $account := (index .root.Values .component).serviceAccount -}}
{{- if $account.create -}}
{{- default (printf "%s-%s" (include "tallystick.fullname" .root) .component) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end }}

{{- define "tallystick.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end }}

{{/* Host name of publicUrl without the port, in lower case, as routes require. */}}
{{- define "tallystick.publicHost" -}}
{{- regexReplaceAll ":[0-9]+$" (get (urlParse .Values.publicUrl) "host") "" | lower -}}
{{- end }}

{{- define "tallystick.databaseAuth" -}}
{{- if eq .login "owner" -}}
{{- default .root.Values.database.auth .root.Values.database.owner.auth -}}
{{- else -}}
{{- .root.Values.database.auth -}}
{{- end -}}
{{- end }}

{{- define "tallystick.schemaWaitSeconds" -}}
{{- if kindIs "invalid" .Values.migrate.schemaWaitSeconds -}}
{{- eq .Values.migrate.mode "job" | ternary 300 0 -}}
{{- else -}}
{{- int .Values.migrate.schemaWaitSeconds -}}
{{- end -}}
{{- end }}

{{/* True if several nodes can write to the workers' volume. */}}
{{- define "tallystick.sharedVolume" -}}
{{- if or (not .Values.worker.persistence.enabled) (eq .Values.worker.persistence.accessMode "ReadWriteMany") }}true{{ end -}}
{{- end }}

{{- define "tallystick.claimName" -}}
{{- default (printf "%s-worker" (include "tallystick.fullname" .)) .Values.worker.persistence.existingClaim -}}
{{- end }}

{{/* Database login of a component. */}}
{{- define "tallystick.login" -}}
{{- has . (list "migrate" "operate") | ternary "owner" . -}}
{{- end }}
