import type pg from 'pg'
import type { PgBoss } from 'pg-boss'
import { giveTurns, type Turns } from '../../db/jobs/turn-jobs.ts'
import { hasWaitingPeers, type PeerTurn, takePeerTurns } from '../../db/peers/peer-turns.ts'
import { formatId } from '../../proof/ids.ts'
import { PEER_JOBS_QUEUED_MAX, PEER_LEASE_MS } from './limits.ts'

export type EnqueuePeersDeps = {
  readonly pool: pg.Pool
  readonly boss: PgBoss
  /** Wakes those of this process who drain; the others look each second. */
  readonly wakeDrain: () => void
}

/**
 * One round: a job for each peering that has something to hear and to which nobody sends, in the transaction that gives it the turn;
 * returns whether more can follow at once. A job is a turn, as with webhooks (src/outside/webhooks/enqueue.ts): a peer that was away for a
 * day is a number in its cursor.
 */
export async function enqueuePeers(deps: EnqueuePeersDeps): Promise<boolean> {
  if (!(await hasWaitingPeers(deps.pool))) return false
  const taken = await giveTurns(deps.pool, deps.boss, TURNS)
  if (taken > 0) deps.wakeDrain()
  return taken === PEER_JOBS_QUEUED_MAX
}

const TURNS: Turns<'drain-peer', PeerTurn> = {
  queue: 'drain-peer',
  queuedMax: PEER_JOBS_QUEUED_MAX,
  take: (client, limit) => takePeerTurns(client, limit, PEER_LEASE_MS),
  payloadOf: ({ ledgerId, peerId }) => ({
    ledger: formatId('led', ledgerId),
    peer: formatId('peer', peerId),
  }),
}
