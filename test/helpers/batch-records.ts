import type pg from 'pg'
import { CHUNK_RECORDS, type ChunkRecord, decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { recordIdAt } from '../../src/proof/statement/batch-ids.ts'
import type { TestApp } from './app.ts'

/**
 * Records of batches as they are stored, in the order of the chain, each with its payload's value; null: erased. Those of all ledgers
 * without `ledgerId`.
 */
export async function listBatchRecords({
  sql,
  ledgerId,
}: Pick<TestApp, 'sql'> & { readonly ledgerId?: string }) {
  const chunks = await sql<{ content: Buffer; count: number; chunk: number; firstRecordId: Uuid }>(
    `select content, count, chunk, first_record_id as "firstRecordId" from tallystick.batch_chunks
     where ledger_id = $1 or $1 is null order by seq, chunk`,
    [ledgerId ?? null],
  )
  return chunks.flatMap(({ content, count, chunk, firstRecordId }) =>
    decodeChunk(content, count).map((record, i) => ({
      ...record,
      recordId: recordIdAt(firstRecordId, chunk * CHUNK_RECORDS + i),
      payload: payloadOf(record),
    })),
  )
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
function payloadOf({ document }: ChunkRecord): any {
  return document.erasedSeq === undefined ? JSON.parse(String(document.payload)) : null
}

type StoredPayload = { readonly recordId: Uuid; readonly seq: number; readonly payload: string }

/** Payloads of all records of the ledger, in the order of the chain. */
export async function listPayloads(client: pg.ClientBase, ledgerId: Uuid): Promise<StoredPayload[]> {
  const own = await client.query<{ id: Uuid; seq: string; payload: Buffer }>(
    'select record_id as id, first_seq as seq, payload from tallystick.records where ledger_id = $1',
    [ledgerId],
  )
  const chunks = await client.query<{
    first: Uuid
    seq: string
    chunk: number
    count: number
    content: Buffer
  }>(
    `select first_record_id as first, seq, chunk, count, content from tallystick.batch_chunks
     where ledger_id = $1 order by seq, chunk`,
    [ledgerId],
  )
  const items = chunks.rows.flatMap(({ first, seq, chunk, count, content }) =>
    decodeChunk(content, count).map(({ document }, i) => ({
      recordId: recordIdAt(first, chunk * CHUNK_RECORDS + i),
      seq: Number(seq),
      payload: document.erasedSeq === undefined ? String(document.payload) : 'null',
    })),
  )
  const ofOwn = own.rows.map(({ id, seq, payload }) => ({
    recordId: id,
    seq: Number(seq),
    payload: String(payload),
  }))
  return [...ofOwn, ...items].sort((a, b) => a.seq - b.seq)
}
