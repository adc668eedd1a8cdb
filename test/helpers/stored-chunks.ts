import type { ChunkRecord } from '../../src/db/chunks/chunk-content.ts'
import { decodeChunk, encodeChunk } from '../../src/db/chunks/chunk-content.ts'
import { keysOfChunk } from '../../src/db/chunks/chunk-keys.ts'
import { chunkIdOf, digestOf, referencesDigestOf } from '../../src/db/chunks/read-chunks.ts'
import { formatId, parseId, type Uuid } from '../../src/proof/ids.ts'
import { indexOfRecordId } from '../../src/proof/statement/batch-ids.ts'
import type { TestApp } from './app.ts'
import { appendAsApi, signErasure } from './forged-erasures.ts'

export type StoredChunk = {
  readonly seq: number
  readonly chunk: number
  readonly firstRecordId: Uuid
  readonly count: number
  readonly content: Buffer
}

/** Returns chunks in chain order. Without `ledgerId`, returns the chunks of all ledgers. */
export async function listStoredChunks({
  sql,
  ledgerId,
}: Pick<TestApp, 'sql'> & { readonly ledgerId?: string }): Promise<StoredChunk[]> {
  return sql<StoredChunk>(
    `select seq::int4, chunk, first_record_id as "firstRecordId", count, content
     from tallystick.batch_chunks where ledger_id = $1 or $1 is null order by seq, chunk`,
    [ledgerId ?? null],
  )
}

export async function writeContent(
  app: TestApp,
  { seq, chunk }: StoredChunk,
  content: Uint8Array,
  erasedSeq: number | null = null,
): Promise<void> {
  await asOwner(
    app,
    `update tallystick.batch_chunks set content = '\\x${Buffer.from(content).toString('hex')}', erased_seq = ${erasedSeq}
     where ledger_id = '${app.ledgerId}' and seq = ${seq} and chunk = ${chunk}`,
  )
}

/** Works like writeContent, and also writes the keys by which the records are found. */
export async function writeRecords(
  app: TestApp,
  stored: StoredChunk,
  records: readonly ChunkRecord[],
  erasedSeq: number | null = null,
): Promise<void> {
  await writeContent(app, stored, encodeChunk(records), erasedSeq)
  const keys = keysOfChunk(parseId('agt', app.ledger.agent.id), records)
  const where = `ledger_id = '${app.ledgerId}' and seq = ${stored.seq} and chunk = ${stored.chunk}`
  const rows = keys.map(
    (key) => `('${app.ledgerId}', '\\x${key.toString('hex')}', ${stored.seq}, ${stored.chunk})`,
  )
  await asOwner(
    app,
    `delete from tallystick.batch_keys where ${where}; insert into tallystick.batch_keys values ${rows.join(', ')}`,
  )
}

/** Appends a signed erasure of the payload of a batch's record. Returns the seq of the erasure. */
export async function orderErasure(app: TestApp, recordId: Uuid): Promise<number> {
  const { seq, record } = await findRecord(app, recordId)
  const entry = signErasure(app, await app.deps.signers.load(), {
    row: { document: 'payload', subjectId: recordId, documentSeq: seq },
    signed: {
      subject: formatId('rec', recordId),
      digest: Buffer.from(digestOf(record)).toString('hex'),
      seq,
    },
  })
  return appendAsApi(app, entry)
}

/** Removes the payload of a batch's record. `erasedSeq`: the entry that is stored as its erasure. */
export async function takeAway(app: TestApp, recordId: Uuid, erasedSeq: number): Promise<void> {
  const { seq, stored, records, record, place } = await findRecord(app, recordId)
  const document = { digest: digestOf(record), referencesDigest: referencesDigestOf(record), erasedSeq }
  await writeRecords(app, stored, records.with(place, { ...record, document }), erasedSeq)
  await asOwner(
    app,
    `update tallystick.erasures set erased_at = now() where ledger_id = '${app.ledgerId}' and seq = ${erasedSeq};
     update tallystick.idempotency_keys set salt = null, fingerprint = null where ledger_id = '${app.ledgerId}' and seq = ${seq}`,
  )
}

async function findRecord(app: TestApp, recordId: Uuid) {
  const stored = (await listStoredChunks(app)).find(
    ({ firstRecordId }) => firstRecordId === chunkIdOf(recordId),
  )!
  const records = decodeChunk(stored.content, stored.count)
  const place = indexOfRecordId(recordId) - indexOfRecordId(stored.firstRecordId)
  return { seq: stored.seq, stored, records, record: records[place]!, place }
}

/** Runs SQL with all triggers disabled, including those of foreign keys. */
export async function asOwner({ sql }: TestApp, text: string): Promise<void> {
  await sql(`set session_replication_role = replica; ${text}; set session_replication_role = origin`)
}
