/** Series in promtool's notation: `0+60x30` begins at 0 and grows by 60 a minute, for 30 minutes. */
type Series = Readonly<Record<string, string>>

export type AlertCase = {
  readonly alert: string
  readonly severity: 'page' | 'ticket'
  /** In place of those of a healthy installation with the same names; the others are as they are there, but for `without`. */
  readonly series: Series
  /** With no others, because days of them take long. */
  readonly isAlone?: boolean
  /** Metrics that are not there. */
  readonly without?: readonly string[]
  readonly atMinute: number
  readonly labels?: Readonly<Record<string, string>>
  readonly description: string
}

const SERVER =
  'namespace="ledger", job="tallystick-metrics", pod="tallystick-api-0", instance="10.0.0.1:9464"'
const WORKER =
  'namespace="ledger", job="tallystick-metrics", pod="tallystick-worker-0", instance="10.0.0.2:9464"'
const SINGLE = 'method="POST", route="/v1/records", status="201"'
const MINUTES = 500
const flat = (value: number) => `${value}+0x${MINUTES}`
const growing = (perMinute: number) => `0+${perMinute}x${MINUTES}`
/** A timestamp that follows the clock, which begins at 0. */
const follows = `0+60x${MINUTES}`
/** One that follows it every 50 minutes. */
const each50Minutes = Array.from({ length: MINUTES / 50 }, (_, i) => `${i * 3_000}+0x49`).join(' ')

/** A server and a worker that have enough to do: no alert may fire. */
export const HEALTHY: Series = {
  [`tallystick_build_info{version="0.1.0", ${SERVER}}`]: flat(1),
  [`tallystick_build_info{version="0.1.0", ${WORKER}}`]: flat(1),
  [`process_start_time_seconds{${SERVER}}`]: flat(0),
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
  [`tallystick_key_rotation_pending_ledgers{${WORKER}}`]: `0 90 40 0+0x${MINUTES}`,
  [`tallystick_webhook_endpoints{state="active", ${WORKER}}`]: flat(3),
  ...each('tallystick_webhook_endpoints', 'state', ['paused', 'disabled'], WORKER),
  [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(1),
  [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(1),
  [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: flat(1),
  [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: growing(60),
  [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: growing(6),
  [`tallystick_webhook_attempts_total{outcome="dead", ${WORKER}}`]: flat(0),
  [`tallystick_webhook_attempt_failures_total{reason="5xx", ${WORKER}}`]: growing(6),
  [`tallystick_webhook_attempt_failures_total{reason="integrity_fault", ${WORKER}}`]: flat(0),
  [`tallystick_peers{state="active", ${WORKER}}`]: flat(3),
  [`tallystick_peers_behind{${WORKER}}`]: flat(2),
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

/** Healthy too, otherwise than that: nothing may fire either. */
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
    [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: flat(0.2),
    [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: flat(9),
  },
}

function each(metric: string, label: string, values: readonly string[], labels: string): Series {
  return Object.fromEntries(values.map((value) => [`${metric}{${label}="${value}", ${labels}}`, flat(0)]))
}

const page = { severity: 'page', atMinute: 100 } as const
const ticket = { severity: 'ticket', atMinute: 100 } as const
/** Once, at minute 90. */
const once = `0+0x89 1+0x${MINUTES}`

/** Alerts that must fire, and what they then say. */
export const CASES: readonly AlertCase[] = [
  {
    ...page,
    alert: 'TallystickLedgerFault',
    series: { [`tallystick_ledger_faults{${WORKER}}`]: flat(2) },
    description:
      '2 ledgers hold something that nobody signed, or lack something that was signed. They get no checkpoints, and no money moves in them, until an operator has looked.',
  },
  {
    ...page,
    alert: 'TallystickLedgerContradicted',
    series: { [`tallystick_contradicted_ledgers{finding="gone", ${WORKER}}`]: flat(1) },
    labels: { finding: 'gone' },
    description:
      '1 ledgers are gone: the database is older than the checkpoints that the worker has kept, or entries were taken away. A closed ledger refuses every write.',
  },
  ...(
    [
      ['completion', `tallystick_completions_verified_total{outcome="refused", ${WORKER}}`, once, '1'],
      ['expiry', `tallystick_expiries_refused{${WORKER}}`, flat(3), '3'],
      ['erasure', `tallystick_erasures_refused{${WORKER}}`, flat(1), '1'],
      [
        'delivery',
        `tallystick_webhook_attempt_failures_total{reason="integrity_fault", ${WORKER}}`,
        once,
        '1',
      ],
      ['request', `tallystick_http_problems_total{code="integrity_fault", ${SERVER}}`, once, '1'],
    ] as const
  ).map(([refused, name, values, value]) => ({
    ...page,
    alert: 'TallystickIntegrityRefused',
    series: { [name]: values },
    labels: { refused },
    description: `${value} of kind ${refused} were refused, because the rows contradict the signed entry that they come from.`,
  })),
  {
    ...page,
    alert: 'TallystickForeignAppend',
    series: { [`tallystick_append_refusals_total{reason="kind", ${SERVER}}`]: once },
    labels: { reason: 'kind' },
    description:
      'The database refused 1 entries (reason kind) that no server of this version makes: a bug, or a server that somebody has changed.',
  },
  {
    ...page,
    alert: 'TallystickRequestsFail',
    atMinute: 200,
    series: { [`tallystick_http_problems_total{code="unavailable", ${SERVER}}`]: `0+0x180 0+300x${MINUTES}` },
    labels: { window: '1h' },
    description: '1.583% of the requests of the last hour failed because of the servers or the database.',
  },
  {
    ...page,
    alert: 'TallystickRequestsFail',
    atMinute: 450,
    series: {
      [`tallystick_http_problems_total{code="outcome_unknown", ${SERVER}}`]: '0+0x400 0+360x43 15480+0x100',
    },
    labels: { window: '6h' },
    description:
      '0.7167% of the requests of the last six hours failed because of the servers or the database.',
  },
  {
    ...ticket,
    alert: 'TallystickRequestsFail',
    atMinute: 450,
    series: { [`tallystick_http_problems_total{code="clock_skew", ${SERVER}}`]: growing(12) },
    labels: { window: '3d' },
    description: '0.2% of the requests of the last three days failed because of the servers or the database.',
  },
  {
    ...page,
    alert: 'TallystickRequestsRefused',
    series: { [`tallystick_http_requests_refused_total{${SERVER}}`]: growing(2_000) },
    description:
      '25% of the requests get 503 overloaded: agents wait, and those that do not try again go on without a record.',
  },
  {
    ...page,
    alert: 'TallystickRequestsRefused',
    series: {
      [`tallystick_http_requests_refused_total{${SERVER}}`]: flat(0),
      [`tallystick_http_held_refused_total{kind="writes", ${SERVER}}`]: growing(2_000),
    },
    description:
      '25% of the requests get 503 overloaded: agents wait, and those that do not try again go on without a record.',
  },
  {
    ...ticket,
    alert: 'TallystickWritesSlow',
    series: {
      [`tallystick_http_request_duration_seconds_bucket{le="1", ${SINGLE}, ${SERVER}}`]: growing(5_000),
      [`tallystick_http_request_duration_seconds_bucket{le="0.1", ${SINGLE}, ${SERVER}}`]: growing(5_000),
      [`tallystick_http_request_duration_seconds_bucket{le="2.5", ${SINGLE}, ${SERVER}}`]: growing(6_000),
    },
    description: 'One of a hundred records or batches takes 2.41s or longer.',
  },
  {
    ...ticket,
    alert: 'TallystickInternalErrors',
    series: { [`tallystick_http_problems_total{code="internal_error", ${SERVER}}`]: once },
    description: '1 requests of the last hour were answered 500 internal_error.',
  },
  {
    ...ticket,
    alert: 'TallystickDatabaseErrors',
    series: { [`tallystick_database_unexpected_errors_total{pool="write", ${SERVER}}`]: once },
    labels: { pool: 'write' },
    description:
      'Pool write: 1 errors of the last hour are neither about data nor a passing state. Clients get 503 unavailable.',
  },
  {
    ...page,
    alert: 'TallystickNoDatabase',
    series: {
      [`tallystick_database_connection_failures_total{failure="connect", pool="read", ${SERVER}}`]:
        growing(60),
    },
    labels: { pool: 'read', failure: 'connect' },
    description: 'Pool read: 1 connections a second fail (connect). A failover is over before this alert.',
  },
  {
    ...page,
    alert: 'TallystickAbsent',
    series: {
      [`tallystick_build_info{version="0.1.0", ${SERVER}}`]: '1+0x80',
      [`tallystick_build_info{version="0.1.0", ${WORKER}}`]: '1+0x80',
      'tallystick_build_info{version="0.1.0", namespace="other", instance="10.0.0.7:9464"}': flat(1),
    },
    description:
      'Neither servers nor workers are seen (2 processes were). Either they are down, or Prometheus does not read them and no other alert can fire.',
  },
  // Five hours later nobody has found out yet, and it is not over.
  {
    ...page,
    alert: 'TallystickAbsent',
    series: {
      [`tallystick_build_info{version="0.1.0", ${SERVER}}`]: '1+0x80',
      [`tallystick_build_info{version="0.1.0", ${WORKER}}`]: '1+0x80',
      'tallystick_build_info{version="0.1.0", namespace="other", instance="10.0.0.7:9464"}': flat(1),
    },
    atMinute: 400,
    description:
      'Neither servers nor workers are seen (2 processes were). Either they are down, or Prometheus does not read them and no other alert can fire.',
  },
  {
    ...page,
    alert: 'TallystickNoServer',
    series: {},
    without: ['tallystick_http_requests_under_way'],
    description: '1 workers are seen, and no server: nobody can write or read.',
  },
  {
    ...page,
    alert: 'TallystickNoWorker',
    series: {},
    without: ['tallystick_checkpoint_lag_seconds'],
    description:
      '1 servers are seen, and no worker that reaches the database: nothing is proved, verified, delivered, expired or erased.',
  },
  {
    ...ticket,
    alert: 'TallystickRestarts',
    series: { [`process_start_time_seconds{${SERVER}}`]: '0+0x70 1000 2000 3000 4000 5000+0x500' },
    labels: { job: 'tallystick-metrics', pod: 'tallystick-api-0', instance: '10.0.0.1:9464' },
    description: 'tallystick-api-0 has started 5 times within an hour.',
  },
  {
    ...page,
    alert: 'TallystickNoCheckpoints',
    series: { [`tallystick_checkpoint_lag_seconds{${WORKER}}`]: flat(90) },
    description:
      'An entry has waited 1m 30s for a checkpoint; a second or two is usual. Proofs of new records are answered 409 checkpoint_pending.',
  },
  {
    ...page,
    alert: 'TallystickWorkStandsStill',
    series: {
      [`tallystick_follower_last_success_timestamp_seconds{follower="checkpoints", ${WORKER}}`]: flat(1_800),
    },
    labels: { follower: 'checkpoints' },
    description:
      'The last good round of checkpoints was 1970-01-01 00:30:00 +0000 UTC; there is one each second or so.',
  },
  {
    ...page,
    alert: 'TallystickWorkStandsStill',
    series: {
      [`tallystick_follower_rounds_total{follower="expiry", result="failed", ${WORKER}}`]: growing(2),
    },
    labels: { follower: 'expiry' },
    description: 'The last good round of expiry was never; there is one each second or so.',
  },
  {
    ...ticket,
    alert: 'TallystickWorkStandsStill',
    series: {
      [`tallystick_follower_last_success_timestamp_seconds{follower="release", ${WORKER}}`]: flat(1_800),
    },
    labels: { follower: 'release' },
    description:
      'The last good round of release was 1970-01-01 00:30:00 +0000 UTC; a round and the rest after it take minutes.',
  },
  {
    ...page,
    alert: 'TallystickCompletionsWait',
    series: { [`tallystick_completions_oldest_waiting_seconds{${WORKER}}`]: flat(45) },
    description:
      'The oldest completion has waited 45s: work was delivered, and nobody is told whether it is good.',
  },
  {
    ...ticket,
    alert: 'TallystickRecordsOverdue',
    series: { [`tallystick_records_overdue{${WORKER}}`]: flat(4) },
    description: '4 records are past their deadline, and are not expired.',
  },
  {
    ...ticket,
    alert: 'TallystickWitnessBehind',
    series: { [`tallystick_witness_waiting_seconds{witness="w1.example", ${WORKER}}`]: flat(900) },
    labels: { witness: 'w1.example' },
    description: 'w1.example has not cosigned the checkpoint of a ledger for 15m 0s.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_archive_faulty_ledgers{${WORKER}}`]: flat(2) },
    description:
      'A worker cannot write the next prefix of 2 ledgers to the archive, or take content out for it.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_archive_unreleased_ledgers{${WORKER}}`]: flat(3) },
    description:
      'A worker cannot write the next prefix of 3 ledgers to the archive, or take content out for it.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_http_problems_total{code="archive_unavailable", ${SERVER}}`]: growing(3) },
    labels: { operation: 'read' },
    description:
      '30 reads of the last ten minutes failed (503 archive_unavailable, or streams and webhooks that wait): what they need lies in the archive alone.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_archive_read_duration_seconds_count{outcome="faulty", ${SERVER}}`]: growing(12) },
    labels: { operation: 'read' },
    description:
      '120 reads of the last ten minutes failed (503 archive_unavailable, or streams and webhooks that wait): what they need lies in the archive alone.',
  },
  {
    ...ticket,
    alert: 'TallystickErasuresPending',
    series: { [`tallystick_erasures_pending{${WORKER}}`]: flat(7) },
    description: '7 documents are erased by an entry, shown to nobody, and still stored.',
  },
  {
    ...ticket,
    alert: 'TallystickRetentionFails',
    series: { [`tallystick_retention_failing_ledgers{${WORKER}}`]: flat(2) },
    description: 'Of 2 ledgers documents are kept for longer than their rules say.',
  },
  {
    ...ticket,
    alert: 'TallystickVerificationLags',
    series: { [`tallystick_entry_verification_lag_seconds{${WORKER}}`]: growing(30) },
    description: 'The oldest entry that is not verified yet is 50m 0s old, older than an hour ago.',
  },
  {
    ...ticket,
    alert: 'TallystickNoAudit',
    atMinute: 3_000,
    isAlone: true,
    series: {
      [`tallystick_entries_verified_total{${WORKER}}`]: '0+6000x3000',
      [`tallystick_audit_last_timestamp_seconds{result="good", ${WORKER}}`]: '3600+0x3000',
    },
    description: 'The last audit that found a ledger good is 2d 1h 0m 0s or longer ago, and ledgers grow.',
  },
  {
    ...ticket,
    alert: 'TallystickNoAudit',
    atMinute: 3_000,
    isAlone: true,
    series: { [`tallystick_entries_verified_total{${WORKER}}`]: '0+6000x3000' },
    description: 'The last audit that found a ledger good is 2d 0h 0m 0s or longer ago, and ledgers grow.',
  },
  {
    ...ticket,
    alert: 'TallystickDeadLetters',
    series: { [`tallystick_dead_letters{queue="audit", ${WORKER}}`]: flat(1) },
    labels: { queue: 'audit' },
    description: '1 jobs of the queue audit failed at every attempt, and wait for an operator.',
  },
  {
    ...ticket,
    alert: 'TallystickKeyRotationStuck',
    series: { [`tallystick_key_rotation_pending_ledgers{${WORKER}}`]: flat(2) },
    description: '2 ledgers still sign with an older envelope key; a rotation takes minutes.',
  },
  {
    ...page,
    alert: 'TallystickWebhooksNotDelivered',
    series: {
      [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(2),
      [`tallystick_webhook_cursor_lag_seconds{${WORKER}}`]: growing(60),
      [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
      [`tallystick_webhook_attempts_total{outcome="failed", ${WORKER}}`]: flat(9),
    },
    description: '2 endpoints wait for events, and none gets any.',
  },
  {
    ...page,
    alert: 'TallystickWebhooksNotDelivered',
    series: {
      [`tallystick_webhook_endpoints_behind{${WORKER}}`]: flat(3),
      [`tallystick_webhook_endpoints_failing{${WORKER}}`]: flat(3),
      [`tallystick_webhook_attempts_total{outcome="delivered", ${WORKER}}`]: flat(9),
    },
    description: '3 endpoints wait for events, and none gets any.',
  },
  {
    ...ticket,
    alert: 'TallystickWebhookDeliveriesDead',
    series: { [`tallystick_webhook_attempts_total{outcome="dead", ${WORKER}}`]: once },
    description: '1 deliveries of the last hour failed for the last time: a receiver has failed for a day.',
  },
  {
    ...ticket,
    alert: 'TallystickWebhookEndpointStopped',
    series: { [`tallystick_webhook_endpoints{state="disabled", ${WORKER}}`]: once },
    labels: { state: 'disabled' },
    description: '1 endpoints more than an hour ago are disabled.',
  },
  {
    ...page,
    alert: 'TallystickPeersNotDrained',
    series: {
      [`tallystick_peer_lag_seconds{state="active", ${WORKER}}`]: growing(60),
      [`tallystick_peer_request_duration_seconds_count{${WORKER}}`]: flat(9),
      [`tallystick_peer_entries_sent_total{outcome="received", ${WORKER}}`]: flat(9),
    },
    description:
      '2 peers wait for entries, and none gets any: what is shared with other organisations stands still.',
  },
  {
    ...page,
    alert: 'TallystickPeersNotDrained',
    series: {
      [`tallystick_peers_behind{${WORKER}}`]: flat(3),
      [`tallystick_peers_failing{${WORKER}}`]: flat(3),
      [`tallystick_peer_entries_sent_total{outcome="received", ${WORKER}}`]: flat(9),
    },
    description:
      '3 peers wait for entries, and none gets any: what is shared with other organisations stands still.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerFails',
    series: { [`tallystick_peers_failing_seconds{${WORKER}}`]: flat(5_400) },
    description: 'A peer has taken nothing for 1h 30m 0s.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerFull',
    series: { [`tallystick_peers_full{${WORKER}}`]: flat(1) },
    description:
      '1 peers have sent as much as they may have stored in a day: what more they say waits at their side.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerDeadLetters',
    series: { [`tallystick_peer_dead_letters{${WORKER}}`]: flat(2) },
    description: '2 entries were refused by peers, and what follows them in their records waits.',
  },
  {
    ...ticket,
    alert: 'TallystickPeerFork',
    series: { [`tallystick_peer_entries_refused_total{code="fork", ${SERVER}}`]: once },
    description: '1 entries of peers contradict an entry that is held in their place.',
  },
  // The Secret of a password is mounted: where it is not there, the container is not made.
  ...['CrashLoopBackOff', 'ContainerCreating'].map((reason) => ({
    ...ticket,
    alert: 'TallystickPodsFail',
    series: {
      [`kube_pod_container_status_waiting_reason{namespace="ledger", pod="tallystick-api-7d9-x", reason="${reason}"}`]:
        flat(1),
    },
    labels: { pod: 'tallystick-api-7d9-x', reason },
    description: `1 containers of tallystick-api-7d9-x have waited for more than ten minutes: ${reason}.`,
  })),
]
