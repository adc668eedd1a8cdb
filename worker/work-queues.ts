import type pg from 'pg'
import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import { openJobs } from '../src/db/job-queues.ts'
import { openJobPool } from '../src/db/pools.ts'
import { PAYLOADS, type Payload, QUEUES, type QueueName } from '../src/jobs/queues.ts'
import { JOB_POLL_SECONDS } from '../src/limits.ts'

/** A queue that somebody works on: one job at a time each of `concurrency`. */
export type QueueWork<Q extends QueueName = QueueName> = {
  readonly queue: Q
  readonly concurrency: number
  /** When the clock enqueues a job, in UTC; absent: never. */
  readonly cron?: string
  readonly handle: (payload: Payload<Q>, job: HandledJob) => Promise<unknown>
}

export type HandledJob = { readonly id: string; readonly signal: AbortSignal }

/** Jobs that are at work have so long to end, less than a process has; those that have not are taken up again elsewhere. */
const STOP_MS_MAX = 10_000
const ERROR_EVERY_MS = 30_000

/** So that one row of the table can't take another queue's payload. */
export function queueWork<Q extends QueueName>(work: QueueWork<Q>): QueueWork {
  return work as unknown as QueueWork
}

export type Queues = { readonly boss: PgBoss; readonly pool: pg.Pool; close(): Promise<void> }

/** Connects to the queues. What goes wrong between jobs (the database is away) is logged, and tried again by pg-boss. */
export async function openQueues(url: string, log: Logger): Promise<Queues> {
  const pool = openJobPool(url, log)
  const boss = openJobs(pool, { schedule: true, supervise: true })
  boss.on(
    'error',
    sparingly((error: Error) => log.error({ err: error }, 'the job queues failed')),
  )
  boss.on('warning', ({ message, data }) => log.warn({ data }, `job queues: ${message}`))
  const close = async () => {
    await boss.stop({ timeout: STOP_MS_MAX })
    await pool.end()
  }
  try {
    await boss.start()
  } catch (error) {
    await close()
    // What pg-boss misses, migrate makes.
    throw error instanceof Error && error.message.startsWith('pg-boss')
      ? new Error(`${error.message}: run \`npm run migrate\` first`)
      : error
  }
  return { boss, pool, close }
}

/** While the database is away every queue says so every second. */
function sparingly(say: (error: Error) => void): (error: Error) => void {
  let quietUntilMs = 0
  return (error) => {
    if (performance.now() < quietUntilMs) return
    quietUntilMs = performance.now() + ERROR_EVERY_MS
    say(error)
  }
}

export async function workQueues(boss: PgBoss, rows: readonly QueueWork[], log: Logger): Promise<void> {
  for (const row of rows) {
    if (row.cron !== undefined) await boss.schedule(row.queue, row.cron, {}, { tz: 'UTC' })
    await boss.work(
      row.queue,
      { localConcurrency: row.concurrency, includeMetadata: true, pollingIntervalSeconds: JOB_POLL_SECONDS },
      async ([job]) => {
        await handleJob(row, job!, log)
      },
    )
  }
}

/** What throws is retried by pg-boss, as the queue's rules say, and in the end becomes a dead letter. */
async function handleJob(
  { queue, handle }: QueueWork,
  job: JobWithMetadata<unknown>,
  log: Logger,
): Promise<void> {
  try {
    const payload = PAYLOADS[queue].parse(job.data) as Payload<QueueName>
    await handle(payload, job)
  } catch (error) {
    const attempt = `${job.retryCount + 1} of ${QUEUES[queue].retryLimit + 1}`
    log.warn({ err: error, queue, job: job.id, attempt }, 'a job failed')
    throw error
  }
}
