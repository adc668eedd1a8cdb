import type { VerifiedEntry } from '../../proof/entry/verify-entry.ts'
import type { Uuid } from '../../proof/ids.ts'
import { CHUNK_CONTENT, type StoredChunk } from '../chunks/read-chunks.ts'
import { contradiction } from './contradiction.ts'
import type { Evidence } from './table.ts'

/* Reads chunks of batches and their search keys. src/verify/verify-batch.ts compares them with the batch's items. */

/** A chunk with the content that streamContent has added. */
export type AuditedChunk = StoredChunk & { readonly content: Buffer; readonly erasedSeq: number | null }

export type ChunkColumns = {
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  readonly erasedSeq: number | null
  /** Length of the content in bytes. The content itself is passed separately. */
  readonly contentBytes: number
}

/** Evidence of the table `batch_chunks`. streamContent MUST have added the content to the rows. */
export const BATCH_CHUNKS: Evidence<AuditedChunk, ChunkColumns> = {
  table: 'batch_chunks',
  isLarge: true,
  sql: `select ${CHUNK_CONTENT}, c.erased_seq
    from tallystick.batch_chunks c where c.ledger_id = $1 order by c.seq, c.chunk`,
  columns: ({ chunk, firstRecordId, count, erasedSeq, content }) => ({
    ...{ chunk, firstRecordId, count, erasedSeq },
    contentBytes: content.length,
  }),
  verify: verifyAbsent,
}

/** Search keys of a chunk. `keys` contains them in hex, sorted and separated by spaces. */
export type ChunkKeyColumns = { readonly chunk: number; readonly keys: string }

export const BATCH_KEYS: Evidence<{ seq: number; chunk: number; keys: string }, ChunkKeyColumns> = {
  table: 'batch_keys',
  isLarge: true,
  sql: `select seq, chunk, string_agg(encode(key, 'hex'), ' ' order by key) as keys
    from tallystick.batch_keys where ledger_id = $1 group by seq, chunk order by seq nulls first, chunk`,
  columns: ({ chunk, keys }) => ({ chunk, keys }),
  verify: verifyAbsent,
}

function verifyAbsent({ statement: { kind } }: VerifiedEntry, rows: readonly unknown[]): void {
  if (kind !== 'batch-notarized' && rows.length > 0)
    throw contradiction('batch_chunks, batch_keys: rows of an entry that is not a batch')
}
