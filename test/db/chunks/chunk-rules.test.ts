import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { appendEntries } from '../../../src/db/chain/append-entries.ts'
import { type ChunkRecord, decodeChunk, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import type { Uuid } from '../../../src/proof/ids.ts'
import { recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { checkAllLedgers } from '../../helpers/check-ledger.ts'
import { connect } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { eraseInDatabase } from '../../helpers/erase-documents.ts'
import {
  adminEntry,
  createTestLedger,
  makeBatch,
  makeChunks,
  makeEntry,
  makeIdempotency,
  makeItem,
  outcomesOf,
  sha256,
  type TestLedger,
} from '../../helpers/test-ledger.ts'

/*
 * Tests the database's rules for chunks. This file has only the rules that need an erasure or another successful write.
 */

/** Makes a ledger whose entry 3 notarizes a batch of 66 records, and a copy of that ledger. */
async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const owner = await connect(t, database.ownerUrl)
  const api = await connect(t, database.apiUrl)
  const worker = await connect(t, database.workerUrl)
  const ledgers = [await createTestLedger(api), await createTestLedger(api)] as const
  const batch = makeBatch(ledgers[0], 66, { idempotency: makeIdempotency('k', 'request') })
  const append = async (ledger: TestLedger, entry: typeof batch) => {
    const answers = await appendEntries(api, [{ ...entry, ledgerId: ledger.id, kid: ledger.kid }])
    assert.deepEqual(outcomesOf(answers), ['appended'])
    return answers[0]!.seq
  }
  for (const ledger of ledgers) assert.equal(await append(ledger, batch), 3)
  const first = batch.chunks[0]!.firstRecordId
  /** Appends an erasure of the payload of the record at `index`. Returns its seq. */
  const order = (index: number, ledger: TestLedger = ledgers[0], documentSeq = 3, from: Uuid = first) =>
    append(
      ledger,
      adminEntry(ledger, 'payload-erased', recordIdAt(from, index), { document: 'payload', documentSeq }),
    )
  const chunks = async () =>
    (
      await owner.query<{ chunk: number; count: number; content: Buffer; erasedSeq: number | null }>(
        'select chunk, count, content, erased_seq from tallystick.batch_chunks where ledger_id = $1 order by seq, chunk',
        [ledgers[0].id],
      )
    ).rows
  return { database, owner, api, worker, ledgers, batch, first, append, order, chunks }
}

test('a chunk changes with an erasure of one of its own records only', async (t) => {
  const { owner, ledgers, append, order, chunks } = await open(t)
  const [ledger, other] = ledgers
  const another = makeBatch(ledger, 66)
  const anotherSeq = await append(ledger, another)
  const before = await chunks()
  const erasures: Record<string, [chunk: number, seq: number]> = {
    'another chunk': [0, await order(65)],
    'no record, behind the last one': [1, await order(66)],
    'the same record in another ledger': [0, await order(1, other)],
    'a record of another batch': [0, await order(1, ledger, anotherSeq, another.chunks[0]!.firstRecordId)],
    'a record of another batch that is said to be of this one': [
      0,
      await order(2, ledger, 3, another.chunks[0]!.firstRecordId),
    ],
    'another entry that is said to digest it': [0, await order(3, ledger, anotherSeq)],
    'nothing at all': [0, 3],
  }
  const update = (chunk: number, seq: number | null, change = "content = 'x'") =>
    owner.query(
      `update tallystick.batch_chunks set ${change}, erased_seq = $3 where ledger_id = $1 and seq = 3 and chunk = $2`,
      [ledger.id, chunk, seq],
    )
  for (const [what, [chunk, seq]] of Object.entries(erasures)) {
    await assert.rejects(update(chunk, seq), { constraint: 'batch_chunks_change' }, what)
  }
  const own = await order(64)
  for (const change of ['chunk = 2', 'count = 1', 'seq = 4', 'first_record_id = gen_random_uuid()']) {
    await assert.rejects(update(1, own, change), { constraint: 'batch_chunks_change' }, change)
  }
  assert.deepEqual((await chunks()).slice(0, 2), before.slice(0, 2))
  await update(1, own)
  for (const seq of [own, null]) await assert.rejects(update(1, seq), { constraint: 'batch_chunks_change' })
})

test('erasures of one chunk are carried out in any order, each once', async (t) => {
  const { owner, worker, ledgers, order, chunks } = await open(t)
  const [ledger] = ledgers
  const seqs = [await order(1), await order(2)]
  const keys = () =>
    owner.query('select salt from tallystick.idempotency_keys where ledger_id = $1', [ledger.id])
  const forget = 'update tallystick.idempotency_keys set salt = null, fingerprint = null where ledger_id = $1'
  await assert.rejects(owner.query(forget, [ledger.id]), { constraint: 'idempotency_keys_append_only' })
  const erase = async (index: number) => {
    const [chunk] = await chunks()
    const records = decodeChunk(chunk!.content, 64)
    const document = { digest: Buffer.alloc(32), referencesDigest: null, erasedSeq: seqs[index - 1]! }
    const content = encodeChunk(records.with(index, { ...records[index]!, document }))
    const rewritten = { seq: 3, chunk: 0, before: sha256(chunk!.content), after: content, keysGone: [] }
    return eraseInDatabase(worker, ledger.id, [seqs[index - 1]!], [rewritten])
  }
  assert.deepEqual([await erase(2), await erase(1), await erase(2)], [1, 1, 0])
  const [chunk] = await chunks()
  const isErased = ({ document }: ChunkRecord) => document.erasedSeq !== undefined
  const erased = decodeChunk(chunk!.content, 64).flatMap((record, i) => (isErased(record) ? [i] : []))
  assert.deepEqual([erased, chunk!.erasedSeq], [[1, 2], seqs[0]])
  assert.deepEqual((await keys()).rows, [{ salt: null }])
  await checkAllLedgers(owner)
})

test('of two equal chunks, an erasure changes only the chunk of its record', async (t) => {
  const { owner, worker, ledgers, append, order, chunks } = await open(t)
  const [ledger] = ledgers
  const [empty] = makeChunks(ledger, recordIdAt(makeBatch(ledger, 1).chunks[0]!.firstRecordId, 0), [
    makeItem(),
  ])
  const twice = makeBatch(ledger, 128)
  const keys = [Buffer.from('Rboth'), Buffer.from('Tboth/1'), Buffer.from(`A${'a'.repeat(16)}`)]
  const seq = await append(ledger, {
    ...twice,
    chunks: twice.chunks.map((chunk) => ({ ...chunk, content: empty!.content, keys })),
  })
  const at = await order(64, ledger, seq, twice.chunks[0]!.firstRecordId)
  const rewritten = { before: sha256(empty!.content), after: Buffer.from('x'), keysGone: keys }
  await eraseInDatabase(worker, ledger.id, [at], [{ seq, chunk: 1, ...rewritten }])
  assert.deepEqual(
    (await chunks()).slice(2).map(({ erasedSeq }) => erasedSeq),
    [null, at],
  )
  const left = await owner.query(
    "select chunk, convert_from(substr(key, 1, 1), 'UTF8') as letter from tallystick.batch_keys where seq = $1 order by chunk, key",
    [seq],
  )
  const letters = (letter: string, chunk: number) => ({ chunk, letter })
  assert.deepEqual(left.rows, [
    ...['A', 'R', 'T'].map((letter) => letters(letter, 0)),
    ...['A', 'T'].map((letter) => letters(letter, 1)),
  ])
})

test('refuses a batch whose records or ids do not match its chunks', async (t) => {
  const { owner, api, ledgers, batch, first } = await open(t)
  const [ledger] = ledgers
  const offences = {
    batch_chunks_by_record: makeBatch(ledger, 64, { chunks: [batch.chunks[0]!], itemCount: 64 }),
    records_ids: makeEntry(ledger, { subjectId: first }),
  }
  for (const [constraint, entry] of Object.entries(offences)) {
    await assert.rejects(appendEntries(api, [entry]), { constraint })
  }
  const [one, two] = [makeBatch(ledger, 2), makeBatch(ledger, 3)]
  const exchanged = [
    { ...one, chunks: two.chunks },
    { ...two, chunks: one.chunks },
  ]
  await assert.rejects(appendEntries(api, exchanged), { constraint: 'batch_chunks_begin' })
  const given = [
    { ...one, chunks: [] },
    { ...makeEntry(ledger), chunks: one.chunks },
  ]
  await assert.rejects(appendEntries(api, given), { constraint: 'entries_make_records' })
  await checkAllLedgers(owner)
})

test('a call without a batch runs no function for batches', async (t) => {
  const { database, owner, ledgers } = await open(t)
  const [ledger, other] = ledgers
  const superuser = await connect(t, database.superuserUrl)
  await superuser.query(`alter database ${database.name} set track_functions = 'pl'`)
  const api = await connect(t, database.apiUrl)
  const calls = async (...entries: Parameters<typeof appendEntries>[1][number][]) => {
    await api.query('begin')
    assert.ok(outcomesOf(await appendEntries(api, entries)).every((outcome) => outcome === 'appended'))
    const { rows } = await api.query<{ name: string }>(
      `select funcname as name from pg_stat_xact_user_functions
       where funcname in ('batch_chunks_begin', 'records_begin') order by 1`,
    )
    await api.query('rollback')
    return rows.map(({ name }) => name)
  }
  assert.deepEqual(await calls(makeEntry(ledger), makeEntry(ledger)), ['records_begin'])
  assert.deepEqual(await calls(makeEntry(ledger), makeEntry(other)), ['records_begin'], 'the long way')
  assert.deepEqual(await calls(makeEntry(ledger), makeBatch(ledger, 65)), [
    'batch_chunks_begin',
    'records_begin',
  ])
  await checkAllLedgers(owner)
})
