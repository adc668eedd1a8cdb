import type { Row } from './panels.ts'
import { each, IN, most, quantile, quantiles, rate } from './selectors.ts'

const FAILURES = 'code=~"unavailable|outcome_unknown|clock_skew|internal_error|integrity_fault"'
const REQUESTS = 'tallystick_http_request_duration_seconds'
/** Restricts metrics that every Node process has to those of the ledger. */
const OURS = `and on (namespace, job, instance) tallystick_build_info{${IN}}`

export const SERVER_ROWS: readonly Row[] = [
  {
    title: 'At a glance',
    panels: [
      {
        type: 'stat',
        title: 'Servers and workers',
        description: 'Processes that Prometheus sees. Normal: as many as you run.',
        unit: 'short',
        runbook: 'absent.md',
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
        queries: [[rate('tallystick_append_records_total'), '']],
      },
      {
        type: 'stat',
        title: 'Failing requests',
        description: 'Share of the requests that failed because of the servers or the database. Normal: 0.',
        unit: 'percentunit',
        warnAbove: 0.001,
        runbook: 'requests-fail.md',
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
        queries: [[most('tallystick_ledger_faults'), '']],
      },
      {
        type: 'stat',
        title: 'Waits for a checkpoint',
        description: 'Age of the oldest entry that no checkpoint covers. Normal: a second or two.',
        unit: 's',
        warnAbove: 60,
        runbook: 'no-checkpoints.md',
        queries: [[most('tallystick_checkpoint_lag_seconds'), '']],
      },
      {
        type: 'stat',
        title: 'Dead letters',
        description: 'Jobs that were given up, until an operator puts them back. Normal: 0.',
        unit: 'short',
        warnAbove: 1,
        runbook: 'dead-letters.md',
        queries: [[`sum(${most('tallystick_dead_letters', 'queue')})`, '']],
      },
    ],
  },
  {
    title: 'Requests',
    panels: [
      {
        title: 'Requests, by route',
        description:
          'Answered requests a second. What was refused before it was looked at is in another panel.',
        unit: 'reqps',
        queries: [[rate(`${REQUESTS}_count`, 'method, route'), '{{method}} {{route}}']],
      },
      {
        title: 'Latency of writes: p99',
        description:
          'From the headers to the last byte of the answer. Normal: 10 to 100 ms for one record, 50 to 500 ms for a batch of 1,000.',
        unit: 's',
        warnAbove: 1,
        runbook: 'writes-slow.md',
        queries: [
          [quantile(0.99, REQUESTS, '', 'method="POST", route="/v1/records"'), 'one record'],
          [quantile(0.99, REQUESTS, '', 'method="POST", route="/v1/records/batch"'), 'batch'],
        ],
      },
      {
        title: 'Failures, by code',
        description:
          'Answers that are the servers’ or the database’s fault. Normal: none; some in a failover.',
        unit: 'reqps',
        runbook: 'requests-fail.md',
        queries: [[rate('tallystick_http_problems_total', 'code', FAILURES), '{{code}}']],
      },
      {
        title: 'Refused for load',
        description: 'Requests that were refused at once, and those that found something full. Normal: none.',
        unit: 'reqps',
        runbook: 'requests-refused.md',
        queries: [
          [rate('tallystick_http_requests_refused_total'), 'refused at the door'],
          [rate('tallystick_http_held_refused_total', '', 'kind="writes"'), 'answers not taken'],
          [rate('tallystick_http_problems_total', '', 'code="overloaded"'), 'overloaded'],
          [rate('tallystick_http_problems_total', '', 'code="rate_limited"'), 'rate limited'],
        ],
      },
      {
        title: 'What clients do wrong, by code',
        description:
          'All other problem documents (4xx), and requests whose client went away before the answer.',
        unit: 'reqps',
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
        description:
          'Requests that a server works at. Beyond 256 writes, or as many reads and more (what it answers in a second), all but bursts are refused.',
        unit: 'short',
        warnAbove: 256,
        runbook: 'requests-refused.md',
        queries: [[each('tallystick_http_requests_under_way'), '{{instance}}']],
      },
    ],
  },
  {
    title: 'Reads',
    panels: [
      {
        title: 'Reads, by the server that answered',
        description:
          'fallback: the primary, where the replica was wanted. Without a replica all are the primary’s.',
        unit: 'reqps',
        runbook: 'requests-refused.md',
        queries: [[rate('tallystick_reads_total', 'source'), '{{source}}']],
      },
      {
        title: 'Reads that the replica did not answer',
        description:
          'behind: it lacked what the reader knows of; refused: its answer was an error, such as not_found. Others keep all reads from it.',
        unit: 'reqps',
        runbook: 'requests-refused.md',
        queries: [[`${rate('tallystick_replica_fallbacks_total', 'reason')} > 0`, '{{reason}}']],
      },
      {
        title: 'Lag of the replica',
        description:
          'Age of the first byte of the log that it lacks. None: it can’t be looked at, or there is none.',
        unit: 's',
        warnAbove: 10,
        runbook: 'no-database.md',
        queries: [[each('tallystick_replica_lag_seconds'), '{{instance}}']],
      },
    ],
  },
  {
    title: 'Appending',
    panels: [
      {
        title: 'Commit',
        description:
          'From sending a batch to Postgres to its commit. Its median is the disk’s and the replica’s: normal are 1 to 10 ms.',
        unit: 's',
        runbook: 'writes-slow.md',
        queries: quantiles('tallystick_append_commit_duration_seconds'),
      },
      {
        title: 'Waits, p99',
        description:
          'Before a request begins, and of an entry for its batch. The first is long where the server is busy, the second where the queue is.',
        unit: 's',
        runbook: 'writes-slow.md',
        queries: [
          ...quantiles('tallystick_http_begin_wait_duration_seconds')
            .slice(-1)
            .map(([query]) => [query, 'to begin'] as const),
          ...quantiles('tallystick_append_wait_duration_seconds')
            .slice(-1)
            .map(([query]) => [query, 'for a batch'] as const),
        ],
      },
      {
        title: 'How full the queue is',
        description:
          'The share of its places that is taken, by the fullest of its three limits. Normal: a few percent; full means 503.',
        unit: 'percentunit',
        max: 1,
        runbook: 'requests-refused.md',
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
        queries: [[each('tallystick_append_stalled_seconds'), '{{instance}}']],
      },
    ],
  },
]

/** Figures that servers and workers have alike. */
export const PROCESS_ROWS: readonly Row[] = [
  {
    title: 'Processes and their connections',
    panels: [
      {
        title: 'How much of a pool is used',
        description: 'Of each pool the fullest one. At 1 for minutes: queries are slow, or wait for a lock.',
        unit: 'percentunit',
        max: 1,
        runbook: 'no-database.md',
        queries: [
          [
            `max by (pool) (${each('tallystick_database_connections', 'state="used"')} / ignoring (state) ${each('tallystick_database_connections_max')})`,
            '{{pool}}',
          ],
        ],
      },
      {
        title: 'Connections that failed',
        description:
          'connect: could not be made; wait: none became free within 5 s; idle: broke while nobody used it, as in a failover.',
        unit: 'cps',
        runbook: 'no-database.md',
        queries: [
          [
            `${rate('tallystick_database_connection_failures_total', 'pool, failure')} > 0`,
            '{{pool}} {{failure}}',
          ],
        ],
      },
      {
        title: 'Processor',
        description:
          'Cores that a process uses. The thread that serves everybody has one: near 1 a server is full.',
        unit: 'short',
        runbook: 'requests-refused.md',
        queries: [[`rate(${each('process_cpu_seconds_total')}[$__rate_interval]) ${OURS}`, '{{instance}}']],
      },
      {
        title: 'Memory',
        description:
          'Memory that a process holds. Normal: 200 to 500 MiB; it grows with load and comes to rest.',
        unit: 'bytes',
        runbook: 'restarts.md',
        queries: [[`${each('process_resident_memory_bytes')} ${OURS}`, '{{instance}}']],
      },
      {
        title: 'Event loop',
        description: 'How late the thread is, p99. Above 0.5 s something takes it from everybody.',
        unit: 's',
        warnAbove: 0.5,
        runbook: 'writes-slow.md',
        queries: [[`${each('nodejs_eventloop_lag_p99_seconds')} ${OURS}`, '{{instance}}']],
      },
    ],
  },
]
