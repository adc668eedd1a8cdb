import type pg from 'pg'
import { CHUNK_RECORDS, type ChunkRecord, decodeChunk } from '../../src/db/chunks/chunk-content.ts'
import type { Uuid } from '../../src/proof/ids.ts'
import { recordIdAt } from '../../src/proof/statement/batch-ids.ts'
import type { TestApp } from './app.ts'
import { listStoredChunks, type StoredChunk } from './stored-chunks.ts'

/**
 * Lists the stored records of batches in chain order. Each record has its parsed payload, or null if the payload was
 * erased. Without `ledgerId`, the records of all ledgers are listed.
 */
export async function listStoredRecords(from: Pick<TestApp, 'sql'> & { readonly ledgerId?: string }) {
  const records = (await listStoredChunks(from)).flatMap(recordsOf)
  return records.map((record) => ({ ...record, payload: JSON.parse(payloadText(record)) }))
}

function recordsOf({ seq, chunk, firstRecordId, count, content }: StoredChunk) {
  return decodeChunk(content, count).map((record, i) => ({
    ...record,
    recordId: recordIdAt(firstRecordId, chunk * CHUNK_RECORDS + i),
    seq,
  }))
}

function payloadText({ document }: ChunkRecord): string {
  return document.erasedSeq === undefined ? String(document.payload) : 'null'
}

type StoredPayload = { readonly recordId: Uuid; readonly seq: number; readonly payload: string }

export async function listPayloads(client: pg.ClientBase, ledgerId: Uuid): Promise<StoredPayload[]> {
  const sql: TestApp['sql'] = async (text, values) => (await client.query(text, values)).rows
  const own = await sql<{ recordId: Uuid; seq: string; payload: Buffer }>(
    'select record_id as "recordId", first_seq as seq, payload from tallystick.records where ledger_id = $1',
    [ledgerId],
  )
  const ofOwn = own.map(({ recordId, seq, payload }) => ({
    recordId,
    seq: Number(seq),
    payload: String(payload),
  }))
  const items = (await listStoredChunks({ sql, ledgerId }))
    .flatMap(recordsOf)
    .map((record) => ({ recordId: record.recordId, seq: record.seq, payload: payloadText(record) }))
  return [...ofOwn, ...items].sort((a, b) => a.seq - b.seq)
}
