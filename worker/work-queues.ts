import { setTimeout as sleep } from 'node:timers/promises'
import type { JobResult, JobWithMetadata, PgBoss } from 'pg-boss'
import type { Logger } from 'pino'
import type { DatabaseOrUrl } from '../src/db/connect/connection.ts'
import { type DatabasePool, openJobPool } from '../src/db/connect/pools.ts'
import { openJobs } from '../src/db/jobs/job-queues.ts'
import type { JobResult as JobEnd, JobObserver } from '../src/db/jobs/metrics.ts'
import { PAYLOADS, type Payload, type QueueName } from '../src/db/jobs/queues.ts'
import { SchemaBehindError } from '../src/db/schema/schema-behind.ts'
import { JOB_POLL_SECONDS } from '../src/followers/limits.ts'

export type QueueWork<Q extends QueueName = QueueName> = {
  readonly queue: Q
  /** Cron schedule in UTC that enqueues a job. Without it the queue has no schedule. */
  readonly cron?: string
} & ((Concurrency & (SingleWork<Q> | BatchWork<Q>)) | SlotWork<Q>)

/** Maximum number of jobs, or of batches, that run at the same time. */
type Concurrency = { readonly concurrency: number }

type SingleWork<Q extends QueueName> = {
  readonly handle: (payload: Payload<Q>, job: HandledJob) => Promise<unknown>
}

/**
 * Work for many small jobs. `handleBatch` returns one outcome for each job, in order. If it throws, all jobs of the
 * batch have failed.
 */
type BatchWork<Q extends QueueName> = {
  readonly batchSize: number
  readonly handleBatch: (payloads: readonly Payload<Q>[]) => Promise<readonly JobOutcome[]>
}

/**
 * Work for jobs that mostly wait. Hundreds of jobs run at the same time, and each ends separately. (Hundreds of pg-boss
 * workers would each poll every second.) A job also ends if its handler throws. If needed, the process that enqueued
 * the job makes a new job.
 */
type SlotWork<Q extends QueueName> = {
  readonly slots: number
  readonly handleInSlot: (payload: Payload<Q>, jobId: string) => Promise<unknown>
}

/**
 * Outcome of a job. A job with `failed` is retried by the queue's rules. A job with `deadletter` is given up at once.
 */
export type JobOutcome =
  | { readonly status: 'completed' }
  | { readonly status: 'failed' | 'deadletter'; readonly error: Error }

type JobObservers = { readonly log: Logger; readonly observe: JobObserver }

type HandledJob = { readonly id: string; readonly signal: AbortSignal }

/**
 * Maximum time in ms that running jobs get when the worker stops. It is shorter than the time that the process gets.
 * Another worker handles unfinished jobs again.
 */
const STOP_MS_MAX = 10_000
const ERROR_EVERY_MS = 30_000

/**
 * Makes the compiler check that a row's handler fits its queue's payload. Returns the row without the payload's type.
 */
export function queueWork<Q extends QueueName>(work: QueueWork<Q>): QueueWork {
  return work as unknown as QueueWork
}

type Queues = { readonly boss: PgBoss; readonly pool: DatabasePool; close(): Promise<void> }

/**
 * Connects to the queues. An error that occurs between jobs, such as a missing database, is logged, and pg-boss
 * retries.
 */
export async function openQueues(database: DatabaseOrUrl, log: Logger): Promise<Queues> {
  const pool = openJobPool(database, log)
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
    // The error means that pg-boss lacks tables or columns. `migrate` creates them.
    throw error instanceof Error && error.message.startsWith('pg-boss')
      ? new SchemaBehindError(error.message)
      : error
  }
  return { boss, pool, close }
}

/**
 * Wraps a log function so that it logs at most once in ERROR_EVERY_MS. Without a database every queue reports an
 * error every second.
 */
function sparingly(say: (error: Error) => void): (error: Error) => void {
  let quietUntilMs = 0
  return (error) => {
    if (performance.now() < quietUntilMs) return
    quietUntilMs = performance.now() + ERROR_EVERY_MS
    say(error)
  }
}

/**
 * Starts work on the queues. Returns a function for each queue that wakes the queue's handlers. Handlers poll once a
 * second, and when they are woken, until `signal` aborts.
 */
export async function workQueues(
  boss: PgBoss,
  rows: readonly QueueWork[],
  { log, signal, observe }: JobObservers & { readonly signal: AbortSignal },
): Promise<ReadonlyMap<QueueName, () => void>> {
  const wakers = new Map<QueueName, () => void>()
  for (const row of rows) {
    if (row.cron !== undefined) await boss.schedule(row.queue, row.cron, {}, { tz: 'UTC' })
    if ('slots' in row) {
      wakers.set(row.queue, workInSlots(boss, row, { log, signal, observe }))
    } else {
      const worker =
        'handleBatch' in row
          ? await workInBatches(boss, row, { log, observe })
          : await workOneByOne(boss, row, { log, observe })
      wakers.set(row.queue, () => boss.notifyWorker(worker))
    }
  }
  return wakers
}

/**
 * Works on a queue until `signal` aborts. Then the handlers end their running jobs. Returns a function that wakes the
 * queue's work.
 */
function workInSlots(
  boss: PgBoss,
  { queue, slots, handleInSlot }: QueueWork & SlotWork<QueueName>,
  { log, signal, observe }: JobObservers & { readonly signal: AbortSignal },
): () => void {
  let free = slots
  let done: string[] = []
  let wake = () => {}
  const settle = async (job: JobWithMetadata<unknown>) => {
    const startedAt = performance.now()
    try {
      await handleInSlot(PAYLOADS[queue].parse(job.data) as Payload<QueueName>, job.id)
      observe(queue, ['completed'], performance.now() - startedAt)
    } catch (error) {
      observe(queue, ['dead'], performance.now() - startedAt)
      log.warn({ err: error, queue, job: job.id, payload: job.data }, 'a job failed')
    }
    done.push(job.id)
    free++
    wake()
  }
  const round = async () => {
    // Ended jobs are deleted instead of completed. Nobody reads a completed job, and Postgres would have to read and
    // write it once more before its deletion. If a deletion fails, the next round repeats it, because a job that stays
    // would run again after its time limit.
    const ended = [...done]
    if (ended.length > 0) await boss.deleteJob(queue, ended)
    done = done.slice(ended.length)
    if (free === 0) return
    const jobs = await boss.fetch<unknown>(queue, { batchSize: free, includeMetadata: true })
    free -= jobs.length
    for (const job of jobs) void settle(job)
  }
  const work = async () => {
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      await round().catch((error: unknown) => boss.emit('error', error as Error))
      const timer = new AbortController()
      const options = { signal: AbortSignal.any([signal, timer.signal]) }
      await Promise.race([woken, sleep(JOB_POLL_SECONDS * 1_000, undefined, options).catch(() => {})])
      timer.abort()
    }
  }
  void work()
  return () => wake()
}

function workOneByOne(
  boss: PgBoss,
  row: QueueWork & Concurrency & SingleWork<QueueName>,
  observers: JobObservers,
): Promise<string> {
  return boss.work(
    row.queue,
    { localConcurrency: row.concurrency, includeMetadata: true, pollingIntervalSeconds: JOB_POLL_SECONDS },
    async ([job]) => {
      await handleJob(row, job!, observers)
    },
  )
}

/** Works on a queue in batches. After a full batch the next batch starts without a pause. */
function workInBatches(
  boss: PgBoss,
  row: QueueWork & Concurrency & BatchWork<QueueName>,
  observers: JobObservers,
): Promise<string> {
  return boss.work(
    row.queue,
    {
      localConcurrency: row.concurrency,
      includeMetadata: true,
      pollingIntervalSeconds: JOB_POLL_SECONDS,
      batchSize: row.batchSize,
      burstWhenBatchFull: true,
      perJobResults: true,
    },
    (jobs) => handleJobs(row, jobs, observers),
  )
}

/** Handles a batch with a separate outcome for each job, so that one bad job fails alone. */
async function handleJobs(
  { queue, handleBatch }: QueueWork & BatchWork<QueueName>,
  jobs: readonly JobWithMetadata<unknown>[],
  { log, observe }: JobObservers,
): Promise<JobResult[]> {
  const startedAt = performance.now()
  let outcomes: readonly JobOutcome[]
  try {
    outcomes = await handleBatch(jobs.map(({ data }) => PAYLOADS[queue].parse(data) as Payload<QueueName>))
  } catch (error) {
    observe(queue, jobs.map(failureOf), performance.now() - startedAt)
    log.warn({ err: error, queue, jobs: jobs.length }, 'a batch of jobs failed')
    return jobs.map(({ id }) => ({ id, status: 'failed', output: error }))
  }
  const results = jobs.map((job, i) => resultOf(job, outcomes[i]!))
  observe(queue, results, performance.now() - startedAt)
  return jobs.map((job, i) => {
    const outcome = outcomes[i]!
    if (outcome.status === 'completed') return { id: job.id, status: 'completed' }
    const details = { err: outcome.error, queue, job: job.id, payload: job.data }
    if (outcome.status === 'deadletter') log.error(details, 'a job was given up: it is now a dead letter')
    else log.warn({ ...details, attempt: attemptOf(job) }, 'a job failed')
    return { id: job.id, status: outcome.status, output: outcome.error }
  })
}

function resultOf(job: JobWithMetadata<unknown>, { status }: JobOutcome): JobEnd {
  if (status === 'completed') return 'completed'
  return status === 'deadletter' ? 'dead' : failureOf(job)
}

/** Returns the outcome of a failed job. After its last attempt the job becomes a dead letter. */
function failureOf({ retryCount, retryLimit }: JobWithMetadata<unknown>): JobEnd {
  return retryCount < retryLimit ? 'failed' : 'dead'
}

function attemptOf({ retryCount, retryLimit }: JobWithMetadata<unknown>): string {
  return `${retryCount + 1} of ${retryLimit + 1}`
}

/**
 * Handles a job. If the handler throws, pg-boss retries the job by the queue's rules. After the last attempt the job
 * becomes a dead letter.
 */
async function handleJob(
  { queue, handle }: QueueWork & SingleWork<QueueName>,
  job: JobWithMetadata<unknown>,
  { log, observe }: JobObservers,
): Promise<void> {
  const startedAt = performance.now()
  try {
    const payload = PAYLOADS[queue].parse(job.data) as Payload<QueueName>
    await handle(payload, job)
    observe(queue, ['completed'], performance.now() - startedAt)
  } catch (error) {
    observe(queue, [failureOf(job)], performance.now() - startedAt)
    log.warn({ err: error, queue, job: job.id, attempt: attemptOf(job) }, 'a job failed')
    throw error
  }
}
