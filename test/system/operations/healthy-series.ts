/** Series in promtool's notation: `0+60x30` starts at 0 and grows by 60 a minute, for 30 minutes. */
export type Series = Readonly<Record<string, string>>

export const SERVER =
  'namespace="ledger", job="tallystick-metrics", pod="tallystick-api-0", instance="10.0.0.1:9464"'
export const WORKER =
  'namespace="ledger", job="tallystick-metrics", pod="tallystick-worker-0", instance="10.0.0.2:9464"'
export const SINGLE = 'method="POST", route="/v1/records", status="201"'
export const MINUTES = 500
export const flat = (value: number) => `${value}+0x${MINUTES}`
export const growing = (perMinute: number) => `0+${perMinute}x${MINUTES}`
/** A timestamp that always equals the clock. The clock starts at 0. */
const follows = `0+60x${MINUTES}`
const eachHour = Array.from({ length: MINUTES / 50 }, (_, i) => `${i}+0x59`).join(' ')
const each50Minutes = Array.from({ length: MINUTES / 50 }, (_, i) => `${i * 3_000}+0x49`).join(' ')

/** Series of a busy, healthy server and worker. No alert may fire. */
export const HEALTHY: Series = {
  [`tallystick_build_info{version="0.1.0", ${SERVER}}`]: flat(1),
  [`tallystick_build_info{version="0.1.0", ${WORKER}}`]: flat(1),
  [`tallystick_build_info{version="0.1.0", namespace="other", instance="10.0.0.7:9464"}`]: flat(1),
  [`process_start_time_seconds{${SERVER}}`]: flat(0),
  [`process_start_time_seconds{${WORKER}}`]: flat(0),
  [`process_start_time_seconds{job="another", instance="10.0.0.9:80"}`]: growing(60),
  [`tallystick_http_requests_under_way{${SERVER}}`]: flat(3),
  [`tallystick_http_requests_refused_total{${SERVER}}`]: growing(1),
  ...each('tallystick_http_held_refused_total', 'kind', ['reads', 'writes', 'bodies'], SERVER),
  [`tallystick_http_request_duration_seconds_count{${SINGLE}, ${SERVER}}`]: growing(6_000),
  [`tallystick_http_request_duration_seconds_bucket{le="0.1", ${SINGLE}, ${SERVER}}`]: growing(5_990),
  [`tallystick_http_request_duration_seconds_bucket{le="1", ${SINGLE}, ${SERVER}}`]: growing(6_000),
  [`tallystick_http_request_duration_seconds_bucket{le="+Inf", ${SINGLE}, ${SERVER}}`]: growing(6_000),
  ...each('tallystick_http_problems_total', 'code', ['unavailable', 'outcome_unknown', 'clock_skew'], SERVER),
  ...each(
    'tallystick_http_problems_total',
    'code',
    ['internal_error', 'integrity_fault', 'overloaded'],
    SERVER,
  ),
  [`tallystick_http_problems_total{code="archive_unavailable", ${SERVER}}`]: `0+0x92 1+0x${MINUTES}`,
  [`tallystick_http_problems_total{code="invalid_request", ${SERVER}}`]: growing(600),
  ...each('tallystick_append_refusals_total', 'reason', ['ledger', 'kind'], SERVER),
  [`tallystick_append_refusals_total{reason="state", ${SERVER}}`]: growing(60),
  [`tallystick_archive_read_duration_seconds_count{outcome="fetched", ${SERVER}}`]: growing(6),
  ...each(
    'tallystick_archive_read_duration_seconds_count',
    'outcome',
    ['unavailable', 'faulty', 'refused'],
    SERVER,
  ),
  ...each(
    'tallystick_database_connection_failures_total',
    'failure',
    ['connect', 'wait'],
    `pool="read", ${SERVER}`,
  ),
  [`tallystick_database_connection_failures_total{failure="idle", pool="read", ${SERVER}}`]: growing(1),
  [`tallystick_follower_rounds_total{follower="checkpoints", result="ok", ${WORKER}}`]: growing(120),
  [`tallystick_follower_rounds_total{follower="checkpoints", result="failed", ${WORKER}}`]: flat(2),
  [`tallystick_follower_last_success_timestamp_seconds{follower="checkpoints", ${WORKER}}`]: follows,
  [`tallystick_follower_rounds_total{follower="expiry", result="ok", ${WORKER}}`]: growing(60),
  [`tallystick_follower_last_success_timestamp_seconds{follower="expiry", ${WORKER}}`]: follows,
  [`tallystick_clock_skew_seconds{${WORKER}}`]: flat(-0.02),
  [`tallystick_checkpoint_lag_seconds{${WORKER}}`]: flat(1),
  [`tallystick_ledger_faults{${WORKER}}`]: flat(0),
  ...each('tallystick_contradicted_ledgers', 'finding', ['closed', 'gone'], WORKER),
  [`tallystick_completions_verified_total{outcome="pass", ${WORKER}}`]: growing(60),
  [`tallystick_completions_verified_total{outcome="refused", ${WORKER}}`]: flat(0),
  [`tallystick_completions_oldest_waiting_seconds{${WORKER}}`]: flat(1),
  [`tallystick_expiries_refused{${WORKER}}`]: flat(0),
  [`tallystick_erasures_refused{${WORKER}}`]: flat(0),
  [`tallystick_records_overdue{${WORKER}}`]: `0 5 0 0 3 0+0x${MINUTES}`,
  [`tallystick_erasures_pending{${WORKER}}`]: `0 5 0 0 3 0+0x${MINUTES}`,
  [`tallystick_retention_failing_ledgers{${WORKER}}`]: `0 1 1 0+0x${MINUTES}`,
  [`tallystick_entries_verified_total{${WORKER}}`]: growing(6_000),
  [`tallystick_entry_verification_lag_seconds{${WORKER}}`]: flat(2),
  [`tallystick_audit_last_timestamp_seconds{result="good", ${WORKER}}`]: flat(0),
  [`tallystick_dead_letters{queue="audit", ${WORKER}}`]: flat(0),
  [`tallystick_witness_waiting_seconds{witness="w1.example", ${WORKER}}`]: flat(2),
  [`tallystick_archive_faulty_ledgers{${WORKER}}`]: flat(0),
  [`tallystick_archive_unreleased_ledgers{${WORKER}}`]: flat(0),
  [`tallystick_key_rotation_pending_ledgers{${WORKER}}`]: `0 90 40 0+0x${MINUTES}`,
  [`tallystick_webhook_endpoints{state="active", ${WORKER}}`]: flat(3),
  ...each('tallystick_webhook_endpoints', 'state', ['paused', 'disabled'], WORKER),
  [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(1),
  [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(1),
  [`tallystick_webhook_endpoints_failing_seconds{${WORKER}}`]: `0+60x40 0+0x${MINUTES}`,
  [`tallystick_webhook_endpoints_waiting{${WORKER}}`]: flat(1),
  [`tallystick_webhook_waiting_seconds{${WORKER}}`]: flat(1),
  ...each('tallystick_webhook_endpoint_stops_total', 'reason', ['failing', 'gone'], WORKER),
  [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: flat(1),
  [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: growing(60),
  [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: growing(6),
  [`tallystick_webhook_attempts_total{outcome="dead", ${WORKER}}`]: flat(0),
  [`tallystick_webhook_attempt_failures_total{reason="5xx", ${WORKER}}`]: growing(6),
  [`tallystick_webhook_attempt_failures_total{reason="integrity_fault", ${WORKER}}`]: flat(0),
  [`tallystick_peers{state="active", ${WORKER}}`]: flat(3),
  [`tallystick_peers_behind{${WORKER}}`]: flat(2),
  [`tallystick_peers_waiting{${WORKER}}`]: flat(1),
  [`tallystick_peer_waiting_seconds{${WORKER}}`]: flat(2),
  [`tallystick_peers_failing{${WORKER}}`]: flat(1),
  [`tallystick_peers_failing_seconds{${WORKER}}`]: `0+60x40 0+0x${MINUTES}`,
  [`tallystick_peer_lag_seconds{state="active", ${WORKER}}`]: flat(2),
  [`tallystick_peer_lag_seconds{state="suspended", ${WORKER}}`]: growing(60),
  [`tallystick_peers_full{${WORKER}}`]: flat(0),
  [`tallystick_peer_dead_letters{${WORKER}}`]: flat(0),
  [`tallystick_peer_entries_sent_total{outcome="received", ${WORKER}}`]: growing(60),
  [`tallystick_peer_request_duration_seconds_count{${WORKER}}`]: growing(6),
  [`tallystick_peer_entries_refused_total{code="fork", ${SERVER}}`]: flat(0),
  [`tallystick_peer_entries_refused_total{code="not_shared", ${SERVER}}`]: growing(1),
  'kube_pod_container_status_waiting_reason{namespace="ledger", pod="tallystick-api-7d9-x", reason="CrashLoopBackOff"}': `0 1 1 0+0x${MINUTES}`,
  'kube_pod_container_status_waiting_reason{namespace="ledger", pod="another-api-7d9-x", reason="CrashLoopBackOff"}':
    flat(1),
}

/** Series of other healthy situations, in which no alert may fire. */
export const QUIET: Readonly<Record<string, Series>> = {
  'rounds of what leaves for the archive, and rests after them, that take long': Object.fromEntries(
    ['archive', 'release'].flatMap((follower) => [
      [`tallystick_follower_rounds_total{follower="${follower}", result="ok", ${WORKER}}`, flat(9)],
      [
        `tallystick_follower_last_success_timestamp_seconds{follower="${follower}", ${WORKER}}`,
        each50Minutes,
      ],
    ]),
  ),
  'endpoints that wait for events which hardly ever come, while much else is written': {
    [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(0),
    [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(3),
    [`tallystick_webhook_endpoints_waiting{${WORKER}}`]: flat(3),
    [`tallystick_webhook_waiting_seconds{${WORKER}}`]: flat(0.2),
    [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: flat(0.2),
    [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: flat(9),
  },
  'the only endpoint refused its last event hours ago, and there was none since': {
    [`tallystick_webhook_endpoints{state="active", ${WORKER}}`]: flat(1),
    [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(0),
    [`tallystick_webhook_endpoints_waiting{${WORKER}}`]: flat(0),
    [`tallystick_webhook_waiting_seconds{${WORKER}}`]: flat(0),
    [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: flat(0),
    [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: flat(9),
  },
  'the only endpoint that is behind has failed, and is left alone for an hour': {
    [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(1),
    [`tallystick_webhook_endpoints_waiting{${WORKER}}`]: flat(0),
    [`tallystick_webhook_waiting_seconds{${WORKER}}`]: flat(0),
    [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: growing(60),
    [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: eachHour,
  },
  'a pod that crashed once, and one whose image came late': {
    'kube_pod_container_status_waiting_reason{namespace="ledger", pod="tallystick-worker-7d9-y", container="worker", reason="CrashLoopBackOff"}':
      '_x50 1 1 stale _x400',
    'kube_pod_container_status_waiting_reason{namespace="ledger", pod="tallystick-api-7d9-z", container="api", reason="ContainerCreating"}':
      '_x50 1x8 stale _x400',
    'kube_pod_container_status_waiting_reason{namespace="ledger", pod="tallystick-api-7d9-z", container="api", reason="ErrImagePull"}':
      '_x59 1 stale _x400',
    'kube_pod_container_status_running{namespace="ledger", pod="tallystick-api-7d9-z", container="api"}':
      '_x50 0x9 1x400',
  },
}

function each(metric: string, label: string, values: readonly string[], labels: string): Series {
  return Object.fromEntries(values.map((value) => [`${metric}{${label}="${value}", ${labels}}`, flat(0)]))
}
