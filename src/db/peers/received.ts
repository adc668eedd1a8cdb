import type pg from 'pg'
import type { Uuid } from '../../proof/ids.ts'
import type { GatedRecord } from '../../proof/ledger/gated-record.ts'
import { indexOfRecordId } from '../../proof/statement/batch-ids.ts'
import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import { chunkIdOf } from '../chunks/read-chunks.ts'
import type { PeeringKey } from './peers.ts'

/*
 * Reads entries that were received from a peer. The next request of the peer is checked with these entries.
 *
 * All functions run under the lock of beginPeerRequest.
 */

/** Locks the peering's requests until the transaction ends. Returns false if the nonce was used before. */
export async function beginPeerRequest(
  client: pg.ClientBase,
  peering: PeeringKey,
  nonce: Uint8Array,
): Promise<boolean> {
  const { rows } = await client.query<{ fresh: boolean }>({
    name: 'begin_peer_request',
    text: 'select tallystick.begin_peer_request($1, $2, $3) as fresh',
    values: [peering.ledgerId, peering.peerId, nonce],
  })
  return rows[0]!.fresh
}

/**
 * A stored entry of the peer. `leaf` is lower-case hex. `receipt` is the envelope of our entry that received the peer's
 * entry.
 */
export type StoredEntry = {
  readonly remoteSeq: number
  readonly leaf: string
  readonly seq: number
  readonly receipt: Uint8Array
  /** Envelope of the peer's entry. null if the caller did not request it. */
  readonly envelope: Uint8Array | null
}

export async function listStoredEntries(
  client: pg.ClientBase,
  peering: PeeringKey,
  remoteSeqs: readonly number[],
  withEnvelopes: readonly number[],
): Promise<StoredEntry[]> {
  const { rows } = await client.query<{
    remoteSeq: number
    leaf: Buffer
    seq: number
    receipt: Buffer
    envelope: Buffer | null
  }>({
    name: 'list_stored_entries',
    text: `select r.remote_seq, r.leaf, r.seq, e.envelope as receipt,
        case when r.remote_seq = any ($4::bigint[]) then r.envelope end as envelope
      from unnest($3::bigint[]) k (seq)
      cross join lateral (
        select * from tallystick.received_entries n
        where n.ledger_id = $1 and n.peer_id = $2 and n.remote_seq = k.seq offset 0
      ) r
      cross join lateral (
        select n.envelope from tallystick.entries n where n.ledger_id = r.ledger_id and n.seq = r.seq offset 0
      ) e`,
    values: [peering.ledgerId, peering.peerId, remoteSeqs, withEnvelopes],
  })
  return rows.map((row) => ({
    remoteSeq: row.remoteSeq,
    leaf: row.leaf.toString('hex'),
    seq: row.seq,
    receipt: row.receipt,
    envelope: row.envelope,
  }))
}

/** Facts that this ledger has stored about a record which may be the peer's record. */
export type KnownRecord = {
  readonly recordId: Uuid
  /** True if the ledger has its own record with this id. That record may be shared with the peer or not. */
  readonly isOwn: boolean
  readonly isShared: boolean
  /** State of the peer's record. null if nothing about the record was received yet. */
  readonly remote: {
    readonly type: string
    readonly documents: 'whole' | 'digests'
    readonly standing: GatedRecord
  } | null
  /** Number of decided offers by the peer for our record. The count stops at a limit. */
  readonly offers: number
  /**
   * Envelopes of the first received `record-shared` entry, and of the `record-shared` entries in this request. Other
   * such entries are not needed, because sharing a record again changes nothing.
   */
  readonly shares: readonly Buffer[]
}

export async function listKnownRecords(
  client: pg.ClientBase,
  peering: PeeringKey,
  recordIds: readonly Uuid[],
  offersMax: number,
): Promise<KnownRecord[]> {
  const { rows } = await client.query<{
    recordId: Uuid
    own: boolean
    shared: boolean
    type: string
    documents: 'whole' | 'digests'
    standing: string | null
    offers: number
    shares: string[]
  }>({
    name: 'list_known_records',
    text: `select k.record_id, o.own is not null as own, s.shared is not null as shared, m.type, m.documents, m.standing,
        case when m.record_id is null then array(
          select encode(n.envelope, 'base64') from tallystick.received_entries n
          where n.ledger_id = $1 and n.peer_id = $2 and n.record_id = k.record_id and n.version is null
            and n.kind = 'record-shared'
          order by n.remote_seq limit 1
        ) else '{}' end as shares,
        case when s.shared then (
          select count(*) from (
            select from tallystick.received_entries n
            where n.ledger_id = $1 and n.peer_id = $2 and n.record_id = k.record_id and n.version is null limit $4
          ) n
        ) else 0 end as offers
      from unnest($3::uuid[], $5::uuid[], $6::int4[]) k (record_id, chunk_id, place)
      left join lateral (
        select true as own from tallystick.records n where n.ledger_id = $1 and n.record_id = k.record_id
        union all
        select true from tallystick.batch_chunks n
        where n.ledger_id = $1 and n.first_record_id = k.chunk_id and n.count > k.place
        offset 0
      ) o on true
      left join lateral (
        select true as shared from tallystick.shared_records n
        where n.ledger_id = $1 and n.record_id = k.record_id and n.peer_id = $2 offset 0
      ) s on true
      left join lateral (
        select * from tallystick.remote_records n
        where n.ledger_id = $1 and n.record_id = k.record_id and n.peer_id = $2 offset 0
      ) m on true`,
    values: [
      peering.ledgerId,
      peering.peerId,
      recordIds,
      offersMax,
      recordIds.map(chunkIdOf),
      recordIds.map((id) => indexOfRecordId(id) % CHUNK_RECORDS),
    ],
  })
  return rows.map((row) => ({
    recordId: row.recordId,
    offers: row.offers,
    isOwn: row.own,
    isShared: row.shared,
    remote:
      row.standing === null
        ? null
        : { type: row.type, documents: row.documents, standing: JSON.parse(row.standing) as GatedRecord },
    shares: row.shares.map((text) => Buffer.from(text, 'base64')),
  }))
}

/** Returns a map from an event, named by `recordId version`, to its stored leaf in hex. */
export async function findStoredLeaves(
  client: pg.ClientBase,
  peering: PeeringKey,
  events: readonly { readonly recordId: Uuid; readonly version: number }[],
): Promise<Map<string, string>> {
  const { rows } = await client.query<{ recordId: Uuid; version: number; leaf: Buffer }>({
    name: 'find_stored_leaves',
    text: `select r.record_id, r.version, r.leaf
      from unnest($3::uuid[], $4::int4[]) k (record_id, version)
      cross join lateral (
        select * from tallystick.received_entries n
        where n.ledger_id = $1 and n.peer_id = $2 and n.record_id = k.record_id and n.version = k.version
          and n.version is not null offset 0
      ) r`,
    values: [
      peering.ledgerId,
      peering.peerId,
      events.map(({ recordId }) => recordId),
      events.map(({ version }) => version),
    ],
  })
  return new Map(rows.map((row) => [`${row.recordId} ${row.version}`, row.leaf.toString('hex')]))
}

export type OwnOffer = {
  readonly seq: number
  readonly leaf: string
  readonly recordId: Uuid
  readonly isDecided: boolean
  readonly envelope: Buffer
}

export async function listOwnOffers(
  client: pg.ClientBase,
  peering: PeeringKey,
  seqs: readonly number[],
): Promise<OwnOffer[]> {
  const { rows } = await client.query<{
    seq: number
    leaf: Buffer
    recordId: Uuid
    decided: boolean
    envelope: Buffer
  }>({
    name: 'list_own_offers',
    text: `select o.seq, o.leaf, o.record_id, o.state <> 'pending' as decided, e.envelope
      from tallystick.offers o
      cross join lateral (
        select n.envelope from tallystick.entries n where n.ledger_id = o.ledger_id and n.seq = o.seq offset 0
      ) e
      where o.ledger_id = $1 and o.peer_id = $2 and o.seq = any ($3::bigint[])`,
    values: [peering.ledgerId, peering.peerId, seqs],
  })
  return rows.map((row) => ({
    seq: row.seq,
    leaf: row.leaf.toString('hex'),
    recordId: row.recordId,
    isDecided: row.decided,
    envelope: row.envelope,
  }))
}

/** Returns the digests among `digests` (hex) of types that came with earlier entries. */
export async function listReceivedTypes(
  client: pg.ClientBase,
  peering: PeeringKey,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ digest: Buffer }>({
    name: 'list_received_types',
    text: `select digest from tallystick.received_types
      where ledger_id = $1 and peer_id = $2 and digest = any ($3::bytea[])`,
    values: [peering.ledgerId, peering.peerId, digests.map((digest) => Buffer.from(digest, 'hex'))],
  })
  return new Set(rows.map(({ digest }) => digest.toString('hex')))
}

/** Stores a fork for the operator. Stores at most `storedMax` forks for each peering. */
export async function storeFork(
  client: pg.ClientBase,
  peering: PeeringKey,
  fork: {
    readonly leaf: string
    readonly remoteSeq: number
    readonly recordId: Uuid | null
    readonly version: number | null
    readonly storedLeaf: string
    readonly envelope: Uint8Array
  },
  storedMax: number,
): Promise<void> {
  await client.query({
    name: 'keep_fork',
    text: 'select tallystick.keep_fork($1, $2, $3, $4, $5, $6, $7, $8, $9)',
    values: [
      peering.ledgerId,
      peering.peerId,
      Buffer.from(fork.leaf, 'hex'),
      fork.remoteSeq,
      fork.recordId,
      fork.version,
      Buffer.from(fork.storedLeaf, 'hex'),
      fork.envelope,
      storedMax,
    ],
  })
}
