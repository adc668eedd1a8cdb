import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type ChunkRecord, decodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { ERASURE_ATTEMPTS_MAX } from '../../../src/db/limits.ts'
import {
  eraseDocument,
  findErasedItem,
  listPendingErasures,
} from '../../../src/db/records/pending-erasures.ts'
import { ERASURE_REFUSED_PAUSE_MS } from '../../../src/followers/limits.ts'
import { formatId, parseId, type Uuid } from '../../../src/proof/ids.ts'
import { recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { buildTestApp, expectStatus, type TestApp } from '../../helpers/app.ts'
import { listBatchRecords } from '../../helpers/batch-records.ts'
import { type Eraser, openEraser } from '../../helpers/eraser.ts'
import { appendAsApi, signErasure } from '../../helpers/forged-erasures.ts'
import { assertVerifies } from '../../helpers/personal-records.ts'
import { orderErasure, readChunks, writeContent, writeRecords } from '../../helpers/stored-chunks.ts'

/* Erasures of records that lie in a chunk with others. */

test('a chunk that is not as it was stored refuses the erasures in it, says so, and holds up no other', async (t) => {
  const changes: [string, RegExp, (app: TestApp) => Promise<void>][] = [
    ['is noise', /not as it was stored/, (app) => overwrite(app, randomBytes(200))],
    [
      'has lost its end',
      /not as it was stored/,
      async (app) => overwrite(app, (await first(app)).subarray(0, -9)),
    ],
    [
      'has another payload for the record',
      /signed is/,
      (app) => change(app, 0, { payload: Buffer.from('{}') }),
    ],
    ['has another salt for the record', /signed is/, (app) => change(app, 0, { salt: randomBytes(16) })],
  ]
  for (const [what, said, tamper] of changes) {
    await t.test(`it ${what}`, async (t) => {
      const { app, eraser, ids } = await setUp(t)
      const seq = await orderErasure(app, ids[0]!)
      const other = await orderErasure(app, ids[65]!)
      await tamper(app)
      const before = await first(app)
      await eraser.run()
      await eraser.run()
      assert.deepEqual(
        eraser.logged.map(({ level, seq }) => [level, seq]),
        [
          ['error', seq],
          ['info', other],
        ],
      )
      assert.match(eraser.logged[0]!.err!.message, said)
      assert.deepEqual(await first(app), before)
      assert.deepEqual(await pendingOf(app), [seq])
    })
  }
})

test('an erasure leaves the other records of its chunk as they are, also one that was changed', async (t) => {
  const { app, eraser, ids } = await setUp(t)
  await orderErasure(app, ids[0]!)
  await change(app, 1, { payload: Buffer.from('{"changed":true}') })
  const before = await storedIn(app, 0)
  await eraser.run()
  const after = await storedIn(app, 0)
  assert.deepEqual(after.slice(1), before.slice(1))
  assert.equal(after[0]!.document.erasedSeq, eraser.logged[0]!.seq)
})

test('row and statement must name the batch of the record, and its digest', async (t) => {
  const { app, eraser, ids, digests, seq } = await setUp(t)
  const signer = await app.deps.signers.load()
  const erasure = (subjectId: Uuid, digest: string, row: number, signed: number) =>
    signErasure(app, signer, {
      row: { document: 'payload', subjectId, documentSeq: row },
      signed: { subject: formatId('rec', subjectId), digest, seq: signed },
    })
  const beyond = recordIdAt(ids[0]!, ids.length)
  const forged = [
    erasure(ids[0]!, digests[0]!, seq - 1, seq - 1),
    erasure(ids[1]!, digests[1]!, seq - 1, seq),
    erasure(ids[2]!, digests[2]!, seq, seq + 1),
    erasure(ids[3]!, digests[4]!, seq, seq),
    erasure(beyond, digests[0]!, seq, seq),
  ]
  for (const entry of forged) await appendAsApi(app, entry)
  const before = await readChunks(app)
  await eraser.run()
  assert.deepEqual(
    eraser.logged.map(({ level, err }) => [level, err?.name]),
    Array(forged.length).fill(['error', 'ProofError']),
  )
  assert.deepEqual(await readChunks(app), before)
})

test('a record of the chunk that another worker erases meanwhile stays erased', async (t) => {
  const { app, eraser, ids, body } = await setUp(t)
  const seqs = [await orderErasure(app, ids[0]!), await orderErasure(app, ids[1]!)]
  const other = openEraser(t, app).pool
  const [, second] = await listPendingErasures(other, null, 2)
  const calls = onErase(eraser, async (call) => {
    if (call === 1) assert.equal(await eraseDocument(other, await findErasedItem(other, second!)), true)
  })
  await eraser.run()
  assert.equal(calls.count, 3, 'the first once more, and the second in vain')
  assert.deepEqual(
    eraser.logged.map(({ level, seq }) => [level, seq]),
    [['info', seqs[0]]],
  )
  const stored = await listBatchRecords(app)
  assert.deepEqual(
    stored.map(({ document }) => document.erasedSeq ?? null),
    stored.map((_, i) => seqs[i] ?? null),
  )
  assert.deepEqual(
    stored.slice(2).map(({ payload }) => payload),
    body.records.slice(2).map(({ payload }) => payload),
  )
  await assertVerifies(app)
})

test('a chunk that changes each time is given up for a while', async (t) => {
  let nowMs = 1_000_000
  const { app, eraser, ids } = await setUp(t, () => nowMs)
  const seq = await orderErasure(app, ids[0]!)
  let isBusy = true
  const calls = onErase(eraser, async (call) => {
    if (isBusy) await change(app, 1, { payload: Buffer.from(`{"n":${call}}`) })
  })
  await eraser.run()
  assert.equal(calls.count, ERASURE_ATTEMPTS_MAX)
  assert.match(eraser.logged[0]!.err!.message, /the chunk has changed meanwhile/)
  isBusy = false
  nowMs += ERASURE_REFUSED_PAUSE_MS
  await eraser.run()
  assert.deepEqual([eraser.logged[1]!.level, eraser.logged[1]!.seq], ['info', seq])
  assert.deepEqual(await pendingOf(app), [])
})

/** A ledger with a batch of two chunks; the ids of its records. */
async function setUp(t: Parameters<typeof openEraser>[0], now?: () => number) {
  const app = await buildTestApp(t)
  const eraser = openEraser(t, app, now)
  const records = Array.from({ length: 70 }, (_, n) => ({
    type: 'generic/1',
    payload: { n, secret: randomBytes(12).toString('hex') },
  }))
  const body = { records }
  const batch = expectStatus(201, await app.send('POST', '/v1/records/batch', { body })).json()
  const ids: Uuid[] = batch.records.map(({ id }: { id: string }) => parseId('rec', id))
  const digests: string[] = batch.records.map(({ digest }: { digest: string }) => digest)
  return { app, eraser, ids, digests, body, seq: batch.entry.seq as number }
}

async function first(app: TestApp): Promise<Buffer> {
  return (await readChunks(app))[0]!.content
}

async function storedIn(app: TestApp, chunk: number): Promise<ChunkRecord[]> {
  const { content, count } = (await readChunks(app))[chunk]!
  return decodeChunk(content, count)
}

async function overwrite(app: TestApp, content: Uint8Array): Promise<void> {
  await writeContent(app, (await readChunks(app))[0]!, content)
}

/** Changes the document of a record of the first chunk. */
async function change(app: TestApp, place: number, document: object): Promise<void> {
  const [chunk] = await readChunks(app)
  const records = await storedIn(app, 0)
  const record = records[place]!
  const changed = { ...record, document: { ...record.document, ...document } } as ChunkRecord
  await writeRecords(app, chunk!, records.with(place, changed))
}

/** Before each call of erase_document. */
function onErase({ pool }: Eraser, work: (call: number) => Promise<void>): { count: number } {
  const calls = { count: 0 }
  const { query } = pool
  pool.query = async function (this: unknown, ...parameters: unknown[]) {
    const [text] = parameters
    if (typeof text === 'string' && text.includes('erase_document')) await work(++calls.count)
    return Reflect.apply(query, pool, parameters)
  } as unknown as typeof query
  return calls
}

async function pendingOf(app: TestApp): Promise<number[]> {
  const rows = await app.sql<{ seq: number }>(
    'select seq::int4 from tallystick.erasures where erased_at is null order by seq',
  )
  return rows.map(({ seq }) => seq)
}
