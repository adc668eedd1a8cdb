import type { Uuid } from '../../proof/ids.ts'
import type { Db } from '../connect/client.ts'
import type { PeerLease } from './peer-leases.ts'
import type { PeeringKey } from './peers.ts'

/*
 * Reads entries that are shared with a peer and sent to it, and stores the peer's answers. src/db/peers/peer-leases.ts
 * has the leases.
 */

/** Returns an entry's envelope. Throws if the entry does not exist. */
export async function readEntryEnvelope(db: Db, ledgerId: Uuid, seq: number): Promise<Buffer> {
  const { rows } = await db.query<{ envelope: Buffer }>({
    name: 'read_entry_envelope',
    text: 'select envelope from tallystick.entries where ledger_id = $1 and seq = $2',
    values: [ledgerId, seq],
  })
  if (!rows[0]) throw new Error(`entry ${seq} is missing`)
  return rows[0].envelope
}

export type SharedEntry = {
  readonly seq: number
  readonly kind: string
  readonly leaf: Buffer
  readonly envelope: Buffer
  /** Record that the entry is about. null if the entry is about the peering. */
  readonly recordId: Uuid | null
  readonly documents: 'whole' | 'digests'
}

/**
 * SQL that finds out whether entry `e` of ledger $1 is shared with peer $2, and in which form.
 *
 * - An entry of a record's home ledger is shared if `shared_records` names the peer.
 * - An entry of a guest is shared if it is an offer to the peer.
 * - The refusal of an offer is shared with the peer that made the offer.
 */
const SHARED = `left join lateral (
    select x.document_seq from tallystick.erasures x
    where e.kind = 'payload-erased' and x.ledger_id = e.ledger_id and x.seq = e.seq offset 0
  ) x on true
  left join lateral (
    select d.subject_id from tallystick.entries d
    where x.document_seq is not null and d.ledger_id = e.ledger_id and d.seq = x.document_seq offset 0
  ) d on true
  left join lateral (
    select n.record_id, n.documents, n.shared_seq from tallystick.shared_records n
    where (e.version is not null or e.kind = 'payload-erased' or e.kind = 'record-shared' and n.shared_seq = e.seq)
      and n.ledger_id = e.ledger_id and n.peer_id = $2
      and n.record_id = case when e.kind = 'payload-erased' then d.subject_id else e.subject_id end
    offset 0
  ) s on true
  left join lateral (
    select n.record_id from tallystick.offers n
    where e.kind = 'step-offered' and n.ledger_id = e.ledger_id and n.seq = e.seq and n.peer_id = $2 offset 0
  ) o on true
  left join lateral (
    select n.record_id from tallystick.received_entries n
    where e.kind = 'offer-refused' and n.ledger_id = e.ledger_id and n.seq = e.seq and n.peer_id = $2 offset 0
  ) r on true`

const IS_SHARED = `(s.record_id is not null or o.record_id is not null or r.record_id is not null
    or e.kind in ('peer-added', 'peer-revoked') and e.subject_id = $2)`

const SHARED_COLUMNS = `e.seq, e.kind, e.leaf, e.envelope, coalesce(s.record_id, o.record_id, r.record_id) as record_id,
  case when e.kind = 'step-offered' then 'whole' else coalesce(s.documents, 'digests') end as documents`

/**
 * Returns shared entries from `from` to before `end`, in order.
 *
 * Leaves out later entries of a record that has a dead letter, because a replay of the dead letter also sends them.
 * Leaves out entries from before the record was shared, because they are in the backlog.
 */
export async function readSharedEntries(
  db: Db,
  peering: PeeringKey,
  { from, end, limit }: { readonly from: number; readonly end: number; readonly limit: number },
): Promise<SharedEntry[]> {
  const { rows } = await db.query<SharedEntry>({
    name: 'read_shared_entries',
    text: `select ${SHARED_COLUMNS} from tallystick.entries e ${SHARED}
      where e.ledger_id = $1 and e.seq >= $3 and e.seq < $4 and ${IS_SHARED}
        and not (s.record_id is not null and e.seq < s.shared_seq)
        and not exists (
          select from tallystick.peer_dead_letters l
          where l.ledger_id = $1 and l.peer_id = $2 and l.seq < e.seq
            and l.record_id = coalesce(s.record_id, o.record_id, r.record_id))
      order by e.seq limit $5`,
    values: [peering.ledgerId, peering.peerId, from, end, limit],
  })
  return rows
}

/**
 * Returns the seq of the newest entry before `before` that the peer has received. Returns null if the peer has received
 * no such entry.
 */
export async function findReceivedBefore(
  db: Db,
  peering: PeeringKey,
  before: number,
): Promise<number | null> {
  const { rows } = await db.query<{ seq: number | null }>({
    name: 'find_received_before',
    text: 'select max(seq) as seq from tallystick.peer_receipts where ledger_id = $1 and peer_id = $2 and seq < $3',
    values: [peering.ledgerId, peering.peerId, before],
  })
  return rows[0]!.seq
}

/**
 * Stores the maximum size of requests to the peer in bytes. `refused` is true if the peer has just refused a request
 * because of its size, and false if larger requests are tried again.
 */
export async function storeRequestBytes(
  db: Db,
  lease: PeerLease,
  bytes: number | null,
  refused: boolean,
): Promise<void> {
  await db.query({
    name: 'store_peer_request_bytes',
    text: `update tallystick.peer_cursors set request_bytes = $4,
        request_refused_at = case when $5 then now() else request_refused_at end
      where ledger_id = $1 and peer_id = $2 and job_id = $3`,
    values: [lease.ledgerId, lease.peerId, lease.jobId, bytes, refused],
  })
}

/** Returns all shared entries of one record, from seq `from` to before `end`, in order. */
export async function readSharedOfRecord(
  db: Db,
  peering: PeeringKey,
  recordId: Uuid,
  { from, end, limit }: { readonly from: number; readonly end: number; readonly limit: number },
): Promise<SharedEntry[]> {
  const { rows } = await db.query<SharedEntry>({
    name: 'read_shared_of_record',
    text: `select ${SHARED_COLUMNS} from (
        select r.first_seq as seq from tallystick.records r where r.ledger_id = $1 and r.record_id = $3
        union select n.seq from tallystick.entries n where n.ledger_id = $1 and n.subject_id = $3 and n.version > 1
        union select n.seq from tallystick.offers n where n.ledger_id = $1 and n.record_id = $3 and n.peer_id = $2
        union select n.seq from tallystick.received_entries n
          where n.ledger_id = $1 and n.peer_id = $2 and n.record_id = $3 and n.version is null
        union select n.seq from tallystick.erasures n
          where n.ledger_id = $1 and (n.subject_id = $3 or n.subject_id in (
            select c.subject_id from tallystick.entries v join tallystick.documents c on c.ledger_id = v.ledger_id and c.seq = v.seq
            where v.ledger_id = $1 and v.subject_id = $3 and v.version > 1))
        union select n.shared_seq from tallystick.shared_records n
          where n.ledger_id = $1 and n.record_id = $3 and n.peer_id = $2
      ) w
      cross join lateral (
        select * from tallystick.entries n where n.ledger_id = $1 and n.seq = w.seq offset 0
      ) e ${SHARED}
      where w.seq >= $4 and w.seq < $5 and ${IS_SHARED}
      order by e.seq limit $6`,
    values: [peering.ledgerId, peering.peerId, recordId, from, end, limit],
  })
  return rows
}

/**
 * Returns the seq of the entry that shared a record after the record's creation. Returns null if the creation itself
 * shared the record, or if the creation is before `from` and is therefore not sent.
 */
export async function findLaterShare(
  db: Db,
  peering: PeeringKey,
  { recordId, from }: { readonly recordId: Uuid; readonly from: number },
): Promise<number | null> {
  const { rows } = await db.query<{ seq: number }>({
    name: 'find_later_share',
    text: `select s.shared_seq as seq from tallystick.shared_records s
      join tallystick.records r on r.ledger_id = s.ledger_id and r.record_id = s.record_id
      where s.ledger_id = $1 and s.peer_id = $2 and s.record_id = $3 and s.shared_seq > r.first_seq and r.first_seq >= $4`,
    values: [peering.ledgerId, peering.peerId, recordId, from],
  })
  return rows[0] ? rows[0].seq : null
}

/**
 * A document whose digest an entry contains, in the form in which it is sent. `salt` and `content` are null as soon as
 * an entry erases the document.
 */
export type SharedDocument = {
  readonly seq: number
  readonly document: 'payload' | 'evidence' | 'values' | 'reason'
  readonly subjectId: Uuid
  readonly digest: Buffer
  readonly salt: Buffer | null
  readonly content: Buffer | null
  readonly references: Buffer | null
  /** Type of a payload, as name/version. null for other documents. */
  readonly type: string | null
}

export async function readSharedDocuments(
  db: Db,
  ledgerId: Uuid,
  seqs: readonly number[],
): Promise<SharedDocument[]> {
  const { rows } = await db.query<{
    seq: number
    document: SharedDocument['document']
    subjectId: Uuid
    digest: Buffer
    salt: Buffer | null
    content: Buffer | null
    referenceList: Buffer | null
    type: string | null
  }>({
    name: 'read_shared_documents',
    text: `select w.*, case when x.seq is null then w.stored_salt end as salt,
        case when x.seq is null then w.stored_content end as content,
        case when x.seq is null then w.stored_list end as reference_list
      from unnest($2::bigint[]) k (seq)
      cross join lateral (
        select r.first_seq as seq, 'payload' as document, r.record_id as subject_id, r.digest, r.salt as stored_salt,
          r.payload as stored_content, r.reference_list as stored_list, r.type
        from tallystick.records r where r.ledger_id = $1 and r.first_seq = k.seq
        union all
        select d.seq, d.document, d.subject_id, d.digest, d.salt, d.content, null, null
        from tallystick.documents d where d.ledger_id = $1 and d.seq = k.seq
        offset 0
      ) w
      left join lateral (
        select n.seq from tallystick.erasures n
        where n.ledger_id = $1 and n.subject_id = w.subject_id and n.document = w.document and n.document_seq = w.seq offset 0
      ) x on true`,
    values: [ledgerId, seqs],
  })
  return rows.map((row) => ({
    seq: row.seq,
    document: row.document,
    subjectId: row.subjectId,
    digest: row.digest,
    salt: row.salt,
    content: row.content,
    references: row.referenceList,
    type: row.type,
  }))
}

/** Returns a map from the names of types to their definitions (canonical JSON). */
export async function readDefinitions(
  db: Db,
  ledgerId: Uuid,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ name: string; definition: Buffer }>({
    name: 'read_definitions',
    text: 'select name, definition from tallystick.types where ledger_id = $1 and name = any ($2::text[])',
    values: [ledgerId, names],
  })
  return new Map(rows.map(({ name, definition }) => [name, definition.toString('utf8')]))
}

/** Returns the ledger's key rotations after the rotation that introduced `knownKid` (hex), oldest first. */
export async function readRotations(
  db: Db,
  ledgerId: Uuid,
  knownKid: string,
  limit: number,
): Promise<{ readonly seq: number; readonly envelope: Buffer; readonly leaf: Buffer }[]> {
  const { rows } = await db.query<{ seq: number; envelope: Buffer; leaf: Buffer }>({
    name: 'read_rotations',
    text: `select e.seq, e.envelope, e.leaf from tallystick.ledger_rotations r
      join tallystick.entries e on e.ledger_id = r.ledger_id and e.seq = r.seq
      where r.ledger_id = $1 and r.seq > coalesce(
        (select max(k.seq) from tallystick.ledger_rotations k where k.ledger_id = $1 and k.new_kid = $2), -1)
      order by r.seq limit $3`,
    values: [ledgerId, Buffer.from(knownKid, 'hex'), limit],
  })
  return rows.map((row) => ({ seq: row.seq, envelope: row.envelope, leaf: row.leaf }))
}

type DeadLetterRow = {
  readonly seq: number
  readonly recordId: Uuid | null
  readonly code: string
  readonly detail: string | null
  readonly diedAt: Date
  readonly entry: {
    readonly seq: number
    readonly kind: string
    readonly recordedAt: Date
    readonly leaf: Buffer
    readonly chain: Buffer
    readonly envelope: Buffer
  }
}

/** Lists dead letters in chain order. Begins after the dead letter `after`. */
export async function listPeerDeadLetters(
  db: Db,
  peering: PeeringKey,
  page: { readonly after: number; readonly limit: number },
): Promise<DeadLetterRow[]> {
  const { rows } = await db.query<{
    seq: number
    recordId: Uuid | null
    code: string
    detail: string | null
    diedAt: Date
    kind: string
    recordedAt: Date
    leaf: Buffer
    chain: Buffer
    envelope: Buffer
  }>({
    name: 'list_peer_dead_letters',
    text: `select l.seq, l.record_id, l.code, l.detail, l.died_at, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope
      from tallystick.peer_dead_letters l
      join tallystick.entries e on e.ledger_id = l.ledger_id and e.seq = l.seq
      where l.ledger_id = $1 and l.peer_id = $2 and l.seq > $3 order by l.seq limit $4`,
    values: [peering.ledgerId, peering.peerId, page.after, page.limit],
  })
  return rows.map((row) => ({
    seq: row.seq,
    recordId: row.recordId,
    code: row.code,
    detail: row.detail,
    diedAt: row.diedAt,
    entry: {
      seq: row.seq,
      kind: row.kind,
      recordedAt: row.recordedAt,
      leaf: row.leaf,
      chain: row.chain,
      envelope: row.envelope,
    },
  }))
}

/**
 * Makes dead letters be sent again. If `seqs` is null, this applies to all dead letters of the peering. Returns their
 * number.
 */
export async function replayPeer(
  db: Db,
  peering: PeeringKey,
  seqs: readonly number[] | null,
): Promise<number> {
  const { rows } = await db.query<{ replayed: number }>(
    'select tallystick.replay_peer($1, $2, $3) as replayed',
    [peering.ledgerId, peering.peerId, seqs],
  )
  return rows[0]!.replayed
}

/**
 * Returns the newest entry of each shared record of both sides. The two sides compare such lists to find missing
 * entries.
 */
export async function listSummary(
  db: Db,
  peering: PeeringKey,
  page: { readonly after: Uuid | null; readonly limit: number },
): Promise<{ readonly recordId: Uuid; readonly version: number; readonly leaf: Buffer }[]> {
  const { rows } = await db.query<{ recordId: Uuid; version: number; leaf: Buffer }>({
    name: 'list_peer_summary',
    text: `select w.record_id, w.version, w.leaf from (
        (select s.record_id, g.version, e.leaf
        from tallystick.shared_records s
        join tallystick.gated_records g on g.ledger_id = s.ledger_id and g.record_id = s.record_id
        join tallystick.entries e on e.ledger_id = g.ledger_id and e.seq = g.last_seq
        where s.ledger_id = $1 and s.peer_id = $2 and ($3::uuid is null or s.record_id > $3)
        order by s.record_id limit $4)
        union all
        (select m.record_id, m.version, m.leaf from tallystick.remote_records m
        where m.ledger_id = $1 and m.peer_id = $2 and ($3::uuid is null or m.record_id > $3)
        order by m.record_id limit $4)
      ) w order by w.record_id limit $4`,
    values: [peering.ledgerId, peering.peerId, page.after, page.limit],
  })
  return rows.map((row) => ({ recordId: row.recordId, version: row.version, leaf: row.leaf }))
}
