import type { Row } from './panels.ts'
import { each, IN, rate } from './selectors.ts'

/** Metrics that every Node process has, of ours. */
const OURS = `and on (namespace, job, instance) tallystick_build_info{${IN}}`

export const PROCESS_ROWS: readonly Row[] = [
  {
    title: 'Database connections',
    height: 8,
    panels: [
      {
        title: 'How much of a pool is used',
        description: 'Of each pool the fullest one. At 1 for minutes: queries are slow, or wait for a lock.',
        unit: 'percentunit',
        max: 1,
        runbook: 'no-database.md',
        width: 8,
        queries: [
          [
            `max by (pool) (${each('tallystick_database_connections', 'state="used"')} / ignoring (state) ${each('tallystick_database_connections_max')})`,
            '{{pool}}',
          ],
        ],
      },
      {
        title: 'Who waits for a connection',
        description: 'Normal: nobody for long.',
        unit: 'short',
        runbook: 'no-database.md',
        width: 8,
        queries: [[`sum by (pool) (${each('tallystick_database_waiting')})`, '{{pool}}']],
      },
      {
        title: 'Connections that failed',
        description:
          'connect: could not be made; wait: none became free within 5 s; idle: broke while nobody used it, as in a failover.',
        unit: 'cps',
        runbook: 'no-database.md',
        width: 8,
        queries: [
          [
            `${rate('tallystick_database_connection_failures_total', 'pool, failure')} > 0`,
            '{{pool}} {{failure}}',
          ],
        ],
      },
    ],
  },
  {
    title: 'Processes',
    height: 8,
    panels: [
      {
        title: 'Processor',
        description:
          'Cores that a process uses. The thread that serves everybody has one: near 1 a server is full.',
        unit: 'short',
        runbook: 'requests-refused.md',
        width: 8,
        queries: [[`rate(${each('process_cpu_seconds_total')}[$__rate_interval]) ${OURS}`, '{{instance}}']],
      },
      {
        title: 'Memory',
        description:
          'Memory that a process holds. Normal: 200 to 500 MiB; it grows with load and comes to rest.',
        unit: 'bytes',
        runbook: 'restarts.md',
        width: 8,
        queries: [[`${each('process_resident_memory_bytes')} ${OURS}`, '{{instance}}']],
      },
      {
        title: 'Event loop',
        description: 'How late the thread is, p99. Above 0.5 s something takes it from everybody.',
        unit: 's',
        warnAbove: 0.5,
        runbook: 'writes-slow.md',
        width: 8,
        queries: [[`${each('nodejs_eventloop_lag_p99_seconds')} ${OURS}`, '{{instance}}']],
      },
      {
        title: 'Garbage collection',
        description: 'Share of the time. Normal: under a tenth.',
        unit: 'percentunit',
        width: 6,
        queries: [
          [
            `sum by (instance) (rate(${each('nodejs_gc_duration_seconds_sum')}[$__rate_interval]) ${OURS})`,
            '{{instance}}',
          ],
        ],
      },
      {
        title: 'Time for types',
        description:
          'Share of the thread that compiling and validating took. One ledger gets a tenth at most.',
        unit: 'percentunit',
        width: 6,
        queries: [
          [
            `rate(${each('tallystick_schema_work_seconds_total')}[$__rate_interval])`,
            '{{instance}} {{part}}',
          ],
        ],
      },
      {
        title: 'Open files and connections',
        description: 'Of those that a process may have. Near 1 connections are refused.',
        unit: 'percentunit',
        max: 1,
        width: 6,
        queries: [[`${each('process_open_fds')} / ${each('process_max_fds')} ${OURS}`, '{{instance}}']],
      },
      {
        title: 'Age',
        description: 'How long each process has run, and which version it is. It falls to 0 at a restart.',
        unit: 's',
        runbook: 'restarts.md',
        width: 6,
        queries: [
          [
            `(time() - ${each('process_start_time_seconds')}) * on (namespace, job, instance) group_left (version) tallystick_build_info{${IN}}`,
            '{{instance}} {{version}}',
          ],
        ],
      },
    ],
  },
]
