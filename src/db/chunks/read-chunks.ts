import { setImmediate } from 'node:timers/promises'
import type { Uuid } from '../../proof/ids.ts'
import { indexOfRecordId, isOfBatch, recordIdAt } from '../../proof/statement/batch-ids.ts'
import { nativeProviders } from '../../signing/native.ts'
import type { Db } from '../connect/client.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'
import { CHUNK_RECORDS, type ChunkRecord, decodeChunk } from './chunk-content.ts'
import { payloadDigest, referencesDigest } from './item.ts'
import { ERASURES_OF_CHUNK, fillReleased, RELEASED, type ReleasedColumn } from './released-chunks.ts'

/* The one way to the records of batches: SQL that reads chunks, and what the rows hold. */

/**
 * SQL: columns of a chunk `c`, and its records whose erasure an entry says, though the worker may not have taken them away yet. A
 * query that has them MUST have PACKED_TYPES, and its rows MUST go through fillReleased.
 */
export const CHUNK_COLUMNS = `c.seq, c.chunk, c.first_record_id, c.count, ${asBase64('c.content')} as content, d.erasures, ${RELEASED}`

/** SQL: length of the content of a chunk `n`, known without reading it; of one that has left, as long as it was. */
export const CHUNK_BYTES = 'coalesce(n.released_bytes, length(n.content))'

export const CHUNK_ERASURES = `left join lateral (${ERASURES_OF_CHUNK}) d on true`

export type ChunkColumns = {
  /** Place of the batch's entry. */
  seq: number
  chunk: number
  firstRecordId: Uuid
  count: number
  /** null of one that has left, until fillReleased. */
  content: Buffer
  erasures: [recordId: Uuid, seq: number][] | null
  /** null: the content is here. */
  released: ReleasedColumn | null
}

/** A record of a batch. Bytes are canonical JSON. */
export type BatchRecord = Omit<ChunkRecord, 'document'> & {
  readonly recordId: Uuid
  /** Place of the batch's entry. */
  readonly seq: number
  /** Place in the batch. */
  readonly index: number
  /** Null once an entry says that they are erased, whether they were taken away or not. */
  readonly salt: Buffer | null
  readonly payload: Buffer | null
  readonly references: Buffer | null
  readonly metadata: Buffer | null
  readonly erasedSeq: number | null
  readonly document: ChunkRecord['document']
}

/** The chunk that has the record; null: the ledger has no such record of a batch. */
export async function findChunk(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
): Promise<(ChunkColumns & { actorId: Uuid }) | null> {
  if (!isOfBatch(recordId)) return null
  const { rows } = await db.query<ChunkColumns & { actorId: Uuid }>({
    name: 'find_chunk',
    text: `select ${CHUNK_COLUMNS}, e.actor_id from tallystick.batch_chunks c
      cross join lateral (
        select n.actor_id from tallystick.entries n where n.ledger_id = c.ledger_id and n.seq = c.seq offset 0
      ) e
      ${CHUNK_ERASURES}
      where c.ledger_id = $1 and c.first_record_id = $2`,
    values: [ledgerId, chunkIdOf(recordId)],
    types: PACKED_TYPES,
  })
  const [row] = rows
  if (!row || !holdsRecord(row, recordId)) return null
  await fillReleased(db, [row])
  return row
}

/** The record of a batch, and the agent that notarized it; null: the ledger has none of that id. */
export async function findBatchRecord(
  db: Db,
  ledgerId: Uuid,
  recordId: Uuid,
): Promise<(BatchRecord & { readonly actorId: Uuid }) | null> {
  const chunk = await findChunk(db, ledgerId, recordId)
  return chunk && { ...recordOfChunk(chunk, recordId), actorId: chunk.actorId }
}

/** The records of the batch at `seq`, in their order. Others have their turn between two chunks. */
export async function listBatchRecords(db: Db, ledgerId: Uuid, seq: number): Promise<BatchRecord[]> {
  const { rows } = await db.query<ChunkColumns>({
    name: 'list_chunks',
    text: `select ${CHUNK_COLUMNS} from tallystick.batch_chunks c ${CHUNK_ERASURES}
      where c.ledger_id = $1 and c.seq = $2 order by c.chunk`,
    values: [ledgerId, seq],
    types: PACKED_TYPES,
  })
  const records: BatchRecord[] = []
  for (const [i, row] of rows.entries()) {
    if (i > 0) await setImmediate()
    await fillReleased(db, [row])
    records.push(...recordsOfChunk(row))
  }
  return records
}

/**
 * Records of a chunk, in their order: all, or those that `isWanted` by their place in the batch. Throws ProofError
 * `chunk_syntax`.
 */
export function recordsOfChunk(
  row: ChunkColumns,
  isWanted: (record: ChunkRecord, index: number) => boolean = () => true,
): BatchRecord[] {
  const erasures = new Map(row.erasures)
  const records: BatchRecord[] = []
  for (const [i, record] of decodeChunk(row.content, row.count).entries())
    if (isWanted(record, row.chunk * CHUNK_RECORDS + i)) records.push(batchRecord(row, erasures, record, i))
  return records
}

/** The record of that id, which MUST be of the chunk. It does not hold the others' bytes. */
export function recordOfChunk(row: ChunkColumns, recordId: Uuid): BatchRecord {
  const i = indexOfRecordId(recordId) % CHUNK_RECORDS
  return copyOf(batchRecord(row, new Map(row.erasures), decodeChunk(row.content, row.count)[i]!, i))
}

/** The same in buffers of its own: those of decodeChunk are views of one that may have megabytes. */
export function copyOf(record: BatchRecord): BatchRecord {
  const { salt, payload, references, metadata } = record
  const own = (bytes: Buffer | null) => bytes && Buffer.from(bytes)
  return {
    ...record,
    salt: own(salt),
    payload: own(payload),
    references: own(references),
    metadata: own(metadata),
  }
}

function batchRecord(
  row: ChunkColumns,
  erasures: ReadonlyMap<Uuid, number>,
  record: ChunkRecord,
  i: number,
): BatchRecord {
  const { document } = record
  const index = row.chunk * CHUNK_RECORDS + i
  const recordId = recordIdAt(row.firstRecordId, index)
  const erasedSeq = erasures.get(recordId) ?? document.erasedSeq ?? null
  const shown = document.erasedSeq === undefined && erasedSeq === null ? document : null
  return {
    ...record,
    recordId,
    seq: row.seq,
    index,
    salt: shown && (shown.salt as Buffer),
    payload: shown && (shown.payload as Buffer),
    references: shown && (shown.references as Buffer | null),
    metadata: shown && (shown.metadata as Buffer | null),
    erasedSeq,
  }
}

/** Digest of the record's payload, as its batch signs it. */
export function digestOf(record: Pick<ChunkRecord, 'document'>): Uint8Array {
  return payloadDigest(nativeProviders.sha256, record)
}

/** Digest of its references; null: it has none. */
export function referencesDigestOf(record: Pick<ChunkRecord, 'document'>): Uint8Array | null {
  return referencesDigest(nativeProviders.sha256, record)
}

/** The first id of the chunk in which a record of a batch with this id lies. */
export function chunkIdOf(recordId: Uuid): Uuid {
  const index = indexOfRecordId(recordId)
  return recordIdAt(recordId, index - (index % CHUNK_RECORDS))
}

/** Whether the chunk has the record: its last one may hold fewer than 64. */
export function holdsRecord({ count }: Pick<ChunkColumns, 'count'>, recordId: Uuid): boolean {
  return indexOfRecordId(recordId) % CHUNK_RECORDS < count
}

type Stretch = {
  readonly seq: number
  readonly chunk: number
  readonly end: number
  readonly limit: number
}

/** Chunks behind the one at `seq` and `chunk`, of entries before `end`, whose content has not left, in order. */
export async function listChunksHere(
  db: Db,
  ledgerId: Uuid,
  { seq, chunk, end, limit }: Stretch,
): Promise<ChunkColumns[]> {
  const { rows } = await db.query<ChunkColumns>({
    name: 'list_chunks_here',
    text: `select ${CHUNK_COLUMNS} from tallystick.batch_chunks c ${CHUNK_ERASURES}
      where c.ledger_id = $1 and (c.seq, c.chunk) > ($2::int8, $3::int4) and c.seq < $4 and c.content is not null
      order by c.seq, c.chunk limit $5`,
    values: [ledgerId, seq, chunk, end, limit],
    types: PACKED_TYPES,
  })
  return rows
}
