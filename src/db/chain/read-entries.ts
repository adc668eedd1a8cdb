import type pg from 'pg'
import type { LineSigner } from '../../proof/entry/entry-line.ts'
import type { Uuid } from '../../proof/ids.ts'
import {
  type BatchRecord,
  CHUNK_BYTES,
  CHUNK_COLUMNS,
  CHUNK_ERASURES,
  type ChunkColumns,
  recordsOfChunk,
} from '../chunks/read-chunks.ts'
import type { Db } from '../connect/client.ts'
import { asBase64, PACKED_TYPES } from '../connect/packed-bytes.ts'
import {
  STREAM_BYTES_PER_QUERY,
  STREAM_CHUNKS_PER_QUERY,
  STREAM_ENTRIES_PER_QUERY,
  STREAM_RECORDS_PER_QUERY,
} from '../limits.ts'
import type { DocumentName } from './append-entries.ts'
import { queryEntries } from './envelopes.ts'

export type EntryRowRead = {
  seq: number
  kind: string
  recordedAt: Date
  leaf: Buffer
  chain: Buffer
  envelope: Buffer
  /** The agent's own key that signed the entry. null if the server signed the entry. */
  signer: LineSigner | null
}

/**
 * Returns SQL for the agent's own key that signed an entry. `entry` is the SQL alias of the entry. The SQL gives null
 * if the server signed the entry. It uses a `case`, because the server signs most entries, which then need no look-up.
 */
export const signerOf = (entry: string) => `case when ${entry}.signer_kid is not null then (
    select json_build_object('alg', k.alg, 'spki', translate(encode(k.spki, 'base64'), E'\\n', ''))
    from tallystick.agent_signing_keys k where k.ledger_id = ${entry}.ledger_id and k.kid = ${entry}.signer_kid
  ) end`

export type EntryRecordRow = {
  recordId: Uuid
  firstSeq: number
  digest: Buffer
  salt: Buffer | null
  payload: Buffer | null
  referenceList: Buffer | null
  payloadErasedSeq: number | null
}

/** Returns the number of entries, or null if the ledger does not exist. */
export async function findSize(db: Db, ledgerId: Uuid): Promise<number | null> {
  const { rows } = await db.query<{ size: number }>(
    'select size from tallystick.chain_heads where ledger_id = $1',
    [ledgerId],
  )
  return rows[0] ? rows[0].size : null
}

/** Returns the id of the subject of the entry at `seq`. Returns null if the entry has no subject or does not exist. */
export async function findSubject(db: Db, ledgerId: Uuid, seq: number): Promise<Uuid | null> {
  const { rows } = await db.query<{ subjectId: Uuid | null }>(
    'select subject_id from tallystick.entries where ledger_id = $1 and seq = $2',
    [ledgerId, seq],
  )
  const id = rows[0]?.subjectId ?? null
  return id
}

/** Returns the envelopes of the entries from `from` to before `end`, in order. */
export async function readEnvelopes(db: Db, ledgerId: Uuid, from: number, end: number): Promise<Buffer[]> {
  const entries = await queryEntries<{ seq: number; leaf: Buffer; envelope: Buffer }>(db, ledgerId, {
    name: 'read_envelopes',
    text: `select seq, leaf, ${asBase64('envelope')} as envelope from tallystick.entries
      where ledger_id = $1 and seq >= $2 and seq < $3 order by seq`,
    values: [ledgerId, from, end],
    types: PACKED_TYPES,
  })
  return entries.map(({ envelope }) => envelope)
}

/** A document of a step of a gated record. The step's entry `seq` contains the document's digest. */
export type EntryDocumentRow = {
  seq: number
  document: DocumentName
  subjectId: Uuid
  digest: Buffer
  salt: Buffer | null
  content: Buffer | null
  erasedSeq: number | null
}

/** An envelope of another ledger. `seq` is the position of the entry in this ledger that says that it was received. */
type EntryReceivedRow = { seq: number; envelope: Buffer }

export type EntryRead = {
  readonly entry: EntryRowRead
  readonly records: EntryRecordRow[]
  /**
   * Records of a batch. null for other entries. The records come chunk by chunk, because a full batch may have
   * megabytes. They MUST be consumed before the next entry.
   */
  readonly items: AsyncIterable<BatchRecord[]> | null
  readonly documents: EntryDocumentRow[]
  readonly received: Buffer | null
}

/**
 * Yields the entries from `from` to before `end`, in order. Each comes with its records and its other documents. An
 * entry about a received entry of another ledger also comes with the received envelope.
 *
 * Uses many short queries of bounded size, so that a slow client occupies neither a snapshot nor much memory. This is
 * safe because entries never change between queries.
 */
export async function* readEntries(
  db: Db,
  ledgerId: Uuid,
  from: number,
  end: number,
): AsyncGenerator<EntryRead> {
  const allRecords = readRecords(db, ledgerId, from, end)
  const allChunks = readChunks(db, ledgerId, from, end)
  const allDocuments = readDocuments(db, ledgerId, from, end)
  const allReceived = readReceived(db, ledgerId, from, end)
  let next = from
  for await (const entry of readRows(db, ledgerId, from, end).all()) {
    const { seq } = entry
    const [received] = await allReceived.take(seq)
    yield {
      entry,
      documents: await allDocuments.take(seq),
      received: received?.envelope ?? null,
      records: await allRecords.take(seq),
      items: entry.kind === 'batch-notarized' ? recordsOfChunks(db, allChunks.groups(seq)) : null,
    }
    next = seq + 1
    if (next === end) return
  }
  if (next < end) throw new Error(`entry ${next} is missing`)
}

async function* recordsOfChunks(
  db: Db,
  chunks: AsyncIterable<ChunkColumns[]>,
): AsyncGenerator<BatchRecord[]> {
  for await (const group of chunks) {
    for (const chunk of group) yield await recordsOfChunk(db, chunk)
  }
}

type ReadAheadOptions<T> = {
  readonly name: string
  readonly text: string
  readonly seqOf: (row: T) => number
  readonly limitMax: number
  /**
   * Returns the parameters of a query for at most `limit` rows after `last`. If `last` is null, the query begins with
   * the first row.
   */
  readonly valuesAfter: (last: T | null, limit: number) => unknown[]
  readonly types?: pg.CustomTypesConfig
  /** Runs a query and returns its rows. If absent, the rows are used as Postgres returns them. */
  readonly read?: (query: pg.QueryConfig) => Promise<T[]>
}

function readAhead<T extends pg.QueryResultRow>(
  db: Db,
  { name, text, types, read, ...options }: ReadAheadOptions<T>,
): RowsByEntry<T> {
  return new RowsByEntry<T>(options.seqOf, options.limitMax, async (last, limit) => {
    const query = { name, text, values: options.valuesAfter(last, limit), types }
    return read ? read(query) : (await db.query<T>(query)).rows
  })
}

class RowsByEntry<T> {
  readonly #seqOf: (row: T) => number
  /** Returns at most `limit` rows after `last`, or the first rows if `last` is null. An empty list means the end. */
  readonly #readAfter: (last: T | null, limit: number) => Promise<T[]>
  readonly #limitMax: number
  #limit: number
  #rows: T[] = []
  #at = 0
  #last: T | null = null
  #exhausted = false

  constructor(
    seqOf: (row: T) => number,
    limitMax: number,
    readAfter: (last: T | null, limit: number) => Promise<T[]>,
  ) {
    this.#seqOf = seqOf
    this.#readAfter = readAfter
    this.#limitMax = limitMax
    this.#limit = limitMax
  }

  async *all(): AsyncGenerator<T> {
    do while (this.#at < this.#rows.length) yield this.#rows[this.#at++]!
    while (await this.#readMore())
  }

  /** Returns the rows of the entry at `seq`. Each call must have a larger `seq` than the previous call. */
  async take(seq: number): Promise<T[]> {
    const taken: T[] = []
    do this.#takeRead(seq, taken)
    while (this.#at === this.#rows.length && (await this.#readMore()))
    return taken
  }

  /** Yields the same rows as `take`, in groups as they are read. */
  async *groups(seq: number): AsyncGenerator<T[]> {
    do {
      const part: T[] = []
      this.#takeRead(seq, part)
      if (part.length > 0) yield part
    } while (this.#at === this.#rows.length && (await this.#readMore()))
  }

  #takeRead(seq: number, taken: T[]): void {
    for (; this.#at < this.#rows.length; this.#at++) {
      const row = this.#rows[this.#at]!
      const rowSeq = this.#seqOf(row)
      if (rowSeq > seq) return
      if (rowSeq === seq) taken.push(row)
    }
  }

  async #readMore(): Promise<boolean> {
    if (this.#exhausted) return false
    this.#rows = await this.#readAfter(this.#last, this.#limit)
    // If rows are long, the limit in bytes makes a query return fewer rows than requested. The next query then requests
    // at most twice as many rows as were returned.
    this.#limit = Math.min(this.#limitMax, 2 * this.#rows.length)
    this.#at = 0
    this.#exhausted = this.#rows.length === 0
    this.#last = this.#rows.at(-1) ?? this.#last
    return !this.#exhausted
  }
}

type Paged = {
  readonly table: string
  /** Columns that order the rows. The first column is the entry's seq. */
  readonly order: readonly [seq: string, ...string[]]
  /** SQL condition that skips the rows of the entry at $2 that were already read. */
  readonly beyond?: string
  readonly bytes: string
  readonly columns: string
  readonly joins?: string
}

/**
 * Returns SQL for rows of ledger $1, from entry $2 to before entry $3. The query returns at most $4 rows and $5 bytes,
 * but at least one row.
 *
 * The limit in bytes is needed because 2,000 documents of 64 KiB would be one answer of 128 MiB. Postgres knows the
 * lengths without reading values that are stored out of line.
 */
function pageText({ table, order, beyond = 'true', bytes, columns, joins = '' }: Paged): string {
  const [seq] = order
  return `select ${columns}
    from (
      select *, sum(${bytes}) over w as bytes, row_number() over w as place
      from (
        select * from tallystick.${table}
        where ledger_id = $1 and ${seq} >= $2 and ${seq} < $3 and ${beyond} order by ${order} limit $4
      ) n
      window w as (order by ${order} rows unbounded preceding)
    ) c
    ${joins}
    where c.bytes <= $5 or c.place = 1
    order by ${order.map((column) => `c.${column}`)}`
}

/**
 * Returns a function that makes the parameters of a query for a page. It is for tables with at most one row for each
 * entry.
 */
function valuesAfter(ledgerId: Uuid, from: number, end: number) {
  return (last: number | undefined, limit: number) => [
    ledgerId,
    last === undefined ? from : last + 1,
    end,
    limit,
    STREAM_BYTES_PER_QUERY,
  ]
}

function readRows(db: Db, ledgerId: Uuid, from: number, end: number): RowsByEntry<EntryRowRead> {
  const values = valuesAfter(ledgerId, from, end)
  return readAhead(db, {
    name: 'read_entries',
    seqOf: (row) => row.seq,
    limitMax: STREAM_ENTRIES_PER_QUERY,
    valuesAfter: (last, limit) => values(last?.seq, limit),
    text: pageText({
      table: 'entries',
      order: ['seq'],
      // An envelope that is only in the archive counts as 0 bytes here, because its row is short.
      bytes: 'coalesce(length(envelope), 0)',
      columns: `c.seq, c.kind, c.recorded_at, c.leaf, c.chain, c.envelope, ${signerOf('c')} as signer`,
    }),
    read: (query) => queryEntries<EntryRowRead>(db, ledgerId, query),
  })
}

/**
 * Reads records with rows of their own. Skips a document that an entry has erased, although its content may still be
 * stored for a moment.
 */
function readRecords(db: Db, ledgerId: Uuid, from: number, end: number): RowsByEntry<EntryRecordRow> {
  const values = valuesAfter(ledgerId, from, end)
  return readAhead(db, {
    name: 'read_entry_records',
    seqOf: (row) => row.firstSeq,
    limitMax: STREAM_RECORDS_PER_QUERY,
    valuesAfter: (last, limit) => values(last?.firstSeq, limit),
    text: pageText({
      table: 'records',
      order: ['first_seq'],
      bytes: 'coalesce(length(payload), 0) + coalesce(length(reference_list), 0)',
      columns: `c.record_id, c.first_seq, c.digest, case when x.seq is null then c.salt end as salt,
        case when x.seq is null then c.payload end as payload,
        case when x.seq is null then c.reference_list end as reference_list, x.seq as payload_erased_seq`,
      joins: `left join lateral (
          select d.seq from tallystick.erasures d
          where d.ledger_id = c.ledger_id and d.subject_id = c.record_id and d.document = 'payload'
            and d.document_seq = c.first_seq
          offset 0
        ) x on true`,
    }),
  })
}

/**
 * Reads chunks of batches. The limit counts compressed bytes, because a chunk is decompressed only when it is
 * consumed.
 */
function readChunks(db: Db, ledgerId: Uuid, from: number, end: number): RowsByEntry<ChunkColumns> {
  return readAhead(db, {
    name: 'read_entry_chunks',
    seqOf: (row) => row.seq,
    limitMax: STREAM_CHUNKS_PER_QUERY,
    valuesAfter: (last, limit) => [
      ledgerId,
      last?.seq ?? from,
      end,
      limit,
      STREAM_BYTES_PER_QUERY,
      last?.chunk ?? -1,
    ],
    text: pageText({
      table: 'batch_chunks',
      order: ['seq', 'chunk'],
      beyond: '(seq > $2 or chunk > $6)',
      bytes: CHUNK_BYTES,
      columns: CHUNK_COLUMNS,
      joins: CHUNK_ERASURES,
    }),
    types: PACKED_TYPES,
  })
}

/** Reads documents of steps. Skips erased documents like readRecords. */
function readDocuments(db: Db, ledgerId: Uuid, from: number, end: number): RowsByEntry<EntryDocumentRow> {
  const values = valuesAfter(ledgerId, from, end)
  return readAhead(db, {
    name: 'read_entry_documents',
    seqOf: (row) => row.seq,
    limitMax: STREAM_RECORDS_PER_QUERY,
    valuesAfter: (last, limit) => values(last?.seq, limit),
    text: pageText({
      table: 'documents',
      order: ['seq'],
      bytes: 'coalesce(length(content), 0)',
      columns: `c.seq, c.document, c.subject_id, c.digest, case when x.seq is null then c.salt end as salt,
        case when x.seq is null then c.content end as content, x.seq as erased_seq`,
      joins: `left join lateral (
          select d.seq from tallystick.erasures d
          where d.ledger_id = c.ledger_id and d.subject_id = c.subject_id and d.document = c.document
            and d.document_seq = c.seq
          offset 0
        ) x on true`,
    }),
  })
}

/**
 * Reads received envelopes ahead, with one query for many entries. If the ledger has received none, one index access is
 * enough for ten million entries.
 */
function readReceived(db: Db, ledgerId: Uuid, from: number, end: number): RowsByEntry<EntryReceivedRow> {
  const values = valuesAfter(ledgerId, from, end)
  return readAhead(db, {
    name: 'read_entry_received',
    seqOf: (row) => row.seq,
    limitMax: STREAM_ENTRIES_PER_QUERY,
    valuesAfter: (last, limit) => values(last?.seq, limit),
    text: pageText({
      table: 'received_entries',
      order: ['seq'],
      bytes: 'length(envelope)',
      columns: 'c.seq, c.envelope',
    }),
  })
}
