import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { withPooledTransaction } from '../connect/transaction.ts'
import { asJobsDatabase } from './job-queues.ts'
import type { Payload, QueueName } from './queues.ts'

/**
 * Work that is given by turns: a listener that has something to hear, and is served by nobody, gets a job: its turn, not an event. So
 * ten million events that wait are a number in a cursor.
 */
export type Turns<Queue extends QueueName, Turn extends { readonly jobId: string }> = {
  readonly queue: Queue
  /** As many jobs wait to be taken at most. */
  readonly queuedMax: number
  /** Those whose turn it is, `limit` at most, in the transaction that is under way. */
  readonly take: (client: pg.PoolClient, limit: number) => Promise<Turn[]>
  readonly payloadOf: (turn: Turn) => Payload<Queue>
}

/** Makes the jobs in the transaction that gives the turns; how many. */
export async function giveTurns<Queue extends QueueName, Turn extends { readonly jobId: string }>(
  pool: pg.Pool,
  boss: PgBoss,
  { queue, queuedMax, take, payloadOf }: Turns<Queue, Turn>,
): Promise<number> {
  return withPooledTransaction(pool, async (client) => {
    const room = queuedMax - (await countTurns(client, queue, queuedMax))
    if (room === 0) return 0
    const turns = await take(client, room)
    if (turns.length === 0) return 0
    await boss.insert(
      queue,
      turns.map((turn) => ({ id: turn.jobId, data: payloadOf(turn) })),
      { db: asJobsDatabase(client) },
    )
    return turns.length
  })
}

/** How many wait to be taken, counted to `most`. A turn has one attempt, so none waits for another. */
async function countTurns(client: pg.ClientBase, queue: QueueName, most: number): Promise<number> {
  const { rows } = await client.query<{ ready: number }>({
    name: 'count_turns',
    text: `select count(*) as ready from (
      select from tallystick_jobs.job j where j.name = $1 and j.state < 'active' limit $2
    ) j`,
    values: [queue, most],
  })
  return rows[0]!.ready
}
