{{- define "tallystick.hasTest" -}}
{{- if and .Values.test.enabled .Values.operatorKey.existingSecret }}true{{ end -}}
{{- end }}

{{/*
What a schema can't say, or not so that one knows what to do: values that are missing, and values that contradict each other. All
that is wrong is said at once.
*/}}
{{- define "tallystick.validate" -}}
{{- $faults := concat
  (include "tallystick.validate.required" . | fromYamlArray)
  (include "tallystick.validate.database" . | fromYamlArray)
  (include "tallystick.validate.worker" . | fromYamlArray)
  (include "tallystick.validate.other" . | fromYamlArray) -}}
{{- if $faults -}}
{{- fail (printf "these values can't be:\n  - %s" (join "\n  - " $faults)) -}}
{{- end -}}
{{- end }}

{{- define "tallystick.validate.required" -}}
{{- if not .Values.image.repository }}
- "image.repository is not set: push the image to your registry (docs/image.md), and name it"
{{- end }}
{{- if not .Values.publicUrl }}
- "publicUrl is not set: the https:// address by which agents reach the servers. Ledgers keep it for good"
{{- end }}
{{- if not .Values.masterKey.existingSecret }}
- "masterKey.existingSecret is not set: make a Secret with the key `openssl rand -hex 32` prints, keep a copy elsewhere, and name it"
{{- end }}
{{- if not .Values.database.host }}
- "database.host is not set: the host name of your Postgres, the writer's"
{{- end }}
{{- end }}

{{- define "tallystick.validate.database" -}}
{{- $database := .Values.database -}}
{{- range $login := list "owner" "api" "worker" }}
{{- $auth := include "tallystick.databaseAuth" (dict "root" $ "login" $login) }}
{{- $secret := (index $database $login).existingSecret }}
{{- $isUsed := or (ne $login "owner") (ne $.Values.migrate.mode "none") $.Values.operate.enabled }}
{{- if and (eq $auth "password") (not $secret) $isUsed }}
- "database.{{ $login }}.existingSecret is not set: name the Secret with the password of this login, or set database.auth to iam{{ if eq $login "owner" }}; or leave the owner out (migrate.mode none, operate.enabled false){{ end }}"
{{- end }}
{{- if and (eq $auth "iam") $secret }}
- "database.{{ $login }}.existingSecret is set, but this login uses iam and has no password: take one of them away"
{{- end }}
{{- end }}
{{- $saysRegion := regexMatch "\\.rds\\.amazonaws\\.com(\\.cn)?$" $database.host }}
{{- if and (has "iam" (list $database.auth $database.owner.auth)) (not $database.iam.region) (not $saysRegion) }}
- "database.iam.region is not set, and database.host does not name a region: tokens are signed for one"
{{- end }}
{{- if and (has "iam" (list $database.auth $database.owner.auth)) (eq $database.sslMode "disable") }}
- "database.sslMode is disable, but iam needs TLS"
{{- end }}
{{- if and (eq $database.sslMode "verify-ca") (not $database.ca.existingConfigMap) (not $database.ca.existingSecret) }}
- "database.sslMode is verify-ca, which needs an authority of its own: name it in database.ca, or use verify-full"
{{- end }}
{{- if and $database.ca.existingConfigMap $database.ca.existingSecret }}
- "database.ca has both existingConfigMap and existingSecret: which one?"
{{- end }}
{{- end }}

{{- define "tallystick.validate.worker" -}}
{{- $worker := .Values.worker -}}
{{- $shared := include "tallystick.sharedVolume" . -}}
{{- if and (gt (int $worker.replicas) 1) (not $worker.autoscaling.enabled) (not $shared) }}
- "worker.replicas is {{ int $worker.replicas }}, but worker.persistence.accessMode {{ $worker.persistence.accessMode }} lets one worker write: use ReadWriteMany (EFS), or one worker"
{{- end }}
{{- if $worker.autoscaling.enabled }}
{{- if not $shared }}
- "worker.autoscaling is enabled, but worker.persistence.accessMode {{ $worker.persistence.accessMode }} lets one worker write: use ReadWriteMany (EFS), or no autoscaling"
{{- end }}
{{- if not $worker.persistence.enabled }}
- "worker.autoscaling is enabled, but worker.persistence is not: a worker that is added would know no checkpoint"
{{- end }}
{{- if gt (int $worker.autoscaling.minReplicas) (int $worker.autoscaling.maxReplicas) }}
- "worker.autoscaling.minReplicas is more than maxReplicas"
{{- end }}
{{- if not $worker.autoscaling.metrics }}
- "worker.autoscaling.metrics is empty: nothing says how many workers are needed"
{{- end }}
{{- if and (eq $worker.autoscaling.type "keda") (not $worker.autoscaling.keda.serverAddress) }}
- "worker.autoscaling.keda.serverAddress is not set: KEDA asks Prometheus how far the workers are behind"
{{- end }}
{{- end }}
{{- end }}

{{- define "tallystick.validate.other" -}}
{{- $api := .Values.api -}}
{{- if $api.autoscaling.enabled }}
{{- if gt (int $api.autoscaling.minReplicas) (int $api.autoscaling.maxReplicas) }}
- "api.autoscaling.minReplicas is more than maxReplicas"
{{- end }}
{{- if not (dig "requests" "cpu" "" $api.resources) }}
- "api.autoscaling is enabled, but api.resources.requests.cpu is not set: utilization is a share of it"
{{- end }}
{{- end }}
{{- $alerts := list -}}
{{- range (.Files.Get "files/alerts.yaml" | fromYaml).groups }}{{- range .rules }}{{- $alerts = append $alerts (default "" .alert) }}{{- end }}{{- end }}
{{- range .Values.metrics.prometheusRule.disabled }}
{{- if not (has . $alerts) }}
- "metrics.prometheusRule.disabled names {{ . }}, which is no alert: docs/runbooks/README.md has their names"
{{- end }}
{{- end }}
{{- $gateway := .Values.gateway -}}
{{- if $gateway.enabled }}
{{- if not $gateway.parentRefs }}
- "gateway.parentRefs is empty: name the Gateway that the routes belong to"
{{- end }}
{{- if and (or $gateway.ledgers (not $gateway.isDefault)) (not $gateway.deployment) }}
- "gateway.deployment is not set: give each of several deployments a name of its own"
{{- end }}
{{- if and $gateway.isDefault $gateway.ledgers }}
- "gateway.ledgers is for a deployment that is not the default one: leave it empty, or set gateway.isDefault to false"
{{- end }}
{{- if and (not $gateway.hostnames) .Values.publicUrl (not (include "tallystick.publicHost" .)) }}
- "gateway.hostnames is empty, and publicUrl names no host"
{{- end }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) .Values.publicUrl (not (include "tallystick.publicHost" .)) }}
- "ingress.hosts is empty, and publicUrl names no host"
{{- end }}
{{- end }}
