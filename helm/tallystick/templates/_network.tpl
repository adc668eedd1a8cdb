{{/* Converts an address or a range to a range. */}}
{{- define "tallystick.cidr" -}}
{{- if contains "/" . }}{{ . }}{{ else if contains ":" . }}{{ . }}/128{{ else }}{{ . }}/32{{ end -}}
{{- end }}

{{/* NAT64 range of an IPv4 range (RFC 6052). Through it a translator in the VPC reaches the same hosts, also private ones. */}}
{{- define "tallystick.nat64" -}}
{{- $part := regexSplit "[./]" . -1 -}}
{{- $high := add (mul 256 (index $part 0)) (index $part 1) -}}
{{- $low := add (mul 256 (index $part 2)) (index $part 3) -}}
{{- printf "64:ff9b::%x:%x/%d" $high $low (add 96 (index $part 4)) -}}
{{- end }}

{{/* All public addresses, without blockedCIDRs and their NAT64 ranges. */}}
{{- define "tallystick.publicPeers" -}}
{{- $v4 := list -}}
{{- $v6 := list -}}
{{- range .Values.networkPolicy.blockedCIDRs -}}
{{- if contains ":" . }}{{ $v6 = append $v6 . }}{{ else }}{{ $v4 = append $v4 . }}{{ end -}}
{{- end -}}
{{- range $v4 }}{{ $v6 = append $v6 (include "tallystick.nat64" .) }}{{ end -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except: {{ toJson $v4 }}
- ipBlock:
    cidr: ::/0
    except: {{ toJson $v6 }}
{{- end }}

{{- define "tallystick.egress.dns" -}}
- {{- with .Values.networkPolicy.dnsTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end }}

{{/* dict "root" $ "login" "owner" */}}
{{- define "tallystick.egress.database" -}}
{{- $database := .root.Values.database -}}
- {{- with .root.Values.networkPolicy.databaseCIDRs }}
  to:
    {{- range . }}
    - ipBlock: { cidr: {{ include "tallystick.cidr" . | quote }} }
    {{- end }}
  {{- end }}
  ports:
    - { protocol: TCP, port: {{ eq .login "owner" | ternary (default $database.port $database.owner.port) $database.port | int }} }
{{- $replicaPort := default $database.port $database.replica.port | int }}
{{- if and (eq .login "api") $database.replica.host (ne $replicaPort (int $database.port)) }}
    - { protocol: TCP, port: {{ $replicaPort }} }
{{- end }}
{{- if eq (include "tallystick.databaseAuth" .) "iam" }}
{{- with .root.Values.networkPolicy.awsCIDRs }}
# Source of the credentials that sign tokens.
- to:
    {{- range . }}
    - ipBlock: { cidr: {{ include "tallystick.cidr" . | quote }} }
    {{- end }}
  ports:
    - { protocol: TCP, port: 80 }
    - { protocol: TCP, port: 443 }
{{- end }}
{{- if .root.Values.networkPolicy.stsPublic }}
- to:
    {{- include "tallystick.publicPeers" .root | nindent 4 }}
  ports:
    - { protocol: TCP, port: 443 }
{{- end }}
{{- end }}
{{- end }}

{{/* Access to content that has left Postgres for a bucket: public addresses, as for workers. */}}
{{- define "tallystick.egress.archive" -}}
{{- if and (hasPrefix "s3://" .Values.archive.url) (not (kindIs "invalid" .Values.archive.keepDays)) -}}
- to:
    {{- include "tallystick.publicPeers" . | nindent 4 }}
  ports:
    - { protocol: TCP, port: 443 }
{{- end }}
{{- end }}

{{- define "tallystick.egress.tracing" -}}
{{- with .Values.tracing.endpoint }}
{{- $url := urlParse . }}
{{- $port := regexFind ":[0-9]+$" (get $url "host") | trimPrefix ":" }}
{{- $default := eq (get $url "scheme") "https" | ternary 443 80 }}
- {{- with $.Values.networkPolicy.tracingTo }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - { protocol: TCP, port: {{ default $default $port | int }} }
{{- end }}
{{- end }}

{{/* Webhooks and peers, by the worker's own rules: public addresses on webhookPorts, and outboundAllow on every port. */}}
{{- define "tallystick.egress.outbound" -}}
- to:
    {{- include "tallystick.publicPeers" . | nindent 4 }}
  ports:
    {{- range .Values.networkPolicy.webhookPorts }}
    - { protocol: TCP, port: {{ int . }} }
    {{- end }}
{{- with .Values.outboundAllow }}
- to:
    {{- range . }}
    - ipBlock: { cidr: {{ include "tallystick.cidr" . | quote }} }
    {{- end }}
  ports:
    - { protocol: TCP, port: 1, endPort: 65535 }
{{- end }}
{{- end }}

{{/* The metrics port needs no key, and each scrape queries the database. Probes of the node are not affected. */}}
{{- define "tallystick.ingress.metrics" -}}
{{- with .Values.networkPolicy.metricsFrom -}}
- from:
    {{- toYaml . | nindent 4 }}
  ports:
    - { protocol: TCP, port: metrics }
{{- end }}
{{- end }}
