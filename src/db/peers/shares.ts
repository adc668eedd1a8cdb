import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import type { PeerState } from './peers.ts'

/*
 * Reads the facts about peerings that are needed to share a record. read-records.ts reads with which peers a record is
 * shared already.
 */

export type SharePeer = {
  readonly peerId: Uuid
  readonly state: PeerState
  /** Id of the other ledger. null if the other side has not answered the invitation yet. */
  readonly remoteLedgerId: Uuid | null
}

/** Returns the peerings among `peerIds` that belong to the ledger, in any order. */
export async function listSharePeers(db: Db, ledgerId: Uuid, peerIds: readonly Uuid[]): Promise<SharePeer[]> {
  const { rows } = await db.query<{ peerId: Uuid; state: PeerState; remoteLedgerId: Uuid | null }>({
    name: 'list_share_peers',
    text: `select p.peer_id, p.state, p.remote_ledger_id from tallystick.peers p
      where p.ledger_id = $1 and p.peer_id = any ($2::uuid[])`,
    values: [ledgerId, peerIds],
  })
  return rows.map(({ peerId, state, remoteLedgerId }) => ({
    peerId,
    state,
    remoteLedgerId,
  }))
}

/**
 * Returns the salts that callers may have chosen: the salts of the record's payload and of the evidence of its
 * completions. Salts of erased documents are missing.
 */
export async function listChosenSalts(db: Db, ledgerId: Uuid, recordId: Uuid): Promise<Buffer[]> {
  const { rows } = await db.query<{ salt: Buffer }>({
    name: 'list_chosen_salts',
    text: `select r.salt from tallystick.records r
      where r.ledger_id = $1 and r.record_id = $2 and r.salt is not null
      union all
      select n.salt from tallystick.entries e
      cross join lateral (
        select d.salt from tallystick.documents d
        where d.ledger_id = $1 and d.seq = e.seq and d.document = 'evidence' and d.salt is not null offset 0
      ) n
      where e.ledger_id = $1 and e.subject_id = $2 and e.version > 1`,
    values: [ledgerId, recordId],
  })
  return rows.map(({ salt }) => salt)
}
