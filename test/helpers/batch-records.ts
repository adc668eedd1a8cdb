import { type ChunkRecord, decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import type { TestApp } from './app.ts'

/** Records of the ledger's batches as they are stored, in the order of the chain, each with its payload's value; null: erased. */
export async function listBatchRecords({ sql, ledgerId }: Pick<TestApp, 'sql' | 'ledgerId'>) {
  const chunks = await sql<{ content: Buffer; count: number }>(
    'select content, count from tallystick.batch_chunks where ledger_id = $1 order by seq, chunk',
    [ledgerId],
  )
  return chunks
    .flatMap(({ content, count }) => decodeChunk(content, count))
    .map((record) => ({ ...record, payload: payloadOf(record) }))
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
function payloadOf({ document }: ChunkRecord): any {
  return document.erasedSeq === undefined ? JSON.parse(String(document.payload)) : null
}
