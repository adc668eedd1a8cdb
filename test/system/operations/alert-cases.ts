import { type AlertCase, once, page, ticket } from './alert-case.ts'
import { OUTSIDE_CASES } from './alert-cases-outside.ts'
import { flat, growing, MINUTES, SERVER, SINGLE, WORKER } from './healthy-series.ts'

const startsEach10Minutes = Array.from({ length: 40 }, (_, i) => `${(40 + i * 10) * 60}+0x9`).join(' ')

export const CASES: readonly AlertCase[] = [
  {
    ...page,
    alert: 'TallystickLedgerFault',
    series: { [`tallystick_ledger_faults{${WORKER}}`]: flat(2) },
    description:
      '2 ledgers contain something that nobody signed, or lack something that was signed. They get no checkpoints, and no money moves in them, until an operator clears the fault.',
  },
  {
    ...page,
    alert: 'TallystickLedgerContradicted',
    series: { [`tallystick_contradicted_ledgers{finding="gone", ${WORKER}}`]: flat(1) },
    labels: { finding: 'gone' },
    description:
      '1 ledgers are gone: the database is older than the checkpoints that the worker stored, or entries were removed. A closed ledger refuses every write.',
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
    description: `${value} of kind ${refused} were refused, because their rows contradict the signed entry.`,
  })),
  {
    ...page,
    alert: 'TallystickForeignAppend',
    series: { [`tallystick_append_refusals_total{reason="kind", ${SERVER}}`]: once },
    labels: { reason: 'kind' },
    description:
      'The database refused 1 entries (reason kind) that no server of this version makes: a bug, or a server that somebody changed.',
  },
  {
    ...page,
    alert: 'TallystickRequestsFail',
    atMinute: 200,
    series: { [`tallystick_http_problems_total{code="unavailable", ${SERVER}}`]: `0+0x180 0+300x${MINUTES}` },
    ripens: 18,
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
    ripens: 37,
    labels: { window: '6h' },
    description:
      '0.7167% of the requests of the last six hours failed because of the servers or the database.',
  },
  {
    ...ticket,
    alert: 'TallystickRequestsFail',
    atMinute: 450,
    series: { [`tallystick_http_problems_total{code="clock_skew", ${SERVER}}`]: growing(12) },
    ripens: 180,
    labels: { window: '3d' },
    description: '0.2% of the requests of the last three days failed because of the servers or the database.',
  },
  {
    ...page,
    alert: 'TallystickRequestsRefused',
    series: { [`tallystick_http_requests_refused_total{${SERVER}}`]: growing(2_000) },
    description:
      '25% of the requests get 503 overloaded: agents wait, and agents that do not retry continue without a record.',
  },
  {
    ...page,
    alert: 'TallystickRequestsRefused',
    series: {
      [`tallystick_http_requests_refused_total{${SERVER}}`]: flat(0),
      [`tallystick_http_held_refused_total{kind="writes", ${SERVER}}`]: growing(2_000),
    },
    description:
      '25% of the requests get 503 overloaded: agents wait, and agents that do not retry continue without a record.',
  },
  {
    ...ticket,
    alert: 'TallystickWritesSlow',
    series: {
      [`tallystick_http_request_duration_seconds_bucket{le="1", ${SINGLE}, ${SERVER}}`]: growing(5_000),
      [`tallystick_http_request_duration_seconds_bucket{le="0.1", ${SINGLE}, ${SERVER}}`]: growing(5_000),
      [`tallystick_http_request_duration_seconds_bucket{le="2.5", ${SINGLE}, ${SERVER}}`]: growing(6_000),
    },
    description: 'One in a hundred records or batches takes 2.41s or longer.',
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
      'Pool write: 1 errors of the last hour are neither about data nor temporary. Clients get 503 unavailable.',
  },
  {
    ...page,
    alert: 'TallystickNoDatabase',
    series: {
      [`tallystick_database_connection_failures_total{failure="connect", pool="read", ${SERVER}}`]:
        growing(60),
    },
    labels: { pool: 'read', failure: 'connect' },
    description: 'Pool read: 1 connections a second fail (connect). A failover ends before this alert fires.',
  },
  {
    ...page,
    alert: 'TallystickAbsent',
    series: {
      [`tallystick_build_info{version="0.1.0", ${SERVER}}`]: '1+0x80',
      [`tallystick_build_info{version="0.1.0", ${WORKER}}`]: '1+0x80',
    },
    description:
      'Prometheus sees no servers and no workers (within a day it saw 2 processes). Either they are down, or Prometheus does not read them, and then no other alert can fire.',
  },
  // The fault has lasted for five hours, and nobody has mended it.
  {
    ...page,
    alert: 'TallystickAbsent',
    series: {
      [`tallystick_build_info{version="0.1.0", ${SERVER}}`]: '1+0x80',
      [`tallystick_build_info{version="0.1.0", ${WORKER}}`]: '1+0x80',
    },
    atMinute: 400,
    description:
      'Prometheus sees no servers and no workers (within a day it saw 2 processes). Either they are down, or Prometheus does not read them, and then no other alert can fire.',
  },
  {
    ...page,
    alert: 'TallystickNoServer',
    series: {},
    without: ['tallystick_http_requests_under_way'],
    description: 'Prometheus sees 1 workers, but no server: nobody can write or read.',
  },
  {
    ...page,
    alert: 'TallystickNoWorker',
    series: {},
    without: ['tallystick_checkpoint_lag_seconds'],
    description:
      'Prometheus sees 1 servers, but no worker that reaches the database: nothing is proved, verified, delivered, expired or erased.',
  },
  {
    ...ticket,
    alert: 'TallystickRestarts',
    series: { [`process_start_time_seconds{${SERVER}}`]: `0+0x39 ${startsEach10Minutes}` },
    ripens: 50,
    labels: { job: 'tallystick-metrics', pod: 'tallystick-api-0', instance: '10.0.0.1:9464' },
    description: 'tallystick-api-0 has started 6 times within an hour.',
  },
  {
    ...page,
    alert: 'TallystickNoCheckpoints',
    series: { [`tallystick_checkpoint_lag_seconds{${WORKER}}`]: flat(90) },
    description:
      'An entry has waited 1m 30s for a checkpoint; one or two seconds are normal. Requests for proofs of new records get 409 checkpoint_pending.',
  },
  {
    ...page,
    alert: 'TallystickWorkStandsStill',
    series: {
      [`tallystick_follower_last_success_timestamp_seconds{follower="checkpoints", ${WORKER}}`]: flat(1_800),
    },
    labels: { follower: 'checkpoints' },
    description:
      'The last good round of checkpoints was 1970-01-01 00:30:00 +0000 UTC; normally there is one about every second.',
  },
  {
    ...page,
    alert: 'TallystickWorkStandsStill',
    series: {
      [`tallystick_follower_rounds_total{follower="expiry", result="failed", ${WORKER}}`]: growing(2),
      [`tallystick_follower_last_success_timestamp_seconds{follower="expiry", ${WORKER}}`]: '_',
    },
    labels: { follower: 'expiry' },
    description: 'The last good round of expiry was never; normally there is one about every second.',
  },
  {
    ...ticket,
    alert: 'TallystickWorkStandsStill',
    series: {
      [`tallystick_follower_last_success_timestamp_seconds{follower="release", ${WORKER}}`]: flat(1_800),
    },
    ripens: 31,
    labels: { follower: 'release' },
    description:
      'The last good round of release was 1970-01-01 00:30:00 +0000 UTC; normally a round and the pause after it take minutes.',
  },
  {
    ...page,
    alert: 'TallystickCompletionsWait',
    series: { [`tallystick_completions_oldest_waiting_seconds{${WORKER}}`]: flat(45) },
    description:
      'The oldest completion has waited 45s: work was delivered, but nobody gets the result of its verification.',
  },
  {
    ...ticket,
    alert: 'TallystickRecordsOverdue',
    series: { [`tallystick_records_overdue{${WORKER}}`]: flat(4) },
    description: '4 records are past their deadline, but have not expired.',
  },
  {
    ...ticket,
    alert: 'TallystickClockSkew',
    series: { [`tallystick_clock_skew_seconds{${WORKER}}`]: flat(-600) },
    labels: { job: 'tallystick-metrics', pod: 'tallystick-worker-0', instance: '10.0.0.2:9464' },
    description: "The clock of tallystick-worker-0 differs from the database's by 10m 0s.",
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
      'A worker cannot write the next prefix of 2 ledgers to the archive, or release their archived content from Postgres.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_archive_unreleased_ledgers{${WORKER}}`]: flat(3) },
    description:
      'A worker cannot write the next prefix of 3 ledgers to the archive, or release their archived content from Postgres.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_http_problems_total{code="archive_unavailable", ${SERVER}}`]: growing(3) },
    brief: 0,
    labels: { operation: 'read' },
    description:
      '30 reads of the last ten minutes failed (503 archive_unavailable, or streams and webhooks that wait): their content is only in the archive.',
  },
  {
    ...ticket,
    alert: 'TallystickArchiveFails',
    series: { [`tallystick_archive_read_duration_seconds_count{outcome="faulty", ${SERVER}}`]: growing(12) },
    brief: 0,
    labels: { operation: 'read' },
    description:
      '120 reads of the last ten minutes failed (503 archive_unavailable, or streams and webhooks that wait): their content is only in the archive.',
  },
  {
    ...ticket,
    alert: 'TallystickErasuresPending',
    series: { [`tallystick_erasures_pending{${WORKER}}`]: flat(7) },
    description: '7 documents are erased by an entry and no longer shown, but still stored.',
  },
  {
    ...ticket,
    alert: 'TallystickRetentionFails',
    series: { [`tallystick_retention_failing_ledgers{${WORKER}}`]: flat(2) },
    description: 'In 2 ledgers documents are stored for longer than their rules allow.',
  },
  {
    ...ticket,
    alert: 'TallystickVerificationLags',
    series: { [`tallystick_entry_verification_lag_seconds{${WORKER}}`]: growing(30) },
    ripens: 31,
    description: 'The oldest unverified entry is 50m 0s old, and its age grows.',
  },
  {
    ...ticket,
    alert: 'TallystickNoAudit',
    atMinute: 3_000,
    isAlone: true,
    ripens: 2_881,
    series: {
      [`tallystick_entries_verified_total{${WORKER}}`]: '0+6000x3000',
      [`tallystick_audit_last_timestamp_seconds{result="good", ${WORKER}}`]: '3600+0x3000',
    },
    description: 'The last audit without a fault was 2d 1h 0m 0s ago or earlier, and ledgers grow.',
  },
  {
    ...ticket,
    alert: 'TallystickNoAudit',
    atMinute: 3_000,
    isAlone: true,
    ripens: 2_881,
    series: { [`tallystick_entries_verified_total{${WORKER}}`]: '0+6000x3000' },
    description: 'The last audit without a fault was 2d 0h 0m 0s ago or earlier, and ledgers grow.',
  },
  {
    ...ticket,
    alert: 'TallystickDeadLetters',
    series: { [`tallystick_dead_letters{queue="audit", ${WORKER}}`]: flat(1) },
    labels: { queue: 'audit' },
    description: '1 jobs of the queue audit failed at every attempt, and are waiting for an operator.',
  },
  {
    ...ticket,
    alert: 'TallystickKeyRotationStuck',
    series: { [`tallystick_key_rotation_pending_ledgers{${WORKER}}`]: flat(2) },
    description: '2 ledgers still sign with an older envelope key; normally a rotation takes minutes.',
  },
  ...OUTSIDE_CASES,
]
