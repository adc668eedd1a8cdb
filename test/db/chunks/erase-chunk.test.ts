import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { CHUNK_RECORDS, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { chunkKey } from '../../../src/db/chunks/chunk-keys.ts'
import { findChunk } from '../../../src/db/chunks/read-chunks.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { connect, openTestPool } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { eraseInDatabase, type RewrittenChunk } from '../../helpers/erase-documents.ts'
import {
  adminEntry,
  createTestLedger,
  makeBatch,
  makeItem,
  outcomesOf,
  sha256,
} from '../../helpers/test-ledger.ts'

/** Seq of the first batch. The second batch follows. Then follows one erasure for each member of `ERASED`. */
const BATCH_SEQ = 3
const ERASED = [70, 71, 1, 63, 64, 127, 128, 191, 192, 255, 256]
const RECORDS = 300
const ERASURE_SEQ = 5

test('erase_documents removes only the given keys that are references of the chunk', async (t) => {
  const { contents, erase, keysOf } = await open(t)
  const [, second] = await contents()
  const keys = [chunkKey.reference('both'), chunkKey.type('generic/1')]
  const before = await keysOf()
  const chunk = { seq: BATCH_SEQ, chunk: 1, before: sha256(second!), after: NEW, keysGone: keys }
  assert.equal(await erase([ERASURE_SEQ], [chunk]), 1)
  const gone = `${BATCH_SEQ} 1 ${keys[0]!.toString('hex')}`
  assert.ok(before.includes(gone))
  assert.deepEqual(
    await keysOf(),
    before.filter((key) => key !== gone),
  )
})

test('a chunk may change only by an erasure of one of its own records, also by the owner', async (t) => {
  const { owner, ledger } = await open(t)
  const change = (erasedSeq: number, seq: number, chunk: number) =>
    owner.query(
      'update tallystick.batch_chunks set content = $1, erased_seq = $2 where ledger_id = $3 and seq = $4 and chunk = $5',
      [NEW, erasedSeq, ledger, seq, chunk],
    )
  const refused = { constraint: 'batch_chunks_change' }
  await assert.rejects(change(ERASURE_SEQ, BATCH_SEQ, 0), refused, 'of a record behind it')
  await assert.rejects(change(ERASURE_SEQ + 2, BATCH_SEQ, 1), refused, 'of a record before it')
  await assert.rejects(change(ERASURE_SEQ, BATCH_SEQ + 1, 0), refused, 'of another batch')
  await assert.rejects(
    change(ERASURE_SEQ + ERASED.length, BATCH_SEQ, 4),
    refused,
    'of an id behind its last record',
  )
  await assert.rejects(change(BATCH_SEQ + 1, BATCH_SEQ, 1), refused, 'an entry that is no erasure')
  await assert.rejects(change(90, BATCH_SEQ, 1), refused, 'no entry')
  await change(ERASURE_SEQ, BATCH_SEQ, 1)
  await assert.rejects(change(ERASURE_SEQ, BATCH_SEQ, 1), refused, 'once more')
})

test('findChunk returns the erasures of the chunk’s records, and no others', async (t) => {
  const { pool, ledger, idAt } = await open(t)
  for (let first = 0; first < RECORDS; first += CHUNK_RECORDS) {
    const { erasures } = (await findChunk(pool, ledger, idAt(first)))!
    const seqs = ERASED.map((place, i) => ({ place, seq: ERASURE_SEQ + i }))
    const own = seqs.filter(({ place }) => place >= first && place < first + CHUNK_RECORDS)
    assert.deepEqual(
      new Set(erasures!.map(String)),
      new Set(own.map(({ place, seq }) => `${idAt(place)},${seq}`)),
    )
  }
})

const NEW = encodeChunk([makeItem()])

/**
 * Makes a batch of 300 records and a batch of one record. The last erasure names an id after the last record's id, so
 * no such record exists.
 */
async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const api = await connect(t, database.apiUrl)
  const worker = await connect(t, database.workerUrl)
  const owner = await connect(t, database.superuserUrl)
  const pool = openTestPool(database.apiUrl, { max: 1 })
  t.after(() => pool.end())
  const test = await createTestLedger(api)
  const references = Buffer.from('["both"]')
  const makeDocument = () => ({
    salt: randomBytes(16),
    payload: Buffer.from('{}'),
    references,
    metadata: null,
  })
  const batch = makeBatch(
    test,
    Array.from({ length: RECORDS }, () => makeItem({ document: makeDocument() })),
  )
  const idAt = (i: number): Uuid => recordIdAt(batch.chunks[0]!.firstRecordId, i)
  const erasures = [...ERASED, RECORDS].map((i) =>
    adminEntry(test, 'payload-erased', idAt(i), { document: 'payload', documentSeq: BATCH_SEQ }),
  )
  const entries = [batch, makeBatch(test, 1)]
  assert.deepEqual(outcomesOf(await appendEntries(api, entries)), ['appended', 'appended'])
  for (const erasure of erasures)
    assert.deepEqual(outcomesOf(await appendEntries(worker, [erasure])), ['appended'])
  return {
    pool,
    owner,
    idAt,
    ledger: test.id,
    contents: () => contentsOf(owner),
    keysOf: () => keysOf(owner),
    erase: (seqs: number[], chunks: RewrittenChunk[]) => eraseInDatabase(worker, test.id, seqs, chunks),
  }
}

async function contentsOf(owner: pg.Client): Promise<Buffer[]> {
  const { rows } = await owner.query('select content from tallystick.batch_chunks order by seq, chunk')
  return rows.map(({ content }) => content)
}

async function keysOf(owner: pg.Client): Promise<string[]> {
  const { rows } = await owner.query<{ text: string }>(
    "select concat_ws(' ', seq, chunk, encode(key, 'hex')) as text from tallystick.batch_keys order by 1",
  )
  return rows.map(({ text }) => text)
}
