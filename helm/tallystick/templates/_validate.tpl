{{- define "tallystick.hasTest" -}}
{{- if and .Values.test.enabled .Values.operatorKey.existingSecret }}true{{ end -}}
{{- end }}

{{/*
Checks what a schema can't express, or only with an unclear message: missing values, and values that contradict each other. Reports
all faults at once.
*/}}
{{- define "tallystick.validate" -}}
{{- $faults := concat
  (include "tallystick.validate.required" . | fromYamlArray)
  (include "tallystick.validate.addresses" . | fromYamlArray)
  (include "tallystick.validate.immutable" . | fromYamlArray)
  (include "tallystick.validate.database" . | fromYamlArray)
  (include "tallystick.validate.worker" . | fromYamlArray)
  (include "tallystick.validate.other" . | fromYamlArray) -}}
{{- if $faults -}}
{{- fail (printf "these values are not valid:\n  - %s" (join "\n  - " $faults)) -}}
{{- end -}}
{{- end }}

{{- define "tallystick.validate.required" -}}
{{- if not .Values.image.repository }}
- "image.repository is not set: push the image to your registry (docs/operate/image.md), and set its address"
{{- end }}
{{- if not .Values.publicUrl }}
- "publicUrl is not set: set the https:// address by which agents reach the servers. It becomes a part of each ledger for good"
{{- end }}
{{- if not .Values.masterKey.existingSecret }}
- "masterKey.existingSecret is not set: make a Secret with the output of `openssl rand -hex 32`, store a copy elsewhere, and set the Secret's name"
{{- end }}
{{- if not .Values.database.host }}
- "database.host is not set: set the host name of your Postgres (of the writer)"
{{- end }}
{{- end }}

{{/* Hosts must be names or IP addresses; routes need names. */}}
{{- define "tallystick.validate.addresses" -}}
{{- $database := .Values.database -}}
{{- $hosts := dict "database.host" $database.host "database.owner.host" $database.owner.host "database.replica.host" $database.replica.host -}}
{{- range $value, $host := $hosts }}
{{- if regexMatch "^[^:]+:[0-9]+$" $host }}
- "{{ $value }} is {{ $host }}, a host with a port: set the port in {{ trimSuffix "host" $value }}port"
{{- else if not (or (not $host) (include "tallystick.isName" $host) (include "tallystick.isAddress" $host)) }}
- "{{ $value }} is {{ $host }}, which is neither a host name nor an IP address"
{{- end }}
{{- end }}
{{- $public := include "tallystick.publicHost" . }}
{{- $routed := list -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}{{ $routed = append $routed "ingress.hosts" }}{{ end -}}
{{- if and .Values.gateway.enabled (not .Values.gateway.hostnames) }}{{ $routed = append $routed "gateway.hostnames" }}{{ end -}}
{{- range $routed }}
{{- if and $.Values.publicUrl (not (and (include "tallystick.isName" $public) (not (include "tallystick.isAddress" $public)))) }}
- "publicUrl is {{ $.Values.publicUrl }}, whose host is not a DNS name, and {{ . }} is empty: a route needs a DNS name. Set it there, or use service.type LoadBalancer"
{{- end }}
{{- end }}
{{- end }}

{{- define "tallystick.isName" -}}
{{- if and (le (len .) 253) (regexMatch "^([A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)([.][A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*[.]?$" .) (not (regexMatch "^[0-9.]+$" .)) }}true{{ end -}}
{{- end }}

{{/* True for an IPv4 or IPv6 address. IPv6 has at least two colons, and eight groups, or fewer with one `::`. */}}
{{- define "tallystick.isAddress" -}}
{{- $v4 := "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])([.](25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])){3}" -}}
{{- $groups := len (regexFindAll "[0-9A-Fa-f]+" . -1) -}}
{{- if regexMatch (printf "^%s$" $v4) . }}true
{{- else if and (regexMatch "^(:|[0-9A-Fa-f]{1,4}:)(:|[0-9A-Fa-f]{1,4}:)*[0-9A-Fa-f]{0,4}$" .) (not (contains ":::" .)) }}
{{- $pairs := sub (len (splitList "::" .)) 1 }}
{{- if or (and (eq (int $pairs) 1) (le $groups 7)) (and (eq (int $pairs) 0) (eq $groups 8)) }}true{{ end }}
{{- end -}}
{{- end }}

{{/*
Refuses changes that Kubernetes would refuse too, but only after the migration has run. `helm template`, and so Argo CD, does not
know the cluster, so there nothing is checked.
*/}}
{{- define "tallystick.validate.immutable" -}}
{{- $namespace := .Release.Namespace -}}
{{- with .Values.worker.persistence }}
{{- if and .enabled (not .existingClaim) }}
{{- $name := include "tallystick.claimName" $ }}
{{- $claim := lookup "v1" "PersistentVolumeClaim" $namespace $name }}
{{- if $claim }}
{{- if not (has .accessMode $claim.spec.accessModes) }}
- "worker.persistence.accessMode is {{ .accessMode }}, but the claim {{ $name }} exists with {{ join ", " $claim.spec.accessModes }} and can't be changed: to move to another claim (worker.persistence.existingClaim) see docs/operate/kubernetes.md"
{{- end }}
{{- if and .storageClass (ne .storageClass (default "" $claim.spec.storageClassName)) }}
- "worker.persistence.storageClass is {{ .storageClass }}, but the claim {{ $name }} exists with {{ default "none" $claim.spec.storageClassName }} and can't be changed: to move to another claim (worker.persistence.existingClaim) see docs/operate/kubernetes.md"
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range $component := list "api" "worker" }}
{{- $name := printf "%s-%s" (include "tallystick.fullname" $) $component }}
{{- $deployment := lookup "apps/v1" "Deployment" $namespace $name }}
{{- if $deployment }}
{{- $was := dig "app.kubernetes.io/name" "" $deployment.spec.selector.matchLabels }}
{{- if ne $was (include "tallystick.name" $) }}
- "nameOverride makes the label app.kubernetes.io/name {{ include "tallystick.name" $ }}, but the Deployment {{ $name }} selects {{ $was }}, and a selector can't be changed: set nameOverride to its old value"
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tallystick.validate.database" -}}
{{- $database := .Values.database -}}
{{- range $login := list "owner" "api" "worker" }}
{{- $auth := include "tallystick.databaseAuth" (dict "root" $ "login" $login) }}
{{- $secret := (index $database $login).existingSecret }}
{{- $isUsed := or (ne $login "owner") (ne $.Values.migrate.mode "none") $.Values.operate.enabled }}
{{- if and (eq $auth "password") (not $secret) $isUsed }}
- "database.{{ $login }}.existingSecret is not set: set the name of the Secret with the password of this login, or set database.auth to iam{{ if eq $login "owner" }}; or leave the owner out (migrate.mode none, operate.enabled false){{ end }}"
{{- end }}
{{- if and (eq $auth "iam") $secret }}
- "database.{{ $login }}.existingSecret is set, but this login uses iam and has no password: remove one of the two"
{{- end }}
{{- end }}
{{- $saysRegion := regexMatch "\\.rds\\.amazonaws\\.com(\\.cn)?$" $database.host }}
{{- if and (has "iam" (list $database.auth $database.owner.auth)) (not $database.iam.region) (not $saysRegion) }}
- "database.iam.region is not set, and database.host does not contain a region: set the region, because tokens are signed for it"
{{- end }}
{{- if and (has "iam" (list $database.auth $database.owner.auth)) (eq $database.sslMode "disable") }}
- "database.sslMode is disable, but iam needs TLS"
{{- end }}
{{- if and (eq $database.sslMode "verify-ca") (not $database.ca.existingConfigMap) (not $database.ca.existingSecret) }}
- "database.sslMode is verify-ca, which needs a certificate authority: set it in database.ca, or use verify-full"
{{- end }}
{{- if and $database.ca.existingConfigMap $database.ca.existingSecret }}
- "database.ca has both existingConfigMap and existingSecret: remove one of them"
{{- end }}
{{- end }}

{{- define "tallystick.validate.worker" -}}
{{- $worker := .Values.worker -}}
{{- $shared := include "tallystick.sharedVolume" . -}}
{{- if and (gt (int $worker.replicas) 1) (not $worker.autoscaling.enabled) (not $shared) }}
- "worker.replicas is {{ int $worker.replicas }}, but with worker.persistence.accessMode {{ $worker.persistence.accessMode }} only one worker can write: use ReadWriteMany (EFS), or one worker"
{{- end }}
{{- if and (gt (int $worker.replicas) 1) (not $worker.autoscaling.enabled) (not $worker.persistence.enabled) }}
- "worker.replicas is {{ int $worker.replicas }}, but worker.persistence is not enabled: each worker would store its own checkpoints, and lose them at a restart. Use a volume that all workers can write (ReadWriteMany), or one worker"
{{- end }}
{{- if $worker.autoscaling.enabled }}
{{- if not $shared }}
- "worker.autoscaling is enabled, but with worker.persistence.accessMode {{ $worker.persistence.accessMode }} only one worker can write: use ReadWriteMany (EFS), or no autoscaling"
{{- end }}
{{- if not $worker.persistence.enabled }}
- "worker.autoscaling is enabled, but worker.persistence is not: a new worker would know no checkpoints"
{{- end }}
{{- if gt (int $worker.autoscaling.minReplicas) (int $worker.autoscaling.maxReplicas) }}
- "worker.autoscaling.minReplicas is more than maxReplicas"
{{- end }}
{{- if not $worker.autoscaling.metrics }}
- "worker.autoscaling.metrics is empty: add a metric that shows how many workers are needed"
{{- end }}
{{- range $worker.autoscaling.metrics }}
{{- if and (eq $worker.autoscaling.type "hpa") (hasPrefix "tallystick_" .name) }}
- "worker.autoscaling.metrics names {{ .name }}, but each worker reports the same total, and Kubernetes would add them up: with hpa use another name, such as {{ .name | replace "tallystick_" "tallystick:" }}:max, which metrics.prometheusRule records"
{{- end }}
{{- end }}
{{- if and (eq $worker.autoscaling.type "keda") (not $worker.autoscaling.keda.serverAddress) }}
- "worker.autoscaling.keda.serverAddress is not set: set the address of Prometheus, from which KEDA reads how far the workers are behind"
{{- end }}
{{- end }}
{{- end }}

{{- define "tallystick.validate.other" -}}
{{- $api := .Values.api -}}
{{- if $api.autoscaling.enabled }}
{{- if gt (int $api.autoscaling.minReplicas) (int $api.autoscaling.maxReplicas) }}
- "api.autoscaling.minReplicas is more than maxReplicas"
{{- end }}
{{- if not (dig "requests" "cpu" "" (default dict $api.resources)) }}
- "api.autoscaling is enabled, but api.resources.requests.cpu is not set: set it, because utilization is a share of it"
{{- end }}
{{- end }}
{{- $alerts := list -}}
{{- range (.Files.Get "files/alerts.yaml" | fromYaml).groups }}{{- range .rules }}{{- $alerts = append $alerts (default "" .alert) }}{{- end }}{{- end }}
{{- range (default list .Values.metrics.prometheusRule.disabled) }}
{{- if not (has . $alerts) }}
- "metrics.prometheusRule.disabled names {{ . }}, which is not an alert: docs/runbooks/README.md lists the names"
{{- end }}
{{- end }}
{{- with .Values.archive }}
{{- if and .url .lock.days (not (kindIs "invalid" .keepDays)) (le (int .lock.days) (int .keepDays)) }}
- "archive.lock.days is {{ int .lock.days }}, but archive.keepDays is {{ int .keepDays }}: content would leave Postgres after its lock in the archive has ended. Set lock.days to the time for which you need the content"
{{- end }}
{{- end }}
{{- if not (regexMatch "^[a-z]" (include "tallystick.fullname" .)) }}
- "the release's name starts with a digit, but the name of a Service must not: set fullnameOverride"
{{- end }}
{{- $gateway := .Values.gateway -}}
{{- if $gateway.enabled }}
{{- if not $gateway.parentRefs }}
- "gateway.parentRefs is empty: add the Gateway that the routes belong to"
{{- end }}
{{- if and (or $gateway.ledgers (not $gateway.isDefault)) (not $gateway.deployment) }}
- "gateway.deployment is not set: with several deployments give each one its own name"
{{- end }}
{{- if and $gateway.isDefault $gateway.ledgers }}
- "gateway.ledgers is only for a deployment that is not the default: leave it empty, or set gateway.isDefault to false"
{{- end }}
{{- end }}
{{- end }}
