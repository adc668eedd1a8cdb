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
