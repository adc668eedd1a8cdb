import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import type { PeeringKey } from './peers.ts'

/* Queries about peers that are witnesses of each other's ledgers. */

/** A peer's log, named by its origin. `seen` is the largest tree of this log that this server has cosigned. */
export type WitnessedPeer = {
  readonly origin: string
  readonly ownOrigin: string
  readonly remoteKey: string | null
  readonly seen: { readonly size: number; readonly root: Buffer } | null
}

/** SQL for the origin of the other ledger of peering `p`. */
const REMOTE_ORIGIN = `(case p.role when 'inviter' then p.invited else p.inviter end)::json->>'origin'`

/** Returns the peer's log. Returns null if the peering does not exist, or had no handshake yet. */
export async function findWitnessedPeer(
  db: Db,
  { ledgerId, peerId }: PeeringKey,
): Promise<WitnessedPeer | null> {
  type Columns = {
    origin: string | null
    ownOrigin: string
    remoteKey: string | null
    seenSize: number | null
    seenRoot: Buffer | null
  }
  const { rows } = await db.query<Columns>({
    name: 'find_witnessed_peer',
    text: `select ${REMOTE_ORIGIN} as origin, l.origin as own_origin, w.remote_key, w.seen_size, w.seen_root
      from tallystick.peers p join tallystick.ledgers l on l.ledger_id = p.ledger_id
      left join tallystick.peer_witnesses w on w.ledger_id = p.ledger_id and w.peer_id = p.peer_id
      where p.ledger_id = $1 and p.peer_id = $2`,
    values: [ledgerId, peerId],
  })
  const row = rows[0]
  if (!row || row.origin === null) return null
  const { origin, ownOrigin, remoteKey, seenSize: size, seenRoot: root } = row
  return { origin, ownOrigin, remoteKey, seen: size === null ? null : { size, root: root! } }
}

/** New facts from a peer's request for a cosignature. A member is null if it has not changed. */
export type WitnessFacts = {
  readonly remote: { readonly key: string; readonly kid: Uint8Array } | null
  readonly seen: { readonly size: number; readonly root: Uint8Array; readonly note: string } | null
  /** Note of a tree that has the same size as `seen`, but another root. */
  readonly fork: string | null
}

/** Stores the facts while the peering is locked. */
export async function storePeerWitness(
  db: Db,
  { ledgerId, peerId }: PeeringKey,
  { remote, seen, fork }: WitnessFacts,
): Promise<void> {
  await db.query('select tallystick.keep_peer_witness($1, $2, $3, $4, $5, $6, $7, $8)', [
    ledgerId,
    peerId,
    remote?.key,
    remote?.kid,
    seen?.size,
    seen?.root,
    seen?.note,
    fork,
  ])
}

/** A peer that cosigns our checkpoints, with the address of its server. */
export type WitnessingPeer = PeeringKey & {
  readonly remoteLedgerId: Uuid
  readonly remoteUrl: string
  readonly remoteKey: string | null
  readonly origin: string
  readonly issuer: string
  /** Kid of the key for the ledger's next entry, in lower-case hex. */
  readonly envelopeKid: string
}

/** Returns the peer, or null if the peering is not active. */
export async function findWitnessingPeer(
  db: Db,
  { ledgerId, peerId }: PeeringKey,
): Promise<WitnessingPeer | null> {
  const { rows } = await db.query<Omit<WitnessingPeer, 'envelopeKid'> & { envelopeKid: Buffer }>({
    name: 'find_witnessing_peer',
    text: `select p.ledger_id, p.peer_id, p.remote_ledger_id, p.remote_url, w.remote_key, l.origin, l.issuer, h.envelope_kid
      from tallystick.peers p join tallystick.ledgers l on l.ledger_id = p.ledger_id
      join tallystick.chain_heads h on h.ledger_id = p.ledger_id
      left join tallystick.peer_witnesses w on w.ledger_id = p.ledger_id and w.peer_id = p.peer_id
      where p.ledger_id = $1 and p.peer_id = $2 and p.state = 'active'`,
    values: [ledgerId, peerId],
  })
  const row = rows[0]
  return row ? { ...row, envelopeKid: row.envelopeKid.toString('hex') } : null
}

/**
 * Selects peerings that have not cosigned the newest checkpoint. If `ledgerIds` is null, selects peerings of all
 * ledgers.
 */
type UncosignedQuery = {
  readonly ledgerIds: readonly Uuid[] | null
  readonly ageMs: number
  /** Maximum number of peers that are a ledger's witnesses. The ledger's oldest peerings are its witnesses. */
  readonly peersMax: number
  readonly limit: number
}

export async function listUncosignedPeers(
  db: Db,
  { ledgerIds, ageMs, peersMax, limit }: UncosignedQuery,
): Promise<PeeringKey[]> {
  const { rows } = await db.query<PeeringKey>({
    name: 'list_uncosigned_peers',
    text: `select p.ledger_id, p.peer_id from (
        select a.ledger_id, a.peer_id, row_number() over (partition by a.ledger_id order by a.peer_id) as place
        from tallystick.peers a where a.state = 'active' and ($1::uuid[] is null or a.ledger_id = any ($1))
      ) p
      join lateral (
        select c.size, c.published_at from tallystick.checkpoints c where c.ledger_id = p.ledger_id order by c.size desc limit 1
      ) newest on newest.published_at <= now() - $2 * interval '1 millisecond'
      where p.place <= $3 and not exists (
        select from tallystick.cosignatures s
        where s.ledger_id = p.ledger_id and s.size = newest.size and s.peer_id = p.peer_id)
      order by random() limit $4`,
    values: [ledgerIds, ageMs, peersMax, limit],
  })
  return rows
}
