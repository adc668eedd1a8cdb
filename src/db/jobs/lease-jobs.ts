import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { withPooledTransaction } from '../connect/transaction.ts'
import { asJobsDatabase } from './job-queues.ts'
import { hasWaiting, type Lease, type LeaseTable, takeLeases } from './leases.ts'
import type { Payload, QueueName } from './queues.ts'

export type LeaseJobs<Queue extends QueueName, L extends Lease> = {
  readonly table: LeaseTable
  readonly queue: Queue
  /** Maximum number of jobs of the queue that wait to start. */
  readonly queuedMax: number
  readonly leaseMs: number
  readonly payloadOf: (lease: L) => Payload<Queue>
}

export type EnqueueDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  /** Wakes the senders of this process. Senders of other processes poll once a second. */
  readonly wake: () => void
}

/**
 * Takes leases of listeners that have work and no lease, and creates a job for each lease in the same transaction.
 * Returns true if there may be more such listeners, so that the caller should call this again at once.
 *
 * There is one job for each lease, not one for each event. If ten million events wait for a slow endpoint, or for a
 * peer that was away for a day, they are only a number in a cursor. They do not delay other listeners
 * (docs/decisions/0012-webhook-delivery.md).
 */
export async function enqueueLeases<Queue extends QueueName, L extends Lease>(
  { pool, boss, wake }: EnqueueDeps,
  { table, queue, queuedMax, leaseMs, payloadOf }: LeaseJobs<Queue, L>,
): Promise<boolean> {
  if (!(await hasWaiting(pool, table))) return false
  const taken = await withPooledTransaction(pool, async (client) => {
    const limit = queuedMax - (await countQueued(client, queue, queuedMax))
    if (limit === 0) return 0
    const leases = await takeLeases<L>(client, table, { limit, leaseMs })
    if (leases.length === 0) return 0
    await boss.insert(
      queue,
      leases.map((lease) => ({ id: lease.jobId, data: payloadOf(lease) })),
      { db: asJobsDatabase(client) },
    )
    return leases.length
  })
  if (taken > 0) wake()
  return taken === queuedMax
}

/**
 * Counts the jobs that wait to start. Stops at `most`. None of them waits for a retry, because the job of a lease has a
 * single attempt.
 */
async function countQueued(client: pg.ClientBase, queue: QueueName, most: number): Promise<number> {
  const { rows } = await client.query<{ ready: number }>({
    name: 'count_queued_leases',
    text: `select count(*) as ready from (
      select from tallystick_jobs.job j where j.name = $1 and j.state < 'active' limit $2
    ) j`,
    values: [queue, most],
  })
  return rows[0]!.ready
}
