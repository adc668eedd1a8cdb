{{- define "tallystick.name" -}}
{{- default .Chart.Name .Values.nameOverride -}}
{{- end }}

{{/*
A name of at most .max characters: a longer one ends with a part of its digest, so that two names that begin alike stay two.
dict "name" … "max" 40
*/}}
{{- define "tallystick.short" -}}
{{- if le (len .name) .max -}}
{{- .name -}}
{{- else -}}
{{- printf "%s-%s" (.name | trunc (int (sub .max 9)) | trimSuffix "-") (.name | sha256sum | trunc 8) -}}
{{- end -}}
{{- end }}

{{/* At most 40 characters, so that what is made of it has 63 at most, and is a label. */}}
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

{{/* What selects a component's pods. A Deployment's selector can't be changed: neither can this. */}}
{{- define "tallystick.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tallystick.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of an object. What the chart says goes before what commonLabels say. */}}
{{- define "tallystick.labels" -}}
{{- $own := include "tallystick.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "tallystick" -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/version" (.root.Chart.AppVersion | replace "+" "_") -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_")) -}}
{{- merge $own (default dict .root.Values.commonLabels) | toYaml -}}
{{- end }}

{{/*
Labels of a pod: without the versions, which would restart pods that did not change. Runbooks select by part-of, which nameOverride
does not change.
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

{{/* Host name of publicUrl, without its port; in small letters, as routes want it. */}}
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

{{/* Whether a worker's volume can be written from several nodes. */}}
{{- define "tallystick.sharedVolume" -}}
{{- if or (not .Values.worker.persistence.enabled) (eq .Values.worker.persistence.accessMode "ReadWriteMany") }}true{{ end -}}
{{- end }}

{{- define "tallystick.claimName" -}}
{{- default (printf "%s-worker" (include "tallystick.fullname" .)) .Values.worker.persistence.existingClaim -}}
{{- end }}

{{/* The login that a component has. */}}
{{- define "tallystick.login" -}}
{{- has . (list "migrate" "operate") | ternary "owner" . -}}
{{- end }}
