import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { indexOfRecordId, isOfBatch } from '../../proof/statement/batch-ids.ts'
import type { OtherMembers } from '../../proof/statement/record-members.ts'
import type { RecordKey } from '../chain/signed-entries.ts'
import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import {
  type BatchRecord,
  CHUNK_BYTES,
  CHUNK_COLUMNS,
  CHUNK_ERASURES,
  type ChunkColumns,
  chunkIdOf,
  copyOf,
  digestOf,
  hasRecord,
  recordsOfChunk,
} from '../chunks/read-chunks.ts'
import { isUnreadable, NO_ARCHIVE } from '../connect/archive.ts'
import type { Db } from '../connect/client.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'
import { LOOKUP_CHUNK_BYTES_MAX } from '../limits.ts'

/** A record together with its newest entry. */
export type RecordRowRead = RecordColumns & (GatedColumns | { [Name in keyof GatedColumns]: null })

export type GatedRecordRow = RecordColumns & GatedColumns

type Texts = 'digest' | 'salt' | 'payload' | 'metadata' | 'referenceList' | 'tolerances' | 'leaf' | 'chain'
/** Columns of a row. Those in `Texts` are bytes, or texts as the API shows them: JSON, hex or base64url. */
export type Rendered<Row> = Row extends unknown
  ? { [Name in keyof Row]: Name extends Texts ? Row[Name] | string : Row[Name] }
  : never

/**
 * A row of a record that renderRow accepts. A row from RECORD_COLUMNS has bytes. A row from SHOWN_COLUMNS has texts for
 * hashes and salts. A row that a write made from its own signed data has only texts.
 */
export type RenderedRow = Rendered<RecordRowRead>

type RecordColumns = {
  recordId: Uuid
  type: string
  state: string
  version: number
  actorId: Uuid
  onBehalfOf: Uuid | null
  parentId: Uuid | null
  occurredAt: Date | null
  otherMembers: OtherMembers | null
  digest: Buffer
  /** Salt of the payload. null as soon as the entry at `erasureSeq` erases the payload. */
  salt: Buffer | null
  payload: Buffer | null
  metadata: Buffer | null
  /** Canonical JSON of a list of texts. */
  referenceList: Buffer | null
  erasureSeq: number | null
  erasureActorId: Uuid | null
  erasureRecordedAt: Date | null
  erasureEnvelope: Buffer | null
  keyId: Uuid
  subjectId: Uuid
  recordedAt: Date
  seq: number
  kind: string
  leaf: Buffer
  chain: Buffer
  signedBy: 'agent' | 'server'
}

/** State and terms of a gated record. */
export type GatedColumns = {
  gate: 'principal' | 'auto'
  principalId: Uuid
  performerId: Uuid | null
  deadline: Date | null
  maxRevisions: number
  revisions: number
  /** Tolerances as canonical JSON. */
  tolerances: Buffer | null
  /**
   * Id of a performer in another ledger, `led_…/agt_…`. In this case `performerId` is a local id that is computed from
   * it (src/proof/statement/remote-agents.ts).
   */
  performerRemote: string | null
  /**
   * Peers with which the record is shared, sorted by peer. `seq` is the entry that shared the record with the peer.
   * null if the record is not shared.
   */
  share: readonly ShareColumn[] | null
}

export type ShareColumn = {
  readonly peerId: Uuid
  readonly documents: 'whole' | 'digests'
  readonly seq: number
}

const SIGNED_BY = "case when e.signer_kid is null then 'server' else 'agent' end as signed_by"

/**
 * SQL for the columns of a record from RECORD_TABLES. Aliases:
 *
 * - `r`: the record
 * - `g`: its state, if it is gated
 * - `e`: its newest entry
 * - `f`: columns of its first entry
 * - `d`: its erasure
 * - `x`: the erasing entry
 */
export const RECORD_COLUMNS: string = columnsOf({ json: asIs, hex: asIs, salt: asIs })

/**
 * SQL for the columns of a RenderedRow from RECORD_TABLES. A query with these columns MUST use PACKED_TYPES. Postgres
 * writes hashes and salts as the API shows them, and documents in base64, which is two thirds of the usual hex.
 */
export const SHOWN_COLUMNS: string = columnsOf({
  json: asBase64,
  hex: (column) => `encode(${column}, 'hex')`,
  salt: (column) => `translate(rtrim(encode(${column}, 'base64'), '='), '+/', '-_')`,
})

type Format = (column: string) => string

function asIs(column: string): string {
  return column
}

function columnsOf({ json, hex, salt }: { readonly [Name in 'json' | 'hex' | 'salt']: Format }): string {
  const shown = (column: string, format: Format) =>
    `case when d.seq is null then ${format(`r.${column}`)} end as ${column}`
  return `r.record_id, r.type, coalesce(g.state, 'RECORDED') as state, coalesce(g.version, 1) as version,
  g.gate, g.principal_id, g.performer_id, g.deadline, g.max_revisions, g.revisions, ${json('g.tolerances')} as tolerances,
  g.performer_remote, case when g.gate is not null then (
    select json_agg(json_build_object('peerId', s.peer_id, 'documents', s.documents, 'seq', s.shared_seq) order by s.peer_id)
    from tallystick.shared_records s where s.ledger_id = r.ledger_id and s.record_id = r.record_id
  ) end as share,
  r.actor_id, r.on_behalf_of, r.parent_id, r.other_members,
  r.occurred_at, ${hex('r.digest')} as digest, f.key_id, e.subject_id, f.recorded_at, e.seq, e.kind,
  ${hex('e.leaf')} as leaf, ${hex('e.chain')} as chain, ${SIGNED_BY},
  ${shown('salt', salt)}, ${shown('payload', json)}, ${shown('metadata', json)}, ${shown('reference_list', json)},
  x.seq as erasure_seq, x.actor_id as erasure_actor_id, x.recorded_at as erasure_recorded_at,
  x.envelope as erasure_envelope`
}

const ERASURE = `left join lateral (
    select d.seq from tallystick.erasures d
    where d.ledger_id = r.ledger_id and d.subject_id = r.record_id and d.document = 'payload'
      and d.document_seq = r.first_seq offset 0
  ) d on true
  left join lateral (
    select * from tallystick.entries n where n.ledger_id = r.ledger_id and n.seq = d.seq offset 0
  ) x on true`

const GATED = `left join lateral (
    select * from tallystick.gated_records n where n.ledger_id = r.ledger_id and n.record_id = r.record_id offset 0
  ) g on true`

/**
 * SQL for the tables of a record. It uses lateral joins. A plain join could be planned while the tables are empty, and
 * the cached plan would later read all entries of the ledger.
 */
export const RECORD_TABLES = `tallystick.records r
  ${GATED}
  cross join lateral (
    select * from tallystick.entries n
    where n.ledger_id = r.ledger_id and n.seq = coalesce(g.last_seq, r.first_seq) offset 0
  ) e
  cross join lateral (
    select e.key_id, e.recorded_at where e.seq = r.first_seq
    union all
    select n.key_id, n.recorded_at from tallystick.entries n
    where e.seq <> r.first_seq and n.ledger_id = r.ledger_id and n.seq = r.first_seq
    offset 0
  ) f
  ${ERASURE}`

/**
 * Result of a look-up. null if the record does not exist. A ProofError (`chunk_syntax`) if the record's chunk cannot be
 * read.
 */
export type FoundRecord = RecordRowRead | ReleasedRecord | ProofError | null

/** A record in a chunk whose content has left Postgres (docs/operate/backup-and-archive.md#content-that-leaves-postgres). */
type ReleasedRecord = { readonly recordId: Uuid; readonly releasedChunk: BatchRow }

/**
 * Returns the records in the order of `keys`. The result has null for a record that does not exist. Throws ProofError
 * `chunk_syntax` and ApiError `archive_unavailable`.
 */
export async function findRecords(db: Db, keys: readonly RecordKey[]): Promise<(RecordRowRead | null)[]> {
  return readReleased(db, await findEachRecord(db, keys))
}

/**
 * Reads released records from the archive, each chunk once. Throws the first error among the found records.
 *
 * All records MUST belong to one caller, because one ledger's archive may be slow, and other callers must not wait for
 * it.
 */
export async function readReleased(db: Db, found: readonly FoundRecord[]): Promise<(RecordRowRead | null)[]> {
  const rows: (RecordRowRead | null)[] = []
  const released: (ReleasedRecord & { readonly index: number })[] = []
  for (const [index, one] of found.entries()) {
    if (one instanceof Error) throw one
    const isReleased = one !== null && 'releasedChunk' in one
    if (isReleased) released.push({ ...one, index })
    rows.push(isReleased ? null : one)
  }
  const items: BatchRecordOfRow[] = []
  const indexes: number[] = []
  for (const [row, ofRow] of Map.groupBy(released, ({ releasedChunk }) => releasedChunk)) {
    const records = await recordsOfChunk(db, row)
    for (const { recordId, index } of ofRow) {
      indexes.push(index)
      items.push({ row, record: copyOf(records[indexOfRecordId(recordId) % CHUNK_RECORDS]!) })
    }
  }
  const read = items.length === 0 ? [] : await readBatchRecords(db, items)
  for (const [i, index] of indexes.entries()) rows[index] = read[i]!
  return rows
}

/**
 * Finds records for several callers together. An error affects only its own record. If a record's content is in the
 * archive, this function does not read it, but readReleased does.
 */
export async function findEachRecord(db: Db, keys: readonly RecordKey[]): Promise<FoundRecord[]> {
  const found: FoundRecord[] = keys.map(() => null)
  const wanted = keys.map((key, i) => ({ ...key, i }))
  const [own, ofBatches] = [
    wanted.filter((key) => !isOfBatch(key.recordId)),
    wanted.filter((key) => isOfBatch(key.recordId)),
  ]
  await Promise.all([
    own.length > 0 && findOwn(db, own, found),
    ofBatches.length > 0 && findOfBatches(db, ofBatches, found),
  ])
  return found
}

type NumberedKey = RecordKey & { readonly i: number }

async function findOwn(db: Db, keys: readonly NumberedKey[], found: FoundRecord[]): Promise<void> {
  const { rows } = await db.query<RecordRowRead & { ix: number }>({
    name: 'find_records',
    text: `select k.ix, w.* from unnest($1::uuid[], $2::uuid[], $3::int4[]) k (ledger_id, record_id, ix)
      cross join lateral (
        select ${RECORD_COLUMNS} from ${RECORD_TABLES}
        where r.ledger_id = k.ledger_id and r.record_id = k.record_id offset 0
      ) w`,
    values: [
      keys.map(({ ledgerId }) => ledgerId),
      keys.map(({ recordId }) => recordId),
      keys.map(({ i }) => i),
    ],
  })
  for (const row of rows) found[row.ix] = row
}

/**
 * Finds records in batches. Reads and decompresses each chunk once, even if several of its records are wanted. Reads at
 * most LOOKUP_CHUNK_BYTES_MAX at a time.
 */
async function findOfBatches(db: Db, keys: readonly NumberedKey[], found: FoundRecord[]): Promise<void> {
  const wanted = Map.groupBy(keys, ({ ledgerId, recordId }) => `${ledgerId} ${chunkIdOf(recordId)}`)
  const indexes: number[] = []
  const items: BatchRecordOfRow[] = []
  let chunks = [...wanted.values()]
  while (chunks.length > 0) {
    const rows = await readWantedChunks(
      db,
      chunks.map(([first]) => first!),
    )
    for (const [i, row] of rows.entries()) {
      if (row === 'later' || row === null) continue
      const contained = chunks[i]!.filter(({ recordId }) => hasRecord(row, recordId))
      const records = await tryRecordsOf(row)
      for (const { i: index, recordId } of contained) {
        if (records === null) found[index] = { recordId, releasedChunk: row }
        else if (records instanceof Error) found[index] = records
        else {
          indexes.push(index)
          items.push({ row, record: copyOf(records[indexOfRecordId(recordId) % CHUNK_RECORDS]!) })
        }
      }
    }
    chunks = chunks.filter((_, i) => rows[i] === 'later')
  }
  const read = await readBatchRecords(db, items)
  for (const [j, index] of indexes.entries()) found[index] = read[j]!
}

/**
 * Decodes a chunk's records. Returns null if the content is in the archive. Returns the error if the chunk cannot be
 * read, so that only look-ups of the chunk's own records fail.
 */
async function tryRecordsOf(row: BatchRow): Promise<BatchRecord[] | ProofError | null> {
  try {
    return await recordsOfChunk(NO_ARCHIVE, row)
  } catch (error) {
    if (error instanceof ProofError) return error
    if (isUnreadable(error)) return null
    throw error
  }
}

/**
 * Returns the chunks in the order of `keys`. The result has null for a chunk that does not exist. It has `later` for a
 * chunk that was not read, because earlier chunks have reached the limit of bytes.
 */
async function readWantedChunks(db: Db, keys: readonly RecordKey[]): Promise<(BatchRow | 'later' | null)[]> {
  const { rows } = await db.query<BatchRow & { ix: number; isLate: boolean }>({
    name: 'find_records_of_batches',
    text: `with sized as (
        select k.*, sum(n.bytes) over (order by k.ix) as bytes
        from unnest($1::uuid[], $2::uuid[]) with ordinality k (ledger_id, chunk_id, ix)
        cross join lateral (
          select ${CHUNK_BYTES} as bytes from tallystick.batch_chunks n
          where n.ledger_id = k.ledger_id and n.first_record_id = k.chunk_id offset 0
        ) n
      )
      select k.ix, w.record_id is null as is_late, w.* from sized k left join lateral (
        select c.first_record_id as record_id, ${BATCH_COLUMNS} from ${BATCH_TABLES}
        where c.ledger_id = k.ledger_id and c.first_record_id = k.chunk_id and (k.bytes <= $3 or k.ix = 1) offset 0
      ) w on true`,
    values: [
      keys.map(({ ledgerId }) => ledgerId),
      keys.map(({ recordId }) => chunkIdOf(recordId)),
      LOOKUP_CHUNK_BYTES_MAX,
    ],
    types: PACKED_TYPES,
  })
  const byPlace = new Map(rows.map((row) => [row.ix, row]))
  return keys.map((_, i) => {
    const row = byPlace.get(i + 1)
    if (!row) return null
    return row.isLate ? 'later' : row
  })
}

/** SQL for columns of BATCH_TABLES: a chunk `c`, its batch's entry `e`, and the erasures `d` of its records. */
export const BATCH_COLUMNS = `${CHUNK_COLUMNS}, c.ledger_id, e.actor_id, e.key_id, e.subject_id, e.recorded_at, e.kind, e.leaf, e.chain, ${SIGNED_BY}`

export const BATCH_TABLES = `tallystick.batch_chunks c
  cross join lateral (
    select * from tallystick.entries n where n.ledger_id = c.ledger_id and n.seq = c.seq offset 0
  ) e
  ${CHUNK_ERASURES}`

export type BatchRow = ChunkColumns &
  Pick<
    RecordColumns,
    'actorId' | 'keyId' | 'subjectId' | 'recordedAt' | 'kind' | 'leaf' | 'chain' | 'signedBy'
  > & {
    ledgerId: Uuid
  }

type BatchRecordOfRow = { readonly row: BatchRow; readonly record: BatchRecord }

/**
 * Returns records of batches with the same columns as other records. For erased records, it also reads the erasing
 * entries.
 */
export async function readBatchRecords(
  db: Db,
  records: readonly BatchRecordOfRow[],
): Promise<RecordRowRead[]> {
  const erased = records.filter(({ record }) => record.erasedSeq !== null)
  const erasures = erased.length === 0 ? new Map<string, ErasureColumns>() : await findErasures(db, erased)
  return records.map(({ row, record }) => {
    const erasure = erasures.get(`${row.ledgerId} ${record.erasedSeq}`) ?? NOT_ERASED
    return {
      ...NOT_GATED,
      ...erasure,
      recordId: record.recordId,
      type: record.type,
      state: 'RECORDED',
      version: 1,
      actorId: row.actorId,
      onBehalfOf: record.onBehalfOf,
      parentId: record.parentId,
      otherMembers: record.otherMembers,
      occurredAt: record.occurredAtMs === null ? null : new Date(record.occurredAtMs),
      digest: Buffer.from(digestOf(record)),
      salt: record.salt,
      payload: record.payload,
      metadata: record.metadata,
      referenceList: record.references,
      keyId: row.keyId,
      subjectId: row.subjectId,
      recordedAt: row.recordedAt,
      seq: row.seq,
      kind: row.kind,
      leaf: row.leaf,
      chain: row.chain,
      signedBy: row.signedBy,
    }
  })
}

type ErasureColumns = Pick<
  RecordColumns,
  'erasureSeq' | 'erasureActorId' | 'erasureRecordedAt' | 'erasureEnvelope'
>

export const NOT_ERASED: ErasureColumns = {
  erasureSeq: null,
  erasureActorId: null,
  erasureRecordedAt: null,
  erasureEnvelope: null,
}

export const NOT_GATED = {
  gate: null,
  principalId: null,
  performerId: null,
  deadline: null,
  maxRevisions: null,
  revisions: null,
  tolerances: null,
  performerRemote: null,
  share: null,
} as const

async function findErasures(
  db: Db,
  records: readonly BatchRecordOfRow[],
): Promise<Map<string, ErasureColumns>> {
  const { rows } = await db.query<ErasureColumns & { ledgerId: Uuid }>({
    name: 'find_erasures_of_batches',
    text: `select k.ledger_id, x.seq as erasure_seq, x.actor_id as erasure_actor_id, x.recorded_at as erasure_recorded_at,
        x.envelope as erasure_envelope
      from unnest($1::uuid[], $2::int8[]) k (ledger_id, seq)
      cross join lateral (
        select * from tallystick.entries n where n.ledger_id = k.ledger_id and n.seq = k.seq offset 0
      ) x`,
    values: [records.map(({ row }) => row.ledgerId), records.map(({ record }) => record.erasedSeq)],
  })
  return new Map(rows.map(({ ledgerId, ...erasure }) => [`${ledgerId} ${erasure.erasureSeq}`, erasure]))
}

/** Returns the records that the entry at `seq` notarized, in batch order. */
export async function listRecordsOfEntry(pool: Db, ledgerId: Uuid, seq: number): Promise<RecordRowRead[]> {
  const chunks = await pool.query<BatchRow>({
    name: 'list_chunks_of_entry',
    text: `select ${BATCH_COLUMNS} from ${BATCH_TABLES} where c.ledger_id = $1 and c.seq = $2 order by c.chunk`,
    values: [ledgerId, seq],
    types: PACKED_TYPES,
  })
  if (chunks.rows.length > 0) {
    const records: BatchRecordOfRow[] = []
    for (const row of chunks.rows)
      for (const record of await recordsOfChunk(pool, row)) records.push({ row, record })
    return readBatchRecords(pool, records)
  }
  const { rows } = await pool.query<RecordRowRead>({
    name: 'list_records_of_entry',
    // The query finds the record by its id, which is the subject of its first entry. Without the id, a plan that was
    // made for empty tables may be slow.
    text: `select ${RECORD_COLUMNS} from ${RECORD_TABLES}
      where r.ledger_id = $1 and r.first_seq = $2 and r.record_id = (
        select n.subject_id from tallystick.entries n where n.ledger_id = $1 and n.seq = $2)`,
    values: [ledgerId, seq],
  })
  return rows
}
