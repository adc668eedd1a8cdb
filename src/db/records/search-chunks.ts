import { CHUNK_RECORDS } from '../chunks/chunk-content.ts'
import { type BatchRecord, readContent, recordsOfPlain } from '../chunks/read-chunks.ts'
import { BATCH_FILTERS } from './batch-filters.ts'
import type { BatchRow } from './read-records.ts'
import {
  isBeyond,
  type Order,
  POSITION_INDEX_MAX,
  type RecordPosition,
  type RecordSearch,
  type SeqRange,
} from './search.ts'
import type { Bind } from './search-streams.ts'
import { entriesOf } from './search-text.ts'
import type { Searches } from './searches.ts'

/* Finds records of batches. The chunks are found through the table batch_keys, or by reading all of batch_chunks. */

/**
 * Says how a search finds chunks of batches.
 *
 * - `keys`: the search reads the index of chunks once for each key. If `keys` is null, the search reads all chunks.
 * - `others`: lists of keys. A chunk must also have at least one key of each list.
 */
export type ChunkWalk = {
  readonly keys: readonly Buffer[] | null
  readonly others: readonly (readonly Buffer[])[]
}

/**
 * A chunk that may contain matches. `before`: number of matches that are known to come before the chunk. There may be
 * more.
 */
export type ChunkCandidate = { readonly seq: number; readonly chunk: number; readonly before: number }

/** A batch record that matches all filters. `bytes`: size in bytes of the record's documents in the page. */
export type ChunkMatch = {
  readonly position: RecordPosition
  readonly bytes: number
  readonly row: BatchRow
  readonly record: BatchRecord
}

/** Returns SQL that lists the given keys as `v.key`. */
export function keysText(keys: readonly Buffer[] | null, bind: Bind): string {
  if (keys === null) return '(values (0)) v (key)'
  return keys.length === 1
    ? `(values (${bind(keys[0], 'bytea')})) v (key)`
    : `unnest(${bind(keys, 'bytea[]')}) v (key)`
}

/**
 * Returns SQL of the chunks `k` that have the key `v.key`, in search order. `reach`: SQL of the last seq to read. If
 * `reach` is null, the SQL reads to the end of the range.
 */
export function walkText(
  keys: readonly Buffer[] | null,
  { order, after }: RecordSearch,
  { from, end }: SeqRange,
  bind: Bind,
  reach: string | null = null,
): string {
  const table =
    keys === null
      ? 'tallystick.batch_chunks k where k.ledger_id = q.ledger_id'
      : 'tallystick.batch_keys k where k.ledger_id = q.ledger_id and k.key = v.key'
  const [first, last] = [bind(from, 'int8'), bind(end - 1, 'int8')]
  const [low, high] = order === 'asc' ? [first, orElse(reach, last)] : [orElse(reach, first), last]
  const next =
    after && `and (k.seq, k.chunk) ${order === 'asc' ? '>=' : '<='} ${chunkAfter(after, order, bind)}`
  return `select k.* from ${table} and k.seq >= ${low} and k.seq <= ${high} ${next ?? ''}
      order by k.seq ${order}, k.chunk ${order}`
}

function orElse(reach: string | null, bound: string): string {
  return reach === null ? bound : `coalesce(${reach}, ${bound})`
}

/** Returns SQL of the position of the chunk that contains the first record beyond `after`. */
function chunkAfter({ seq, index }: RecordPosition, order: Order, bind: Bind): string {
  const chunk = Math.floor((order === 'asc' ? index + 1 : index - 1) / CHUNK_RECORDS)
  return `(${bind(seq, 'int8')}, ${bind(chunk, 'int4')})`
}

/** Returns SQL of the condition that chunk `k` has a key of each list in `others`. */
export function othersText({ others }: ChunkWalk, bind: Bind): string {
  const conditions = others.map(
    (keys) => `exists (select from tallystick.batch_keys x
        where x.ledger_id = q.ledger_id and x.key = any (${bind(keys, 'bytea[]')}) and x.seq = k.seq and x.chunk = k.chunk offset 0)`,
  )
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}

/** Returns SQL of the number of records in chunk `k` that are beyond `after`. */
export function countText({ order, after }: RecordSearch, bind: Bind): string {
  if (after === null) return 'k.count'
  const first = `k.chunk * ${CHUNK_RECORDS}`
  const index = bind(after.index, 'int4')
  const count =
    order === 'asc'
      ? `${first} + k.count - greatest(${first}, ${index} + 1)`
      : `least(${first} + k.count, ${index}) - ${first}`
  return `case when k.seq = ${bind(after.seq, 'int8')} then greatest(${count}, 0) else k.count end`
}

/**
 * Returns the chunk's matching records, in search order. Without filters, returns at most one record more than a page
 * has. `bytes`: size of the decompressed chunk. Throws ProofError `chunk_syntax`.
 */
export async function matchesOf(
  { pool, plainChunks }: Searches,
  row: BatchRow,
  { filters, order, after, limit }: RecordSearch,
): Promise<{ readonly matches: ChunkMatch[]; readonly bytes: number }> {
  const wanted = entriesOf(filters)
  const matches: ChunkMatch[] = []
  const plain = plainChunks.decompress(row, await readContent(pool, row))
  const [from, end] = indexesBeyond(row, order, after)
  // Without filters every record matches, so only the records of this page and one more are decoded.
  const count = wanted.length === 0 ? Math.min(limit + 1, end - from) : end - from
  const [first, last] = order === 'asc' ? [from, from + count] : [end - count, end]
  const records = recordsOfPlain(row, plain, (index) => index >= first && index < last)
  for (const record of order === 'asc' ? records : records.reverse()) {
    if (wanted.every(([name, value]) => BATCH_FILTERS[name].isMet(value as never, record, row)))
      matches.push({ position: { seq: row.seq, index: record.index }, bytes: bytesOf(record), row, record })
  }
  return { matches, bytes: plain.length }
}

/** Returns a range of indexes in the batch: of the chunk's records that are beyond `after`. */
function indexesBeyond(
  { seq, chunk, count }: Pick<BatchRow, 'seq' | 'chunk' | 'count'>,
  order: Order,
  after: RecordPosition | null,
): [from: number, end: number] {
  const from = chunk * CHUNK_RECORDS
  const end = from + count
  if (after === null || after.seq !== seq) {
    const isWhole = after === null || isBeyond({ seq, index: from }, after, order)
    return isWhole ? [from, end] : [end, end]
  }
  return order === 'asc'
    ? [Math.min(end, Math.max(from, after.index + 1)), end]
    : [from, Math.max(from, Math.min(end, after.index))]
}

function bytesOf({ payload, metadata, references }: Bytes): number {
  return (payload?.length ?? 0) + (metadata?.length ?? 0) + (references?.length ?? 0)
}

type Bytes = { readonly [Name in 'payload' | 'metadata' | 'references']: Uint8Array | null }

/** Returns the position from which a search continues if it has read everything before this chunk. */
export function positionBefore({ seq, chunk }: ChunkCandidate, order: Order): RecordPosition {
  if (order === 'desc') return { seq, index: (chunk + 1) * CHUNK_RECORDS }
  return chunk === 0 ? { seq: seq - 1, index: POSITION_INDEX_MAX } : { seq, index: chunk * CHUNK_RECORDS - 1 }
}

/** Returns the position from which a search continues if it has read this chunk. */
export function positionAfter(seq: number, chunk: number, order: Order): RecordPosition {
  return { seq, index: order === 'asc' ? (chunk + 1) * CHUNK_RECORDS - 1 : chunk * CHUNK_RECORDS }
}
