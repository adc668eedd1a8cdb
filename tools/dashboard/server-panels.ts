import type { Row } from './panels.ts'
import { each, IN, most, quantile, quantiles, rate } from './selectors.ts'

const FAILURES = 'code=~"unavailable|outcome_unknown|clock_skew|internal_error|integrity_fault"'
const REQUESTS = 'tallystick_http_request_duration_seconds'
const SINGLE = 'method="POST", route="/v1/records"'
const BATCH = 'method="POST", route="/v1/records/batch"'

export const SERVER_ROWS: readonly Row[] = [
  {
    title: 'At a glance',
    height: 4,
    panels: [
      {
        type: 'stat',
        title: 'Servers and workers',
        description: 'Processes that Prometheus sees. Normal: as many as you run.',
        unit: 'short',
        runbook: 'absent.md',
        width: 4,
        queries: [
          [`count(tallystick_http_requests_under_way{${IN}})`, 'servers'],
          [`count(tallystick_follower_rounds_total{follower="checkpoints", result="ok", ${IN}})`, 'workers'],
        ],
      },
      {
        type: 'stat',
        title: 'Records',
        description: 'Records a second in batches that were committed or tried.',
        unit: 'cps',
        width: 4,
        queries: [[rate('tallystick_append_records_total'), '']],
      },
      {
        type: 'stat',
        title: 'Failing requests',
        description: 'Share of the requests that failed because of the servers or the database. Normal: 0.',
        unit: 'percentunit',
        warnAbove: 0.001,
        runbook: 'requests-fail.md',
        width: 4,
        queries: [
          [`${rate('tallystick_http_problems_total', '', FAILURES)} / ${rate(`${REQUESTS}_count`)}`, ''],
        ],
      },
      {
        type: 'stat',
        title: 'Ledgers with a fault',
        description: 'Ledgers that do not verify. Normal: 0, always.',
        unit: 'short',
        warnAbove: 1,
        runbook: 'ledger-fault.md',
        width: 4,
        queries: [[most('tallystick_ledger_faults'), '']],
      },
      {
        type: 'stat',
        title: 'Waits for a checkpoint',
        description: 'Age of the oldest entry that no checkpoint covers. Normal: a second or two.',
        unit: 's',
        warnAbove: 60,
        runbook: 'no-checkpoints.md',
        width: 4,
        queries: [[most('tallystick_checkpoint_lag_seconds'), '']],
      },
      {
        type: 'stat',
        title: 'Dead letters',
        description: 'Jobs that were given up, until an operator puts them back. Normal: 0.',
        unit: 'short',
        warnAbove: 1,
        runbook: 'dead-letters.md',
        width: 4,
        queries: [[`sum(${most('tallystick_dead_letters', 'queue')})`, '']],
      },
    ],
  },
  {
    title: 'Requests',
    height: 8,
    panels: [
      {
        title: 'Requests, by route',
        description:
          'Answered requests a second. What was refused before it was looked at is in another panel.',
        unit: 'reqps',
        width: 12,
        queries: [[rate(`${REQUESTS}_count`, 'method, route'), '{{method}} {{route}}']],
      },
      {
        title: 'One record: latency',
        description:
          'POST /v1/records, from its headers to the last byte of the answer. Normal: a p99 of 10 to 100 ms.',
        unit: 's',
        warnAbove: 1,
        runbook: 'writes-slow.md',
        width: 6,
        queries: quantiles(REQUESTS, SINGLE),
      },
      {
        title: 'Batches: latency',
        description: 'POST /v1/records/batch. Normal: a p99 of 50 to 500 ms for 1,000 records.',
        unit: 's',
        warnAbove: 1,
        runbook: 'writes-slow.md',
        width: 6,
        queries: quantiles(REQUESTS, BATCH),
      },
      {
        title: 'Failures, by code',
        description:
          'Answers that are the servers’ or the database’s fault. Normal: none; some in a failover.',
        unit: 'reqps',
        runbook: 'requests-fail.md',
        width: 8,
        queries: [[rate('tallystick_http_problems_total', 'code', FAILURES), '{{code}}']],
      },
      {
        title: 'Refused for load',
        description: 'Requests that were refused at once, and those that found something full. Normal: none.',
        unit: 'reqps',
        runbook: 'requests-refused.md',
        width: 8,
        queries: [
          [rate('tallystick_http_requests_refused_total'), 'refused at the door'],
          [rate('tallystick_http_problems_total', '', 'code="overloaded"'), 'overloaded'],
          [rate('tallystick_http_problems_total', '', 'code="rate_limited"'), 'rate limited'],
        ],
      },
      {
        title: 'What clients do wrong, by code',
        description:
          'All other problem documents (4xx), and requests whose client went away before the answer.',
        unit: 'reqps',
        width: 8,
        queries: [
          [
            `${rate('tallystick_http_problems_total', 'code', 'code!~"unavailable|outcome_unknown|clock_skew|internal_error|integrity_fault|overloaded|rate_limited"')} > 0`,
            '{{code}}',
          ],
          [rate('tallystick_http_requests_aborted_total'), 'aborted'],
        ],
      },
      {
        title: 'Under way',
        description: 'Requests that a server works at. Beyond 256 all but bursts are refused.',
        unit: 'short',
        warnAbove: 256,
        runbook: 'requests-refused.md',
        width: 8,
        queries: [[each('tallystick_http_requests_under_way'), '{{instance}}']],
      },
      {
        title: 'p99, by route',
        description:
          'The slowest of a hundred answers of each route. Exports and streams of events take as long as they last.',
        unit: 's',
        width: 8,
        queries: [[quantile(0.99, REQUESTS, 'method, route'), '{{method}} {{route}}']],
      },
      {
        title: 'Clients’ connections and streams',
        description:
          'Open connections, and streamed answers: entries and exports (32 at most), events (2,000 at most), of each server.',
        unit: 'short',
        width: 8,
        queries: [
          [each('tallystick_http_connections'), '{{instance}} connections'],
          [each('tallystick_streams'), '{{instance}} {{stream}}'],
        ],
      },
    ],
  },
  {
    title: 'Appending',
    height: 8,
    panels: [
      {
        title: 'Records and entries',
        description: 'Records a second, and the entries that hold them: a batch of records is one entry.',
        unit: 'cps',
        width: 8,
        queries: [
          [rate('tallystick_append_records_total'), 'records'],
          [rate('tallystick_append_outcomes_total', '', 'status="appended"'), 'entries'],
        ],
      },
      {
        title: 'Commit',
        description:
          'From sending a batch to Postgres to its commit. Its median is the disk’s and the replica’s: normal are 1 to 10 ms.',
        unit: 's',
        runbook: 'writes-slow.md',
        width: 8,
        queries: quantiles('tallystick_append_commit_duration_seconds'),
      },
      {
        title: 'Entries in a commit',
        description: 'How many share a commit: load makes it more, 512 at most.',
        unit: 'short',
        width: 8,
        queries: [
          [
            `${rate('tallystick_append_batch_entries_sum')} / ${rate('tallystick_append_batch_entries_count')}`,
            'mean',
          ],
          [quantile(0.99, 'tallystick_append_batch_entries'), 'p99'],
        ],
      },
      {
        title: 'How full the queue is',
        description:
          'The share of its places that is taken, by the fullest of its three limits. Normal: a few percent; full means 503.',
        unit: 'percentunit',
        max: 1,
        runbook: 'requests-refused.md',
        width: 8,
        queries: ['entries', 'records', 'bytes'].map((what) => [
          `max(${each(`tallystick_append_queue_${what}`)} / ${each(`tallystick_append_queue_${what}_max`)})`,
          what,
        ]),
      },
      {
        title: 'Oldest batch under way',
        description: 'Above 1 s: the database hangs, or somebody holds a ledger’s lock.',
        unit: 's',
        warnAbove: 1,
        runbook: 'no-database.md',
        width: 8,
        queries: [[each('tallystick_append_stalled_seconds'), '{{instance}}']],
      },
      {
        title: 'Appends that ended otherwise',
        description:
          'Entries by how their append ended, where that is not appended. Replayed and conflict are clients that repeat; refused has a reason.',
        unit: 'cps',
        width: 8,
        queries: [
          [`${rate('tallystick_append_outcomes_total', 'status', 'status!="appended"')} > 0`, '{{status}}'],
          [`${rate('tallystick_append_refusals_total', 'reason')} > 0`, 'refused: {{reason}}'],
        ],
      },
    ],
  },
]
