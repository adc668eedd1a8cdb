import { ProofError } from '../../proof/error.ts'
import { formatId, type Uuid } from '../../proof/ids.ts'
import { isOfBatch } from '../../proof/statement/batch-ids.ts'
import type { CursorMac } from '../../signing/cursor-mac.ts'
import { fillEnvelopes, limitBundles, type Unfilled } from '../chain/envelopes.ts'
import type { EntryDocumentRow, EntryRecordRow } from '../chain/read-entries.ts'
import {
  joinVerifiedSize,
  VERIFIED_SIZE_COLUMNS,
  type VerifiedSizeColumns,
  verifiedSizeOf,
} from '../chain/verified-size.ts'
import { findBatchRecord, listBatchRecords } from '../chunks/read-chunks.ts'
import { isUnreadable } from '../connect/archive.ts'
import type { Db } from '../connect/client.ts'
import { EVENT_BATCHES_PER_QUERY, EVENT_OBJECTS_PER_PAGE } from '../limits.ts'
import { recordPieces } from './archive-limits.ts'

/** An entry that makes events, and the record that it is about. */
export type EventRow = {
  seq: number
  kind: string
  recordedAt: Date
  leaf: Buffer
  chain: Buffer
  envelope: Buffer
  /**
   * Record that the entry is about. null if the entry is about a batch, a peering or something else that is not a
   * single record.
   */
  recordId: Uuid | null
  recordType: string | null
  /** Trace context (`traceparent`) with which the record was created. */
  recordTraceparent: string | null
  /** Maps each type to the number of the batch's records of this type. null if the entry is not a batch. */
  batchTypes: Record<string, number> | null
  /**
   * Reason why the batch chunk with the rest of the event's content cannot be read. null if the chunk was read or is
   * not needed.
   */
  chunkFault: ProofError | null
  /**
   * Envelope of another ledger's entry that this entry received. null if this entry received no entry. Also null for a
   * step that accepts an offer, because the offer's envelope is not read.
   */
  received: Buffer | null
}

type VisibleEventRow = EventRow & { isVisible: boolean }

/** Columns of a batch before its chunks are read. */
type UnreadBatch = { itemCount: number | null; typesOfBatch: string[] | null }

const EVENT_COLUMNS = `e.seq, e.kind, e.recorded_at, e.leaf, e.chain, e.envelope,
  a.record_id, r.type as record_type,
  r.traceparent as record_traceparent, e.item_count, b.types_of_batch, null as batch_types,
  null as chunk_fault, w.envelope as received`

/**
 * SQL that finds the record that entry `e` is about.
 *
 * - Erasure: the record of the entry that contains the erased document's digest.
 * - Received entry: a record of the other ledger, even if a local record has the same id.
 * - Answer to an offer: a local record.
 * - Any other entry: its subject if the entry has a version, because only entries that create or change a record have
 *   one. Otherwise no record.
 */
const ABOUT = `left join lateral (
    select case when d.document = 'payload' then d.subject_id else x.subject_id end as record_id
    from tallystick.erasures d
    join tallystick.entries x on x.ledger_id = d.ledger_id and x.seq = d.document_seq
    where e.kind = 'payload-erased' and d.ledger_id = e.ledger_id and d.seq = e.seq offset 0
  ) x on true
  left join lateral (
    select n.peer_id, n.record_id, n.envelope from tallystick.received_entries n
    where e.kind in ('entry-received', 'offer-refused', 'peer-key-rotated') and n.ledger_id = e.ledger_id and n.seq = e.seq offset 0
  ) w on true
  cross join lateral (
    select case when e.kind = 'batch-notarized' then null when e.kind = 'payload-erased' then x.record_id
      when w.peer_id is not null then w.record_id when e.version is not null then e.subject_id end as record_id
  ) a
  left join lateral (
    select n.type, n.traceparent from tallystick.records n
    where e.kind <> 'entry-received' and n.ledger_id = e.ledger_id and n.record_id = a.record_id
    union all
    select n.type, null from tallystick.remote_records n
    where e.kind = 'entry-received' and n.ledger_id = e.ledger_id and n.record_id = a.record_id and n.peer_id = w.peer_id
    offset 0
  ) r on true
  left join lateral (
    select array_agg(distinct convert_from(substr(k.key, 2), 'UTF8')) as types_of_batch from tallystick.batch_keys k
    where e.kind = 'batch-notarized' and k.ledger_id = e.ledger_id and k.seq = e.seq and get_byte(k.key, 0) = ascii('T')
  ) b on true`

/**
 * SQL that decides whether agent $6 may see entry `e`. The agent sees only its own records. If $6 is null, everything
 * is visible. $8 is the agent's id in the form that other ledgers use.
 *
 * If the entry was received from another ledger, the agent sees the entry in two cases: the agent performs the entry's
 * record, or has made an offer for that record.
 */
const VISIBLE = `cross join lateral (
    select $6::uuid is null or (e.kind = 'batch-notarized' and e.actor_id = $6)
      or exists (select from tallystick.records n where e.kind <> 'entry-received'
        and n.ledger_id = e.ledger_id and n.record_id = a.record_id and (n.actor_id = $6 or n.on_behalf_of = $6) offset 0)
      or exists (select from tallystick.gated_records n where e.kind <> 'entry-received'
        and n.ledger_id = e.ledger_id and n.record_id = a.record_id and n.performer_id = $6 offset 0)
      or exists (select from tallystick.remote_records n where e.kind = 'entry-received'
        and n.ledger_id = e.ledger_id and n.record_id = a.record_id and n.peer_id = w.peer_id
        and n.standing::json ->> 'performer' = $8 offset 0)
      or exists (select from tallystick.offers n where e.kind = 'entry-received'
        and n.ledger_id = e.ledger_id and n.record_id = a.record_id and n.peer_id = w.peer_id and n.agent_id = $6 offset 0)
      as is_visible
  ) v`

type WantedRows = {
  readonly wantedMax: number
  readonly ownAgent: Uuid | null
  readonly isWanted: (row: Unfilled<EventRow>) => boolean
}

/**
 * Returns visible entries of `kinds` for which `isWanted` is true, from `from` to before `end`, in order. All entries
 * before `upTo` were checked.
 *
 * Checks at most `limit` entries and returns at most `wantedMax`. If `ownAgent` is not null, only records of this agent
 * are visible.
 *
 * A query has at most EVENT_BATCHES_PER_QUERY batches, because counting the records of a batch with several types takes
 * a millisecond. EVENT_OBJECTS_PER_PAGE limits reads of the archive.
 */
export async function listEventRows(
  db: Db,
  ledgerId: Uuid,
  filter: WantedRows & {
    readonly from: number
    readonly end: number
    readonly kinds: readonly string[]
    readonly limit: number
  },
): Promise<{ readonly rows: EventRow[]; readonly upTo: number }> {
  const { rows } = await db.query<Unfilled<VisibleEventRow> & UnreadBatch & { found: number }>({
    name: 'list_event_rows',
    text: `select ${EVENT_COLUMNS}, v.is_visible, e.found from (
        select *, count(*) over () as found,
          count(*) filter (where kind = 'batch-notarized') over (order by seq rows unbounded preceding) as batches
        from (
          select * from tallystick.entries
          where ledger_id = $1 and seq >= $2 and seq < $3 and kind = any($4) order by seq limit $5
        ) n
      ) e ${ABOUT} ${VISIBLE} where e.batches <= $7 order by e.seq`,
    values: [
      ledgerId,
      filter.from,
      filter.end,
      filter.kinds,
      filter.limit,
      filter.ownAgent,
      EVENT_BATCHES_PER_QUERY,
      filter.ownAgent && `${formatId('led', ledgerId)}/${formatId('agt', filter.ownAgent)}`,
    ],
  })
  const last = rows.at(-1)
  const isCut = rows.length === filter.limit || (last !== undefined && rows.length < last.found)
  const read = await takeWanted(db, ledgerId, rows, filter)
  const filled = await fillEnvelopes(db, ledgerId, read.rows)
  return { rows: filled, upTo: read.upTo ?? (isCut ? last!.seq + 1 : filter.end) }
}

/**
 * Returns the wanted rows among `rows`. All rows before seq `upTo` were checked. If `upTo` is null, all rows were
 * checked.
 */
async function takeWanted(
  db: Db,
  ledgerId: Uuid,
  rows: readonly (Unfilled<VisibleEventRow> & UnreadBatch)[],
  { wantedMax, ownAgent, isWanted }: WantedRows,
): Promise<{ readonly rows: Unfilled<EventRow>[]; readonly upTo: number | null }> {
  const wanted: Unfilled<EventRow>[] = []
  const isWithin = limitBundles(EVENT_OBJECTS_PER_PAGE)
  const { recording, pieces } = recordPieces(db)
  for (const row of rows) {
    try {
      await readBatchContent(recording, ledgerId, row, ownAgent)
    } catch (error) {
      // Returns the entries found before this entry at once, without waiting for the archive.
      if (!isUnreadable(error) || wanted.length === 0) throw error
      return { rows: wanted, upTo: row.seq }
    }
    if (row.isVisible && isWanted(row)) {
      if (!isWithin(row)) return { rows: wanted, upTo: row.seq }
      wanted.push(row)
    }
    if (wanted.length === wantedMax || pieces.size >= EVENT_OBJECTS_PER_PAGE)
      return { rows: wanted, upTo: row.seq + 1 }
  }
  return { rows: wanted, upTo: null }
}

/**
 * Returns the entries at `seqs`. Leaves out entries that do not exist. `unread` contains the seqs of entries whose
 * envelope or chunk could not be read from the archive.
 */
export async function findEventRows(
  db: Db,
  ledgerId: Uuid,
  seqs: readonly number[],
): Promise<{ readonly rows: EventRow[]; readonly unread: ReadonlySet<number> }> {
  const { rows } = await db.query<Unfilled<EventRow> & UnreadBatch>({
    name: 'find_event_rows',
    text: `select ${EVENT_COLUMNS} from unnest($2::bigint[]) s (seq)
      cross join lateral (
        select * from tallystick.entries n where n.ledger_id = $1 and n.seq = s.seq offset 0
      ) e ${ABOUT}`,
    values: [ledgerId, seqs],
  })
  const found: EventRow[] = []
  const unread = new Set<number>()
  for (const row of rows) {
    try {
      const [filled] = await fillEnvelopes(db, ledgerId, [row])
      await readBatchContent(db, ledgerId, filled!, null)
      found.push(filled!)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      unread.add(row.seq)
    }
  }
  return { rows: found, unread }
}

/**
 * Adds to the row the facts that only chunks contain: the number of a batch's records of each type, and the record of
 * an erasure.
 */
async function readBatchContent(
  db: Db,
  ledgerId: Uuid,
  row: Unfilled<EventRow> & UnreadBatch & { isVisible?: boolean },
  ownAgent: Uuid | null,
): Promise<void> {
  try {
    await readFromBatch(db, ledgerId, row, ownAgent)
  } catch (error) {
    if (!(error instanceof ProofError)) throw error
    row.chunkFault = error
  }
}

async function readFromBatch(
  db: Db,
  ledgerId: Uuid,
  row: Unfilled<EventRow> & UnreadBatch & { isVisible?: boolean },
  ownAgent: Uuid | null,
): Promise<void> {
  // A batch that the caller may not see is skipped, because decompressing it would be useless.
  if (row.kind === 'batch-notarized' && row.isVisible !== false)
    row.batchTypes = await countTypes(db, ledgerId, row)
  if (row.kind !== 'payload-erased' || row.recordId === null || !isOfBatch(row.recordId)) return
  const found = await findBatchRecord(db, ledgerId, row.recordId)
  if (found === null) return
  row.recordType = found.type
  row.recordTraceparent = found.traceparent
  if (ownAgent === found.actorId || ownAgent === found.onBehalfOf) row.isVisible = true
}

async function countTypes(
  db: Db,
  ledgerId: Uuid,
  { seq, itemCount, typesOfBatch }: Unfilled<EventRow> & UnreadBatch,
): Promise<Record<string, number>> {
  if (typesOfBatch?.length === 1) return { [typesOfBatch[0]!]: itemCount! }
  const counts = new Map<string, number>()
  for (const { type } of await listBatchRecords(db, ledgerId, seq))
    counts.set(type, (counts.get(type) ?? 0) + 1)
  return Object.fromEntries(counts)
}

export type CheckpointRow = { size: number; note: string; publishedAt: Date }

/** Lists checkpoints with a size above `after` and up to `upTo`, smallest first. */
export async function listCheckpoints(
  db: Db,
  ledgerId: Uuid,
  range: { readonly after: number; readonly upTo: number; readonly limit: number },
): Promise<CheckpointRow[]> {
  const { rows } = await db.query<CheckpointRow>({
    name: 'list_event_checkpoints',
    text: `select size, note, published_at from tallystick.checkpoints
      where ledger_id = $1 and size > $2 and size <= $3 order by size limit $4`,
    values: [ledgerId, range.after, range.upTo, range.limit],
  })
  return rows
}

/** Returns the checkpoints of the given sizes. Leaves out checkpoints that do not exist. */
export async function findCheckpointRows(
  db: Db,
  ledgerId: Uuid,
  sizes: readonly number[],
): Promise<CheckpointRow[]> {
  const { rows } = await db.query<CheckpointRow>({
    name: 'find_event_checkpoints',
    text: `select size, note, published_at from tallystick.checkpoints where ledger_id = $1 and size = any($2)`,
    values: [ledgerId, sizes],
  })
  return rows
}

/**
 * A ledger's number of entries, the size of its newest checkpoint, and its verified size. `checkpoint` is 0 if the
 * ledger has no checkpoint. All members are 0 if the ledger does not exist.
 */
export type LedgerEnds = { readonly size: number; readonly checkpoint: number; readonly verifiedSize: number }

export type EndColumns = VerifiedSizeColumns & { size: number | null; checkpoint: number | null }

export function endsOf(cursorMac: CursorMac, ledgerId: Uuid, row: EndColumns): LedgerEnds {
  const verifiedSize = verifiedSizeOf(cursorMac, ledgerId, row)
  return { size: row.size ?? 0, checkpoint: row.checkpoint ?? 0, verifiedSize }
}

/** Returns the three sizes of each ledger, in the order of `ledgerIds`. */
export async function readEnds(
  db: Db,
  cursorMac: CursorMac,
  ledgerIds: readonly Uuid[],
): Promise<LedgerEnds[]> {
  const { rows } = await db.query<EndColumns>({
    name: 'read_ends',
    text: `select h.size, c.size as checkpoint, ${VERIFIED_SIZE_COLUMNS}
      from unnest($1::uuid[]) with ordinality l (ledger_id, ix)
      left join lateral (
        select n.size from tallystick.chain_heads n where n.ledger_id = l.ledger_id offset 0
      ) h on true
      left join lateral (
        select n.size from tallystick.checkpoints n where n.ledger_id = l.ledger_id order by n.size desc limit 1
      ) c on true
      ${joinVerifiedSize('l.ledger_id')}
      order by l.ix`,
    values: [ledgerIds],
  })
  return rows.map((row, i) => endsOf(cursorMac, ledgerIds[i]!, row))
}

/** Documents of an entry that is not a batch. */
type EventDocuments = { readonly records: EntryRecordRow[]; readonly documents: EntryDocumentRow[] }

/**
 * Returns a map from an entry's seq to its documents. Leaves out a document that an entry has erased, although it may
 * still be stored for a moment.
 */
export async function readEventDocuments(
  db: Db,
  ledgerId: Uuid,
  seqs: readonly number[],
): Promise<Map<number, EventDocuments>> {
  const values = [ledgerId, seqs]
  const [records, documents] = await Promise.all([
    db.query<EntryRecordRow>({
      name: 'read_event_records',
      text: `select r.record_id, r.first_seq, r.digest,
          case when x.seq is null then r.salt end as salt, case when x.seq is null then r.payload end as payload,
          case when x.seq is null then r.reference_list end as reference_list, x.seq as payload_erased_seq
        from unnest($2::bigint[]) s (seq)
        cross join lateral (
          select * from tallystick.records n where n.ledger_id = $1 and n.first_seq = s.seq offset 0
        ) r
        left join lateral (
          select d.seq from tallystick.erasures d
          where d.ledger_id = $1 and d.subject_id = r.record_id and d.document = 'payload' and d.document_seq = s.seq offset 0
        ) x on true`,
      values,
    }),
    db.query<EntryDocumentRow>({
      name: 'read_event_documents',
      text: `select c.seq, c.document, c.subject_id, c.digest, case when x.seq is null then c.salt end as salt,
          case when x.seq is null then c.content end as content, x.seq as erased_seq
        from unnest($2::bigint[]) s (seq)
        cross join lateral (
          select * from tallystick.documents n where n.ledger_id = $1 and n.seq = s.seq offset 0
        ) c
        left join lateral (
          select d.seq from tallystick.erasures d
          where d.ledger_id = $1 and d.subject_id = c.subject_id and d.document = c.document and d.document_seq = c.seq offset 0
        ) x on true`,
      values,
    }),
  ])
  const found = new Map(
    seqs.map((seq) => [seq, { records: [] as EntryRecordRow[], documents: [] as EntryDocumentRow[] }]),
  )
  for (const row of records.rows) found.get(row.firstSeq)!.records.push(row)
  for (const row of documents.rows) found.get(row.seq)!.documents.push(row)
  return found
}
