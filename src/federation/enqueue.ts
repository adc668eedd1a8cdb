import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { asJobsDatabase } from '../db/job-queues.ts'
import { countReadyPeerTurns, hasWaitingPeers, takePeerTurns } from '../db/peer-turns.ts'
import { withPooledTransaction } from '../db/transaction.ts'
import type { Payload } from '../jobs/queues.ts'
import { PEER_JOBS_QUEUED_MAX, PEER_LEASE_MS } from '../peer-limits.ts'
import { formatId } from '../proof/ids.ts'

export type EnqueuePeersDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  /** Wakes those of this process who drain; the others look each second. */
  readonly wakeDrain: () => void
}

/**
 * One round: a job for each peering that has something to hear and to which nobody sends, in the transaction that gives it the turn;
 * returns whether more can follow at once. A job is a turn, as with webhooks (src/webhooks/enqueue.ts): a peer that was away for a
 * day is a number in its cursor.
 */
export async function enqueuePeers(deps: EnqueuePeersDeps): Promise<boolean> {
  if (!(await hasWaitingPeers(deps.pool))) return false
  const taken = await withPooledTransaction(deps.pool, (client) => giveTurns(deps.boss, client))
  if (taken > 0) deps.wakeDrain()
  return taken === PEER_JOBS_QUEUED_MAX
}

async function giveTurns(boss: PgBoss, client: pg.PoolClient): Promise<number> {
  const room = PEER_JOBS_QUEUED_MAX - (await countReadyPeerTurns(client, PEER_JOBS_QUEUED_MAX))
  if (room === 0) return 0
  const turns = await takePeerTurns(client, room, PEER_LEASE_MS)
  if (turns.length === 0) return 0
  await boss.insert(
    'drain-peer',
    turns.map(({ ledgerId, peerId, jobId }) => ({
      id: jobId,
      data: {
        ledger: formatId('led', ledgerId),
        peer: formatId('peer', peerId),
      } satisfies Payload<'drain-peer'>,
    })),
    { db: asJobsDatabase(client) },
  )
  return turns.length
}
