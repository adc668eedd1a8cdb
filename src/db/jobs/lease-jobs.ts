import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { withPooledTransaction } from '../connect/transaction.ts'
import { asJobsDatabase } from './job-queues.ts'
import { hasWaiting, type Lease, type LeaseTable, takeLeases } from './leases.ts'
import type { Payload, QueueName } from './queues.ts'

export type LeaseJobs<Queue extends QueueName, L extends Lease> = {
  readonly table: LeaseTable
  readonly queue: Queue
  /** As many jobs wait to be taken at most. */
  readonly queuedMax: number
  readonly leaseMs: number
  readonly payloadOf: (lease: L) => Payload<Queue>
}

export type EnqueueDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  /** Wakes those of this process who send; the others look each second. */
  readonly wake: () => void
}

/**
 * One round: a job for each listener that has work and to which nobody sends, in the transaction that gives it the lease. Returns whether
 * more can follow at once.
 *
 * A job is a lease, not an event: ten million events that wait for a slow endpoint, or a peer that was away for a day, are a number in a
 * cursor, and take nothing from the others (docs/decisions/0012-webhooks-follow-the-chain.md).
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

/** How many wait to be taken, counted to `most`. A lease has one attempt, so none waits for another. */
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
