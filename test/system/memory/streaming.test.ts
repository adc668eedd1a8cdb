import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { STREAM_BYTES_PER_QUERY } from '../../../src/db/limits.ts'
import { exportFile } from '../../../src/verify/export-file.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { buildTestApp, expectStatus, genericBody, parseLines, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { until } from '../../helpers/wait.ts'

const MIB = 1024 * 1024

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('GET /v1/entries', async (t) => {
  const app = await buildTestApp(t)
  for (let i = 0; i < 3; i++) await app.notarize(genericBody({ i }))
  await postBatch(app, 1)
  await postBatch(app, 30)
  await app.notarize(genericBody({ last: true }))
  const text = (await app.send('GET', '/v1/entries')).body
  const lines = parseLines(text)

  await t.test('is NDJSON with one line for each entry, from 0 to the head', async () => {
    const response = await app.send('GET', '/v1/entries')
    assert.equal(response.headers['content-type'], 'application/x-ndjson')
    assert.deepEqual(
      lines.map((line) => line.seq),
      [0, 1, 2, 3, 4, 5, 6, 7, 8],
    )
    assert.deepEqual(
      lines.map((line) => line.kind),
      [
        'ledger-created',
        'agent-registered',
        'key-created',
        ...Array(3).fill('record-notarized'),
        'batch-notarized',
        'batch-notarized',
        'record-notarized',
      ],
    )
  })

  await t.test('has the members of FORMATS §6 in each line, and no other', () => {
    for (const line of lines) {
      assert.deepEqual(Object.keys(line), [
        'seq',
        'kind',
        'recordedAt',
        'leaf',
        'chain',
        'envelope',
        'documents',
        'items',
      ])
      for (const document of line.documents) {
        assert.deepEqual(Object.keys(document), ['subject', 'digest', 'salt', 'document', 'erasedBy'])
      }
      assert.equal(line.items === null, line.kind !== 'batch-notarized')
      if (line.items) assert.equal(line.items.length, line.documents.length)
    }
    assert.deepEqual(
      lines.map((line) => line.documents.length),
      [0, 0, 0, 1, 1, 1, 1, 30, 1],
    )
  })

  await t.test('begins after `after` and returns at most `limit`: pages make up the whole', async () => {
    for (const limit of [1, 2, 4, 100]) {
      let pages = ''
      for (let after = -1; ; ) {
        const page = (
          await app.send('GET', `/v1/entries?limit=${limit}${after < 0 ? '' : `&after=${after}`}`)
        ).body
        if (page === '') break
        pages += page
        after = parseLines(page).at(-1).seq
      }
      assert.equal(pages, text)
    }
  })

  await t.test('is empty beyond the head', async () => {
    for (const after of [8, 9, 1_000_000]) assert.deepEqual(await app.entries(`?after=${after}`), [])
    assert.equal((await app.entries('?after=7')).length, 1)
  })

  await t.test('has the lines of the export between its first and last line', async () => {
    const response = expectStatus(200, await app.send('GET', '/v1/export'))
    assert.equal(response.headers['content-type'], 'application/x-ndjson')
    assert.match(
      response.headers['content-disposition'] as string,
      /^attachment; filename="led_\w+\.ndjson"$/,
    )
    const all = parseLines(response.body)
    assert.deepEqual(all.slice(1, -1), lines)
    assert.deepEqual(Object.keys(all[0]), ['export', 'ledger', 'keys'])
    assert.equal(all[0].export, 1)
    const { size, closed, key, ...about } = (await app.send('GET', '/v1/ledger')).json()
    assert.deepEqual(all[0].ledger, about)
    assert.equal(size, all.length - 2)
    assert.equal(closed, null)
    assert.deepEqual(all[0].keys, (await app.send('GET', '/.well-known/tallystick-keys.json')).json().keys)
    assert.deepEqual(all.at(-1), { checkpoint: null })
    assertProblem(await app.send('GET', '/v1/checkpoints/latest'), 409, 'checkpoint_pending')
  })
})

test('an export of 20,000 records and 40 MB', async (t) => {
  const app = await buildTestApp(t)
  const origin = await app.app.listen({ port: 0, host: '127.0.0.1' })
  await fill(app)
  const sizeBefore = (await app.entries('?after=2')).at(-1).seq + 1

  await t.test(
    'waits for a slow reader with little memory and no transaction, while others are served',
    async (t) => {
      collectGarbage()
      const before = memoryBytes()
      const reads = countReads(t, app)
      const stream = await openExport(t, app, origin)
      const first = await readSome(stream, 1)
      for (let queries = -1; queries !== reads.queries; await sleep(300)) queries = reads.queries
      // The server has filled the sockets' buffers and then stopped reading ahead. Without backpressure it would have
      // read 40 MB.
      assert.ok(reads.bytes < 20 * MIB, `${Math.round(reads.bytes / MIB)} MiB were read ahead`)
      collectGarbage()
      const held = memoryBytes() - before
      assert.ok(held < 24 * MIB, `${Math.round(held / MIB)} MiB are held for a reader that does not read`)
      const open = await app.sql(
        `select state, query from pg_stat_activity
       where datname = current_database() and application_name = 'tallystick read' and state <> 'idle'`,
      )
      assert.deepEqual(open, [])

      const added = await app.notarize()
      expectStatus(200, await app.send('GET', `/v1/records/${added.id}`))
      await postBatch(app, 2_000)

      const file = join(temporaryDir(), 'export.ndjson')
      const out = createWriteStream(file)
      out.write(first)
      await pipeline(stream, out)
      assert.ok(reads.bytesMax <= STREAM_BYTES_PER_QUERY, `one query brought ${reads.bytesMax} bytes`)
      const report = await verifyLedger(exportFile(file), { threads: 1 })
      assert.equal('failure' in report ? report.failure : null, null)
      assert.equal(report.entries, sizeBefore, 'entries that were appended while it streamed are not in it')
      assert.equal(report.records, 20_000)
    },
  )

  await t.test('serves others while the export is read at full speed', async (t) => {
    const stream = await openExport(t, app, origin)
    const reading = readSome(stream, Number.POSITIVE_INFINITY)
    const startedAt = performance.now()
    let slowestMs = 0
    let requests = 0
    while (!stream.readableEnded && performance.now() - startedAt < 10_000) {
      const sentAt = performance.now()
      await app.notarize()
      slowestMs = Math.max(slowestMs, performance.now() - sentAt)
      requests++
    }
    assert.ok((await reading).length > 40 * MIB)
    // The bounds are wide, because other test files may use the cores. If requests waited for the whole export, only
    // one request would have been served.
    assert.ok(requests > 3, `${requests} requests were served meanwhile`)
    assert.ok(slowestMs < 5_000, `a request took ${Math.round(slowestMs)} ms`)
  })

  await t.test('ends when its reader disconnects, and returns its connection', async (t) => {
    const reads = countReads(t, app)
    const streams = await Promise.all(Array.from({ length: 10 }, () => openExport(t, app, origin)))
    await Promise.all(streams.map((stream) => readSome(stream, 1)))
    for (const stream of streams) stream.destroy()
    await sleep(200)
    const after = reads.queries
    await sleep(200)
    assert.equal(reads.queries, after, 'queries go on for readers that went away')
    assert.equal(app.deps.readPool.waitingCount, 0)
    await until(() => app.deps.readPool.idleCount === app.deps.readPool.totalCount)
    expectStatus(200, await app.send('GET', '/readyz'))
  })
})

/** Counts the application's queries from now on, and the bytes of payloads and chunks in their results. */
function countReads(t: TestContext, app: TestApp): { queries: number; bytes: number; bytesMax: number } {
  const reads = { queries: 0, bytes: 0, bytesMax: 0 }
  const { readPool } = app.deps
  const { query } = readPool
  t.after(() => {
    readPool.query = query
  })
  readPool.query = async function (this: unknown, ...parameters: unknown[]) {
    reads.queries++
    const result = (await Reflect.apply(query, readPool, parameters)) as { rows: Documents[] }
    let bytes = 0
    for (const { payload, content } of result.rows) bytes += payload?.length ?? content?.length ?? 0
    reads.bytes += bytes
    reads.bytesMax = Math.max(reads.bytesMax, bytes)
    return result
  } as unknown as typeof query
  return reads
}

type Documents = { readonly payload?: Buffer; readonly content?: Buffer }

/** Posts a batch. `bytes` is the number of random bytes per record. Other bytes would be compressed in a chunk. */
async function postBatch(app: TestApp, count: number, bytes = 0): Promise<void> {
  const records = Array.from({ length: count }, (_, i) =>
    genericBody({ i, noise: randomBytes(bytes).toString('base64') }),
  )
  expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
}

/** Writes 20,000 records: batches of 2,000, of 95 and of 1, one record with the largest payload, and single records. */
async function fill(app: TestApp): Promise<void> {
  for (let i = 0; i < 9; i++) await postBatch(app, 2_000, 1_400)
  for (let i = 0; i < 19; i++) {
    await postBatch(app, 95, 1_400)
    await app.notarize(genericBody({ i }))
  }
  for (let i = 0; i < 100; i++) await app.notarize(genericBody({ large: 'z'.repeat(60_000) }))
  await Promise.all(Array.from({ length: 56 }, (_, i) => app.notarize(genericBody({ i }))))
  for (let i = 0; i < 20; i++) await postBatch(app, 1)
}

async function openExport(t: TestContext, app: TestApp, origin: string): Promise<IncomingMessage> {
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${app.ledger.key.key}` }
    httpGet(`${origin}/v1/export`, { headers, agent: false }, resolve).on('error', reject)
  })
  // If the test fails, an unread stream would prevent the server from closing.
  t.after(() => stream.destroy())
  return stream
}

/** Reads at least this many bytes of the stream, or the whole stream if it is shorter. */
async function readSome(stream: IncomingMessage, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  const iterator = stream.iterator({ destroyOnReturn: false })
  for await (const chunk of iterator) {
    chunks.push(chunk as Buffer)
    length += (chunk as Buffer).length
    if (length >= bytes) break
  }
  return Buffer.concat(chunks)
}

function memoryBytes(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
