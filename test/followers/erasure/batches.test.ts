import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { readFindKey } from '../../../src/db/chain/signed-entries.ts'
import { type ChunkDocument, decodeChunk, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import { digestOf } from '../../../src/db/chunks/read-chunks.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { ERASURE_ATTEMPTS_MAX } from '../../../src/db/limits.ts'
import { listPendingErasures } from '../../../src/db/records/pending-erasures.ts'
import { eraseAll } from '../../../src/followers/erasure/carry-out.ts'
import { toHex } from '../../../src/proof/bytes.ts'
import type { ProofError } from '../../../src/proof/error.ts'
import { formatId, parseId, type Uuid } from '../../../src/proof/ids.ts'
import { recordIdAt } from '../../../src/proof/statement/batch-ids.ts'
import { makeMasterKey } from '../../../src/signing/master-key.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { listStoredRecords } from '../../helpers/batch-records.ts'
import { checkAllLedgers } from '../../helpers/check-ledger.ts'
import { TEST_MASTER_KEY } from '../../helpers/database.ts'
import { eraseInDatabase, type RewrittenChunk } from '../../helpers/erase-documents.ts'
import { type Eraser, openEraser } from '../../helpers/eraser.ts'
import { appendAsApi, signErasure } from '../../helpers/forged-erasures.ts'
import { lendApp } from '../../helpers/lent-app.ts'
import { assertIntact, ERASE, erase, linesOf } from '../../helpers/personal-records.ts'
import { listStoredChunks, type StoredChunk, writeContent } from '../../helpers/stored-chunks.ts'
import { makeItem, randomId, sha256 } from '../../helpers/test-ledger.ts'
import { until } from '../../helpers/wait.ts'

/*
 * Tests erasures of records of a batch, which are stored in chunks. To erase a payload, the worker rewrites its chunk.
 */

const WAITS = `select from pg_stat_activity
  where datname = current_database() and usename = 'tallystick_worker' and wait_event_type = 'Lock'`
const PENDING = 'select from tallystick.erasures where erased_at is null'

async function notarize(
  app: TestApp,
  count: number,
  member: (i: number) => object = () => ({}),
): Promise<string[]> {
  const records = Array.from({ length: count }, (_, i) => ({ ...genericBody({ i }), ...member(i) }))
  const options = { body: { records }, headers: { 'idempotency-key': randomUUID() } }
  const answer = expectStatus(201, await app.send('POST', '/v1/records/batch', options)).json()
  return answer.records.map(({ id }: { id: string }) => id)
}

async function order(app: TestApp, ids: readonly string[]): Promise<number[]> {
  const seqs: number[] = []
  for (const id of ids) seqs.push(expectStatus(202, await erase(app, id)).json().erasure.entry.seq)
  return seqs
}

async function left(app: TestApp): Promise<number[]> {
  const records = await listStoredRecords(app)
  return records.flatMap(({ payload }) => payload?.i ?? [])
}

const errorsOf = (...workers: Eraser[]) =>
  workers.flatMap(({ logged }) => logged.filter(({ level }) => level === 'error'))

test('two simultaneous erasures in one chunk both succeed', async (t) => {
  const app = await lendApp(t)
  const workers = [openEraser(t, app), openEraser(t, app)] as const
  const ids = await notarize(app, 70)
  const seqs = await order(app, [ids[0]!, ids[63]!, ids[64]!])
  const pending = await listPendingErasures(workers[0].pool, null, 10)
  const erasureOf = (seq: number | undefined) => pending.find((one) => one.seq === seq)!
  await withClient(app.database.superuserUrl, async (holder) => {
    await holder.query('begin; select from tallystick.batch_chunks for update')
    const findKey = await readFindKey(workers[0].pool)
    const running = Promise.all(
      workers.map(({ pool }, i) =>
        eraseAll({ pool, masterKey: makeMasterKey(TEST_MASTER_KEY) }, [erasureOf(seqs[i])], findKey),
      ),
    )
    await until(async () => (await app.sql(WAITS)).length === 2)
    await holder.query('commit')
    assert.deepEqual(await running, [1, 1])
  })
  await Promise.all(workers.map((worker) => worker.run()))
  assert.deepEqual(errorsOf(...workers), [])
  assert.equal((await app.sql(PENDING)).length, 0)
  assert.deepEqual(
    await left(app),
    [...Array(70).keys()].filter((i) => ![0, 63, 64].includes(i)),
  )
  await withClient(app.database.superuserUrl, checkAllLedgers)
  const text = (await app.send('GET', '/v1/export')).body
  await assertIntact(text, linesOf(text).length)
})

test('a chunk that changes each time is read again at most ERASURE_ATTEMPTS_MAX times', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const [id] = await notarize(app, 1)
  await order(app, [id!])
  let calls = 0
  eraser.pool.on('acquire', (client) => {
    const query = client.query.bind(client)
    client.query = ((...parameters: unknown[]) => {
      if (!JSON.stringify(parameters[0]).includes('erase_documents'))
        return Reflect.apply(query, client, parameters)
      calls++
      throw Object.assign(new Error('the chunk has changed meanwhile'), { code: '40001' })
    }) as typeof query
  })
  await eraser.run()
  assert.equal(calls, ERASURE_ATTEMPTS_MAX)
  assert.deepEqual(
    errorsOf(eraser).map(({ err }) => err!.message),
    ['the chunk has changed meanwhile'],
  )
})

test('a tampered chunk is not rewritten, and delays no erasure in other chunks', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const batches: string[][] = []
  for (let i = 0; i < 4; i++) batches.push(await notarize(app, 2))
  const [changed, noise, fewer, whole] = await listStoredChunks(app)
  const records = decodeChunk(changed!.content, 2)
  const payload = Buffer.from('{"i":7}')
  const contents: [StoredChunk, Buffer][] = [
    [
      changed!,
      encodeChunk(
        records.with(0, makeItem({ document: { ...records[0]!.document, payload } as ChunkDocument })),
      ),
    ],
    [noise!, randomBytes(200)],
    [fewer!, encodeChunk(decodeChunk(fewer!.content, 2).slice(1))],
  ]
  for (const [chunk, content] of contents) await writeContent(app, chunk, content)
  const before = await listStoredChunks(app)
  const server = await app.deps.signers.load()
  for (const [i, { seq }] of [changed!, noise!, fewer!].entries()) {
    // The API refuses to erase an unreadable payload, so the test appends the entry like an attacker.
    const recordId = parseId('rec', batches[i]![0]!)
    const digest = toHex(digestOf(records[0]!))
    await appendAsApi(
      app,
      signErasure(app, server, {
        row: { document: 'payload', subjectId: recordId, documentSeq: seq },
        signed: { subject: batches[i]![0]!, digest, seq },
      }),
    )
  }
  await order(app, [batches[3]![1]!])
  await eraser.run()
  assert.deepEqual(
    errorsOf(eraser).map(({ err }) => [err!.name, (err as ProofError).code]),
    [
      ['ProofError', 'erasure_unexplained'],
      ['ProofError', 'chunk_syntax'],
      ['ProofError', 'chunk_syntax'],
    ],
  )
  assert.deepEqual((await listStoredChunks(app)).slice(0, 3), before.slice(0, 3))
  const shown = await app.send('GET', `/v1/records/${batches[3]![0]}`)
  assert.deepEqual([shown.json().payload, (await app.sql(PENDING)).length], [{ i: 0 }, 3])
  assert.notDeepEqual((await listStoredChunks(app))[3], whole)
  for (const id of [batches[1]![0]!, batches[2]![1]!]) {
    assertProblem(await app.send('GET', `/v1/records/${id}`), 500, 'internal_error')
    assertProblem(await erase(app, id), 500, 'internal_error')
    assertProblem(await app.send('GET', `/v1/records/${id}/proof`), 500, 'internal_error')
  }
  expectStatus(200, await app.send('GET', '/readyz'))
})

test('an erasure does not change the other records of its chunk, even tampered ones', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const ids = await notarize(app, 3)
  const seqs = await order(app, [ids[1]!])
  const [chunk] = await listStoredChunks(app)
  const changed = decodeChunk(chunk!.content, 3).with(0, makeItem())
  await writeContent(app, chunk!, encodeChunk(changed))
  await eraser.run()
  const [after] = await listStoredChunks(app)
  const records = decodeChunk(after!.content, 3)
  assert.deepEqual([records[0], records[2]], [changed[0], changed[2]])
  assert.deepEqual([records[1]!.document.erasedSeq], seqs)
})

test('refuses an erasure whose row or statement names another batch or digest', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const ids = (await notarize(app, 5)).map((id) => parseId('rec', id))
  const before = await listStoredChunks(app)
  const [{ seq, content }] = before as [StoredChunk]
  const digests = decodeChunk(content, 5).map((record) => toHex(digestOf(record)))
  const signer = await app.deps.signers.load()
  const erasure = (subjectId: Uuid, digest: string, row: number, signed: number) =>
    signErasure(app, signer, {
      row: { document: 'payload', subjectId, documentSeq: row },
      signed: { subject: formatId('rec', subjectId), digest, seq: signed },
    })
  const forged = [
    erasure(ids[0]!, digests[0]!, seq - 1, seq - 1),
    erasure(ids[1]!, digests[1]!, seq - 1, seq),
    erasure(ids[2]!, digests[2]!, seq, seq + 1),
    erasure(ids[3]!, digests[4]!, seq, seq),
    erasure(recordIdAt(ids[0]!, ids.length), digests[0]!, seq, seq),
  ]
  for (const entry of forged) await appendAsApi(app, entry)
  await eraser.run()
  assert.deepEqual(
    eraser.logged.map(({ level, err }) => [level, err?.name]),
    Array(forged.length).fill(['error', 'ProofError']),
  )
  assert.deepEqual(await listStoredChunks(app), before)
})

test('a reference finds its chunk as long as one unerased record has the reference', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const ids = await notarize(app, 66, (i) => ({
    metadata: { i },
    references: i === 1 ? ['both', 'second'] : i === 0 ? ['both', 'first'] : ['others'],
  }))
  const keys = () =>
    app.sql<{ chunk: number; reference: string }>(
      `select chunk, convert_from(substr(key, 2), 'UTF8') as reference from tallystick.batch_keys
       where ledger_id = $1 and get_byte(key, 0) = ascii('R') order by chunk, key`,
      [app.ledgerId],
    )
  const expectKeys = async (first: string[]) =>
    assert.deepEqual(
      (await keys()).map(({ chunk, reference }) => [chunk, reference]),
      [...first.map((reference) => [0, reference]), [1, 'others']],
    )
  await expectKeys(['both', 'first', 'others', 'second'])
  for (const [i, after] of [['both', 'others', 'second'], ['others']].entries()) {
    await order(app, [ids[i]!])
    await eraser.run()
    await expectKeys(after)
  }
  const stored = await listStoredRecords(app)
  assert.deepEqual(
    stored
      .slice(0, 3)
      .map(({ document }) => [Object.keys(document).sort(), document.erasedSeq !== undefined]),
    [
      [['digest', 'erasedSeq', 'referencesDigest'], true],
      [['digest', 'erasedSeq', 'referencesDigest'], true],
      [['metadata', 'payload', 'references', 'salt'], false],
    ],
  )
  assert.equal((await app.sql('select from tallystick.idempotency_keys where salt is not null')).length, 0)
  await withClient(app.database.superuserUrl, checkAllLedgers)
})

test('a list read during erasures shows every record as before or as erased', async (t) => {
  const app = await lendApp(t)
  const eraser = openEraser(t, app)
  const ids = await notarize(app, 3, () => ({ references: ['one'], metadata: { kept: false } }))
  const eraseAway = async (id: string) => {
    await order(app, [id])
    await eraser.run()
  }
  // The erasure happens between reading the keys and reading the chunks. So the search finds a record by a reference
  // that the record no longer has.
  beforeQuery(app, 'read_chunks', () => eraseAway(ids[0]!))
  const byReference = (await app.send('GET', '/v1/records?reference=one&order=asc')).json()
  assert.deepEqual(
    byReference.data.map(({ id, payload }: Shown) => [id, payload]),
    [
      [ids[1], { i: 1 }],
      [ids[2], { i: 2 }],
    ],
  )
  // The erasure happens after the search has read the chunks, and before the search reads which entries erased their
  // records.
  beforeQuery(app, 'find_erasures_of_batches', () => eraseAway(ids[1]!))
  const all = (await app.send('GET', '/v1/records?order=asc')).json()
  const shown = all.data.map(({ payload, metadata, erasure }: Shown) => [
    payload,
    metadata,
    erasure?.code ?? null,
  ])
  const { code } = ERASE
  assert.deepEqual(shown, [
    [null, null, code],
    [{ i: 1 }, { kept: false }, null],
    [{ i: 2 }, { kept: false }, null],
  ])
  const after = (await app.send('GET', '/v1/records?order=asc')).json()
  assert.deepEqual(
    after.data.map(({ erasure }: Shown) => erasure?.code ?? null),
    [code, code, null],
  )
})

type Shown = {
  readonly id: string
  readonly payload: object | null
  readonly metadata: object | null
  readonly erasure: { readonly code: string } | null
}

function beforeQuery({ deps: { searchPool } }: TestApp, name: string, work: () => Promise<void>): void {
  const { query } = searchPool
  searchPool.query = async function (this: unknown, ...parameters: unknown[]) {
    if ((parameters[0] as { name?: string }).name === name) {
      searchPool.query = query
      await work()
    }
    return Reflect.apply(query, searchPool, parameters)
  } as unknown as typeof query
}

test('the worker’s login can change only the chunk of the record that an entry erased', async (t) => {
  const app = await lendApp(t)
  const { pool } = openEraser(t, app)
  const ids = await notarize(app, 130)
  await notarize(app, 64)
  const [seq] = await order(app, [ids[64]!])
  const chunks = await listStoredChunks(app)
  const erased = makeItem({ document: { digest: randomBytes(32), referencesDigest: null, erasedSeq: seq! } })
  const rewritten = (i: number, before: Uint8Array = sha256(chunks[i]!.content)) => {
    const { seq, chunk } = chunks[i]!
    return [{ seq, chunk, before, after: encodeChunk([erased]), keysGone: [] }]
  }
  const call = (rewritten: RewrittenChunk[], ledgerId = app.ledgerId as string, at = seq!) =>
    eraseInDatabase(pool, ledgerId, [at], rewritten)
  for (const i of [0, 2, 3]) await assert.rejects(call(rewritten(i)), { code: '40001' })
  await assert.rejects(call([...rewritten(1), ...rewritten(2)]), { code: '40001' })
  await assert.rejects(call(rewritten(1, randomBytes(32))), { code: '40001' })
  await assert.rejects(call([]), { code: 'P0002' })
  assert.deepEqual([await call(rewritten(1), app.ledgerId, seq! - 1), await call([], randomId())], [0, 0])
  for (const login of [app.deps.readPool, pool]) {
    await assert.rejects(
      login.query('update tallystick.batch_chunks set erased_seq = null'),
      /permission denied/,
    )
    await assert.rejects(login.query('delete from tallystick.batch_keys'), /permission denied/)
  }
  assert.deepEqual([await listStoredChunks(app), (await app.sql(PENDING)).length], [chunks, 1])
  assert.equal(await call(rewritten(1)), 1)

  // The trigger refuses a wrong change of a chunk even for the owner.
  const again = await order(app, [ids[0]!])
  const update = (chunk: number) =>
    app.sql(
      `update tallystick.batch_chunks set content = 'x', erased_seq = ${again[0]} where seq = ${chunks[0]!.seq} and chunk = ${chunk}`,
    )
  for (const chunk of [1, 2]) await assert.rejects(update(chunk), { constraint: 'batch_chunks_change' })
  await update(0)
})
