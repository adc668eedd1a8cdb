import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import type { PeeringKey } from './peers.ts'

/*
 * Reads entries of a peer that contradict a stored entry. src/outside/federation/forks.ts checks whether the peer has
 * signed them.
 */

export type ForkRow = {
  /** Leaf of the contradicting entry. `leaf` and `heldLeaf` are in lower-case hex. */
  readonly leaf: string
  readonly remoteSeq: number
  readonly recordId: Uuid | null
  readonly version: number | null
  readonly heldLeaf: string
  readonly envelope: Buffer
  readonly seenAt: Date
}

/**
 * Lists possible forks in the order of their leaves. Begins after the leaf `after` (hex).
 *
 * An entry is listed if another entry is stored for its position, and if the entry itself is stored for no position.
 * The second condition is needed because a statement does not contain its seq. Without it, somebody could present an
 * old entry of the peer as a contradiction of another entry.
 */
export async function listPeerForks(
  db: Db,
  peering: PeeringKey,
  page: { readonly after: string; readonly limit: number },
): Promise<ForkRow[]> {
  const { rows } = await db.query<{
    leaf: Buffer
    remoteSeq: number
    recordId: Uuid | null
    version: number | null
    heldLeaf: Buffer
    envelope: Buffer
    seenAt: Date
  }>({
    name: 'list_peer_forks',
    text: `select f.leaf, f.remote_seq, f.record_id, f.version, f.held_leaf, f.envelope, f.seen_at
      from tallystick.peer_forks f
      join tallystick.peers p on p.ledger_id = f.ledger_id and p.peer_id = f.peer_id
      left join lateral (
        select n.leaf from tallystick.received_entries n
        where n.ledger_id = f.ledger_id and n.peer_id = f.peer_id and n.remote_seq = f.remote_seq offset 0
      ) s on true
      left join lateral (
        select n.leaf from tallystick.received_entries n
        where n.ledger_id = f.ledger_id and n.peer_id = f.peer_id and n.record_id = f.record_id and n.version = f.version
          and n.version is not null offset 0
      ) v on true
      where f.ledger_id = $1 and f.peer_id = $2 and f.leaf > $3 and f.held_leaf in (s.leaf, v.leaf)
        and f.leaf is distinct from v.leaf and f.leaf is distinct from p.counterpart
        and not exists (
          select from tallystick.received_entries n
          where n.ledger_id = f.ledger_id and n.peer_id = f.peer_id and n.record_id = f.record_id and n.version is null
            and n.leaf = f.leaf
        )
      order by f.leaf limit $4`,
    values: [peering.ledgerId, peering.peerId, Buffer.from(page.after, 'hex'), page.limit],
  })
  return rows.map((row) => ({
    leaf: row.leaf.toString('hex'),
    remoteSeq: row.remoteSeq,
    recordId: row.recordId,
    version: row.version,
    heldLeaf: row.heldLeaf.toString('hex'),
    envelope: row.envelope,
    seenAt: row.seenAt,
  }))
}

export type ForkedPeer = PeeringKey & { readonly remoteLedgerId: Uuid }

/** Lists at most `limit` peerings that are not revoked and have rows in peer_forks. */
export async function listForkedPeers(db: Db, limit: number): Promise<ForkedPeer[]> {
  const { rows } = await db.query<ForkedPeer>(
    `select p.ledger_id, p.peer_id, p.remote_ledger_id from tallystick.peers p
     where p.state <> 'revoked' and p.remote_ledger_id is not null and exists (
       select from tallystick.peer_forks f where f.ledger_id = p.ledger_id and f.peer_id = p.peer_id)
     limit $1`,
    [limit],
  )
  return rows
}
