{{/*
The variables of a component's container: `dict "root" $ "component" "api"`. A repeated name is refused here: server-side apply fails
on it, and otherwise it is undefined which value applies.
*/}}
{{- define "tallystick.env" -}}
{{- $values := index .root.Values .component -}}
{{- $own := include (printf "tallystick.env.%s" .component) .root | fromYamlArray -}}
{{- $names := dict -}}
{{- range $own }}{{- $_ := set $names .name "the chart sets it" -}}{{- end -}}
{{- $extra := concat (default list .root.Values.extraEnv) (default list $values.extraEnv) -}}
{{- range $extra -}}
{{- if hasKey $names .name -}}
{{- fail (printf "extraEnv: %s is twice in the environment of %s: %s. Use the chart's value for it, or set it only once" .name $.component (get $names .name)) -}}
{{- end -}}
{{- $_ := set $names .name "extraEnv names it twice" -}}
{{- end -}}
{{- concat $own $extra | toYaml -}}
{{- end }}

{{- define "tallystick.env.api" -}}
- { name: TALLYSTICK_PORT, value: "3000" }
{{ include "tallystick.env.process" . }}
- { name: TALLYSTICK_DRAIN_SECONDS, value: {{ .Values.api.drainSeconds | quote }} }
- { name: TALLYSTICK_THREADS, value: {{ .Values.api.threads | quote }} }
- { name: TALLYSTICK_LOG_REQUESTS, value: {{ .Values.logRequests | quote }} }
- { name: TALLYSTICK_API_DATABASE_URL, value: {{ include "tallystick.databaseUrl" (dict "root" . "login" "api" "user" .Values.database.api.user) | quote }} }
{{- if .Values.database.replica.host }}
- { name: TALLYSTICK_REPLICA_URL, value: {{ include "tallystick.databaseUrl" (dict "root" . "login" "replica" "user" .Values.database.api.user) | quote }} }
- { name: TALLYSTICK_REPLICA_LAG_MS_MAX, value: {{ .Values.database.replica.lagMsMax | int | quote }} }
{{- end }}
{{- if .Values.archive.url }}
{{ include "tallystick.env.archive" . }}
{{- end }}
{{ include "tallystick.env.database" (dict "root" . "login" "api") }}
{{ include "tallystick.env.masterKey" . }}
{{- if .Values.operatorKey.existingSecret }}
{{ include "tallystick.env.operatorKey" . }}
{{- end }}
{{ include "tallystick.env.tracing" . }}
{{- end }}

{{/* Archive to which workers write, and from which servers and `operate` read content that has left Postgres. */}}
{{- define "tallystick.env.archive" -}}
{{- with .Values.archive -}}
- { name: TALLYSTICK_ARCHIVE, value: {{ .url | quote }} }
- { name: TALLYSTICK_ARCHIVE_S3_ENDPOINT, value: {{ .s3.endpoint | quote }} }
- { name: TALLYSTICK_ARCHIVE_S3_REGION, value: {{ .s3.region | quote }} }
- { name: TALLYSTICK_ARCHIVE_S3_PATH_STYLE, value: {{ .s3.pathStyle | quote }} }
{{- end }}
{{- end }}

{{- define "tallystick.env.worker" -}}
{{ include "tallystick.env.process" . }}
- { name: TALLYSTICK_DATA, value: /data }
{{- with .Values.witnesses }}
{{- $witnesses := list }}
{{- range . }}{{ $witnesses = append $witnesses (printf "%s %s" .key .url) }}{{ end }}
- { name: TALLYSTICK_WITNESSES, value: {{ join "," $witnesses | quote }} }
{{- end }}
{{- with .Values.archive }}
{{- if .url }}
{{ include "tallystick.env.archive" $ }}
- { name: TALLYSTICK_ARCHIVE_SEAL_ENTRIES, value: {{ .sealEntries | int | quote }} }
- { name: TALLYSTICK_ARCHIVE_SEAL_SECONDS, value: {{ .sealSeconds | int | quote }} }
{{- if not (kindIs "invalid" .keepDays) }}
- { name: TALLYSTICK_ARCHIVE_KEEP_DAYS, value: {{ int .keepDays | quote }} }
{{- end }}
{{- with .lock.days }}
- { name: TALLYSTICK_ARCHIVE_LOCK_DAYS, value: {{ int . | quote }} }
- { name: TALLYSTICK_ARCHIVE_LOCK_MODE, value: {{ $.Values.archive.lock.mode | quote }} }
{{- end }}
{{- end }}
{{- end }}
- { name: TALLYSTICK_THREADS, value: {{ .Values.worker.threads | quote }} }
- { name: TALLYSTICK_WORKER_DATABASE_URL, value: {{ include "tallystick.databaseUrl" (dict "root" . "login" "worker" "user" .Values.database.worker.user) | quote }} }
{{ include "tallystick.env.database" (dict "root" . "login" "worker") }}
{{ include "tallystick.env.masterKey" . }}
{{ include "tallystick.env.tracing" . }}
{{- end }}

{{/* The two URLs contain the names of the logins. */}}
{{- define "tallystick.env.migrate" -}}
{{ include "tallystick.env.owner" . }}
- { name: TALLYSTICK_API_DATABASE_URL, value: {{ include "tallystick.databaseUrl" (dict "root" . "login" "api" "user" .Values.database.api.user) | quote }} }
- { name: TALLYSTICK_WORKER_DATABASE_URL, value: {{ include "tallystick.databaseUrl" (dict "root" . "login" "worker" "user" .Values.database.worker.user) | quote }} }
{{- if eq .Values.database.auth "password" }}
- { name: TALLYSTICK_API_DATABASE_PASSWORD_FILE, value: /etc/tallystick/api-database/password }
- { name: TALLYSTICK_WORKER_DATABASE_PASSWORD_FILE, value: /etc/tallystick/worker-database/password }
{{- else }}
- { name: TALLYSTICK_DATABASE_LOGINS, value: rds-iam }
{{- end }}
{{- end }}

{{- define "tallystick.env.operate" -}}
{{ include "tallystick.env.owner" . }}
{{- if .Values.archive.url }}
{{ include "tallystick.env.archive" . }}
{{- end }}
{{- end }}

{{- define "tallystick.env.owner" -}}
- { name: TALLYSTICK_LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
- { name: DATABASE_URL, value: {{ include "tallystick.databaseUrl" (dict "root" . "login" "owner" "user" .Values.database.owner.user) | quote }} }
{{ include "tallystick.env.database" (dict "root" . "login" "owner") }}
{{ include "tallystick.env.masterKey" . }}
{{- end }}

{{- define "tallystick.env.test" -}}
- { name: TALLYSTICK_URL, value: {{ printf "http://%s-api:%v" (include "tallystick.fullname" .) .Values.service.port | quote }} }
{{- $current := omit .Values.operatorKey "previousKey" }}
{{ include "tallystick.env.key" (dict "variable" "TALLYSTICK_OPERATOR_KEY" "folder" "/etc/tallystick/operator-key" "of" $current) }}
{{- end }}

{{/* Variables of servers and workers. */}}
{{- define "tallystick.env.process" -}}
- { name: TALLYSTICK_HOST, value: {{ .Values.listenAddress | quote }} }
- { name: TALLYSTICK_METRICS_PORT, value: "9464" }
- { name: TALLYSTICK_PUBLIC_URL, value: {{ .Values.publicUrl | quote }} }
- { name: TALLYSTICK_LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
- { name: TALLYSTICK_SCHEMA_WAIT_SECONDS, value: {{ include "tallystick.schemaWaitSeconds" . | quote }} }
{{- if not .Values.peerWitnesses }}
- { name: TALLYSTICK_PEER_WITNESSES, value: "false" }
{{- end }}
{{- if not (kindIs "invalid" .Values.retentionDaysMin) }}
- { name: TALLYSTICK_RETENTION_DAYS_MIN, value: {{ int .Values.retentionDaysMin | quote }} }
{{- end }}
{{- with .Values.outboundAllow }}
- { name: TALLYSTICK_OUTBOUND_ALLOW, value: {{ join "," . | quote }} }
{{- end }}
{{- end }}

{{/* The password is in a file and not in the URL. The file is read for each connection, so a changed Secret takes effect. */}}
{{- define "tallystick.env.database" -}}
{{- if eq (include "tallystick.databaseAuth" .) "iam" -}}
- { name: TALLYSTICK_DATABASE_PASSWORD_COMMAND, value: node /app/src/run/command.ts rds-token }
{{- with .root.Values.database.iam.region }}
- { name: AWS_REGION, value: {{ . | quote }} }
{{- end }}
{{- else -}}
- { name: TALLYSTICK_DATABASE_PASSWORD_FILE, value: /etc/tallystick/database/password }
{{- end }}
{{- if or .root.Values.database.ca.existingConfigMap .root.Values.database.ca.existingSecret }}
- { name: TALLYSTICK_DATABASE_CA_FILE, value: /etc/tallystick/ca/ca.pem }
{{- end }}
{{- end }}

{{- define "tallystick.databaseUrl" -}}
{{- $database := .root.Values.database -}}
{{- $host := $database.host -}}
{{- $port := $database.port -}}
{{- if eq .login "owner" -}}
{{- $host = default $host $database.owner.host -}}
{{- $port = default $port $database.owner.port -}}
{{- end -}}
{{- if eq .login "replica" -}}
{{- $host = $database.replica.host -}}
{{- $port = default $port $database.replica.port -}}
{{- end -}}
{{- if contains ":" $host }}{{ $host = printf "[%s]" $host }}{{ end -}}
{{- $sslMode := $database.sslMode | empty | ternary "" (printf "?sslmode=%s" $database.sslMode) -}}
{{- printf "postgres://%s@%s:%d/%s%s" .user $host (int $port) $database.name $sslMode -}}
{{- end }}

{{- define "tallystick.env.masterKey" -}}
{{ include "tallystick.env.key" (dict "variable" "TALLYSTICK_MASTER_KEY" "folder" "/etc/tallystick/master-key" "of" .Values.masterKey) }}
{{- end }}

{{- define "tallystick.env.operatorKey" -}}
{{ include "tallystick.env.key" (dict "variable" "TALLYSTICK_OPERATOR_KEY" "folder" "/etc/tallystick/operator-key" "of" .Values.operatorKey) }}
{{- end }}

{{/* A key, and during a rotation the previous one. In files, because /proc and `kubectl describe` show the environment. */}}
{{- define "tallystick.env.key" -}}
- { name: {{ .variable }}_FILE, value: {{ .folder }}/key }
{{- with .of.previousKey }}
- { name: {{ $.variable }}_PREVIOUS_FILE, value: {{ $.folder }}/previous }
{{- end }}
{{- end }}

{{- define "tallystick.env.tracing" -}}
{{- with .Values.tracing }}{{- if .endpoint -}}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .endpoint | quote }} }
- { name: OTEL_TRACES_SAMPLER, value: {{ .sampler | quote }} }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ .samplerArg | quote }} }
{{- if .headers.existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ .headers.existingSecret | quote }}, key: {{ .headers.key | quote }} } }
{{- end }}
{{- end }}{{- end }}
{{- end }}
