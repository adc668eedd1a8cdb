import type pg from 'pg'
import { Histogram } from 'prom-client'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { queryGauges } from '../../observe/metrics/query-gauges.ts'
import { readCounter, readingsOf, Tally } from '../../observe/metrics/readings.ts'
import { countDeadLetters, countJobs } from './job-queues.ts'
import { QUEUES, type QueueName } from './queues.ts'

/** Result of an attempt. After `failed`, the job will be tried again. After `dead`, the job was given up. */
export type JobResult = 'completed' | 'failed' | 'dead'
/** Called with the results of one job or of one batch of jobs, and with their duration in ms. */
export type JobObserver = (queue: QueueName, results: readonly JobResult[], ms: number) => void

const RESULTS: readonly JobResult[] = ['completed', 'failed', 'dead']

export function makeJobObserver(metrics: Metrics): JobObserver {
  const tallies = new Map(Object.keys(QUEUES).map((queue) => [queue, new Tally(RESULTS)]))
  readCounter(
    metrics,
    {
      name: 'tallystick_job_attempts_total',
      help: 'Attempts of jobs by outcome; failed: to be tried again; dead: given up',
    },
    () =>
      [...tallies].flatMap(([queue, tally]) =>
        tally.readings('result').map(({ labels, value }) => ({ labels: { queue, ...labels }, value })),
      ),
  )
  const seconds = new Histogram({
    name: 'tallystick_job_duration_seconds',
    help: 'Duration of a job, or of a batch of jobs if its queue is processed in batches',
    labelNames: ['queue'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 5, 30, 300, 3_600],
    registers: [metrics.registry],
  })
  return (queue, results, ms) => {
    for (const result of results) tallies.get(queue)!.add(result)
    seconds.observe({ queue }, ms / 1_000)
  }
}

export function watchJobs(metrics: Metrics, pool: pg.Pool): void {
  queryGauges(metrics, () => countJobs(pool), [
    {
      name: 'tallystick_jobs',
      help: 'Jobs by state: waiting for the first attempt, waiting for a retry, running',
      read: (depths) =>
        depths.flatMap(({ queue, ...depth }) =>
          (['waiting', 'retrying', 'working'] as const).map((state) => ({
            labels: { queue, state },
            value: depth[state],
          })),
        ),
    },
    {
      name: 'tallystick_jobs_oldest_waiting_seconds',
      help: 'How long the oldest job that is due has waited; 0: none',
      read: (depths) =>
        depths.map(({ queue, oldestSeconds }) => ({ labels: { queue }, value: oldestSeconds })),
    },
  ])
  queryGauges(metrics, () => countDeadLetters(pool), [
    {
      name: 'tallystick_dead_letters',
      help: 'Jobs that were given up and not put back, by queue',
      read: (counts) => readingsOf('queue', counts),
    },
  ])
}
