import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { readEntries } from '../../../src/db/chain/read-entries.ts'
import { readFindKey } from '../../../src/db/chain/signed-entries.ts'
import { decodeChunk, encodeChunk } from '../../../src/db/chunks/chunk-content.ts'
import type { ArchiveContent } from '../../../src/db/connect/archive.ts'
import { withClient } from '../../../src/db/connect/client.ts'
import { copyLedger } from '../../../src/db/ledgers/moving.ts'
import { listPendingErasures } from '../../../src/db/records/pending-erasures.ts'
import { releaseContent } from '../../../src/followers/archive/release-content.ts'
import { eraseAll } from '../../../src/followers/erasure/carry-out.ts'
import { ERASURE_REFUSED_PAUSE_MS, RELEASE_ROUND_MS } from '../../../src/followers/limits.ts'
import { openLog } from '../../../src/observe/log.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { openDeps } from '../../../src/run/deps.ts'
import { startWorker } from '../../../src/run/worker.ts'
import { documentPosition } from '../../../src/signing/document-keys.ts'
import { ARCHIVE_AWAY_PAUSE_MS } from '../../../src/verify/archive/limits.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { expectStatus, genericBody, type TestApp, testConfig } from '../../helpers/app.ts'
import { requireAuditable } from '../../helpers/auditable.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { openEraser, takenAway } from '../../helpers/eraser.ts'
import { erase, linesOf } from '../../helpers/personal-records.ts'
import { lendReleasedApp } from '../../helpers/released-app.ts'
import { until } from '../../helpers/wait.ts'
import { makeWebhook } from '../../helpers/webhooks.ts'

type Released = Awaited<ReturnType<typeof lendReleasedApp>>

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const SECRET = 'a-name-that-must-go'
const WAITS = `select from pg_stat_activity
  where datname = current_database() and usename = 'tallystick_worker' and wait_event_type = 'Lock'`

/** Posts a batch whose records have all members and fill more than one chunk. Returns the records' ids. */
async function postBatch(app: TestApp, count = 70): Promise<string[]> {
  const parent = await app.notarize()
  const records = Array.from({ length: count }, (_, i) => ({
    ...genericBody({ i, text: `\u{1f680} ",\\"references\\":[" ${i}`, references: [SECRET] }),
    ...(i % 2 === 0 && { references: [`order ${i % 4}`, ',"references":["a"]', `only ${i}`] }),
    ...(i % 3 === 0 && { metadata: { note: `${SECRET} ${i}` } }),
    ...(i % 5 === 0 && { occurredAt: '2026-01-02T03:04:05.678Z', onBehalfOf: app.ledger.agent.id }),
    ...(i % 7 === 0 && { parent: parent.id, traceparent: TRACE }),
    ...(i === 1 && { subject: 'somebody' }),
  }))
  const answer = await app.send('POST', '/v1/records/batch', { body: { records } })
  const made: { id: string }[] = expectStatus(201, answer).json().records
  return made.map(({ id }) => id)
}

/** Returns the status and digest of many answers that contain these records. The map's keys are the addresses. */
async function answers(app: TestApp, ids: readonly string[]): Promise<Record<string, string>> {
  const [first, second] = ids as [string, string]
  const urls = [
    ...[0, 1, 15, 63, 64, ids.length - 1].map((i) => `/v1/records/${ids[i]}`),
    '/v1/records?limit=100',
    '/v1/records?order=asc&limit=7',
    '/v1/records?type=generic/1&limit=100',
    `/v1/records?reference=${encodeURIComponent('order 2')}&limit=100`,
    '/v1/records?occurredAfter=2026-01-01T00:00:00.000Z&occurredBefore=2026-01-03T00:00:00.000Z&limit=100',
    `/v1/records/${first}/tree`,
    `/v1/records/${first}/proof`,
    `/v1/records/${second}/receipt`,
    `/v1/records/${first}/entries`,
    '/v1/entries',
    '/v1/export',
    '/v1/events?limit=100',
  ]
  const found: Record<string, string> = {}
  for (const url of urls) {
    const { rawPayload } = expectStatus(200, await app.send('GET', url))
    found[url] = createHash('sha256').update(rawPayload).digest('hex')
  }
  return found
}

const errorsOf = ({ logged }: Released) =>
  logged.filter(({ level }) => level === 'error').map(({ err }) => String(err))

/** Builds a ledger whose batch is only in the archive. */
async function buildLeft(t: Parameters<typeof lendReleasedApp>[0]) {
  const released = await lendReleasedApp(t)
  const ids = await postBatch(released.app)
  await released.leave()
  assert.deepEqual([errorsOf(released), await released.chunks()], [[], [0, 2]])
  return { ...released, released, ids }
}

async function piecesOf(app: TestApp): Promise<string[]> {
  const rows = await app.sql<{ state: string }>(
    'select state from tallystick.archive_pieces order by from_seq',
  )
  return rows.map(({ state }) => state)
}

async function objectOf({ directory }: Released, kind: 'lines' | 'documents'): Promise<string> {
  return join(directory, kind, (await readdir(join(directory, kind))).at(-1)!)
}

test('released content is answered by the same routes, byte for byte, and verifies', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const ids = await postBatch(app)
  await released.archiver.run()
  const before = await answers(app, ids)
  await released.raiseFloor()
  await released.release()
  assert.deepEqual([errorsOf(released), await released.chunks(), await piecesOf(app)], [[], [0, 2], ['left']])
  assert.deepEqual(await answers(app, ids), before)

  const known = await app.send('POST', '/v1/subjects/find', { body: { subject: 'somebody' } })
  assert.deepEqual(
    known.json().data.map(({ record }: { record: string }) => record),
    [ids[1]],
  )
  await requireAuditable(app, released.deps.openContent())
})

test('while the archive is away its records are refused, and everything else goes on', async (t) => {
  const { app, ids, directory } = await buildLeft(t)
  const here = await app.notarize()
  await rename(directory, `${directory}.away`)
  await writeFile(directory, 'no directory')
  for (const url of [`/v1/records/${ids[0]}`, '/v1/records?limit=100', `/v1/records/${ids[0]}/proof`]) {
    const refused = expectStatus(503, await app.send('GET', url))
    const { code, retryable } = refused.json()
    assert.deepEqual(
      [code, retryable, refused.headers['retry-after']],
      ['archive_unavailable', true, '5'],
      url,
    )
  }
  expectStatus(200, await app.send('GET', `/v1/records/${here.id}`))
  const later = await postBatch(app, 3)
  expectStatus(200, await app.send('GET', `/v1/records/${later[0]}`))

  await rm(directory)
  await rename(`${directory}.away`, directory)
  const answered = async () => (await app.send('GET', `/v1/records/${ids[0]}`)).statusCode
  while ((await answered()) !== 200) {}
})

test('a changed or missing archive object gives 503, and none of its content is shown', async (t) => {
  const { app, ids, released } = await buildLeft(t)
  for (const kind of ['lines', 'documents'] as const) {
    const path = await objectOf(released, kind)
    const bytes = await readFile(path)
    const changed = Buffer.from(bytes)
    changed[changed.length >> 1]! ^= 1
    for (const lie of [changed, Buffer.concat([bytes, bytes]), null]) {
      await (lie === null ? rm(path) : writeFile(path, lie))
      const refused = expectStatus(503, await app.send('GET', `/v1/records/${ids[0]}`))
      assert.match(refused.json().detail, lie === null ? /is missing/ : /differs from what was written/)
      const content = released.deps.openContent()
      const from = testDatabase(app.database.workerUrl, content)
      const report = await verifyLedger(database(from, app.ledger.ledger.id), { threads: 0 })
      assert.equal(report.failure?.code, 'archive_object')
      await writeFile(path, bytes)
    }
  }
  expectStatus(200, await app.send('GET', `/v1/records/${ids[0]}`))
})

test('an archive without the ledger, such as an unmounted volume, is an error and not a ledger fault', async (t) => {
  const { app, ids, directory, deps } = await buildLeft(t)
  await rename(directory, `${directory}.away`)
  const refused = expectStatus(503, await app.send('GET', `/v1/records/${ids[0]}`))
  assert.match(refused.json().detail, /has nothing of this ledger/)
  const from = testDatabase(app.database.workerUrl, deps.openContent())
  await assert.rejects(
    verifyLedger(database(from, app.ledger.ledger.id), { threads: 0 }),
    /has nothing of this ledger/,
  )
})

test('a released document can be erased, and documents next to it are still answered', async (t) => {
  const { app, ids, released, archiver } = await buildLeft(t)
  const eraser = openEraser(t, app)
  const round = released.openPool(released.deps.openContent())
  const [gone, beside] = [ids[6]!, ids[9]!]
  const asked = (id: string) => app.send('GET', `/v1/records/${id}`)
  const neighbour = (await asked(beside)).body
  expectStatus(202, await erase(app, gone))
  assert.equal((await asked(gone)).json().payload, null)

  // This worker has no settings of the archive. Therefore it must erase nothing.
  await eraser.run()
  assert.match(String(eraser.logged.at(-1)?.err), /TALLYSTICK_ARCHIVE/)
  await released.eraseAll(round)
  const seq = (await app.entries()).find(({ kind }) => kind === 'batch-notarized').seq
  const keys = (await archiver.keys()).pieces.get(0)!
  assert.deepEqual(
    [keys.find(documentPosition(seq, 6)), keys.find(documentPosition(seq, 9)) !== null],
    [null, true],
  )
  const { payload, metadata, erasure } = (await asked(gone)).json()
  assert.deepEqual([payload, metadata, typeof erasure.seq], [null, null, 'number'])
  assert.equal((await asked(beside)).body, neighbour)
  const found = async (reference: string) =>
    (await app.send('GET', `/v1/records?reference=${encodeURIComponent(reference)}&limit=100`)).json().data
  assert.deepEqual([(await found('only 6')).length, (await found('only 8')).length], [0, 1])
  const [{ count }] = (await app.sql(
    `select count(*)::int from tallystick.batch_keys where key = 'Ronly 6'::bytea`,
  )) as [{ count: number }]
  assert.equal(count, 0)
  const line = linesOf((await app.send('GET', '/v1/export')).body)[seq]
  assert.deepEqual([line.documents[6].document, line.documents[6].erasedBy], [null, erasure.seq])
  const content = released.deps.openContent()
  const from = testDatabase(app.database.workerUrl, content)
  const report = await verifyLedger(database(from, app.ledger.ledger.id), { threads: 0 })
  assert.deepEqual([report.failure, report.erasures.length], [null, 1])
})

test('concurrent erasures in one released chunk are both applied, including a shared search key', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, masterKey } = released
  const records = Array.from({ length: 3 }, (_, i) => ({
    ...genericBody({ i }),
    ...(i < 2 && { references: ['both'] }),
  }))
  const answer = await app.send('POST', '/v1/records/batch', { body: { records } })
  const made: { id: string }[] = expectStatus(201, answer).json().records
  await released.leave()
  const countKeys = () =>
    app.sql(`select count(*)::int from tallystick.batch_keys where key = 'Rboth'::bytea`)
  assert.deepEqual(await countKeys(), [{ count: 1 }])
  for (const { id } of made.slice(0, 2)) expectStatus(202, await erase(app, id))
  const pools = [1, 2].map(() => released.openPool(released.deps.openContent()))
  const pending = await listPendingErasures(pools[0]!, null, 10)
  const findKey = await readFindKey(pools[0]!)
  await withClient(app.database.superuserUrl, async (holder) => {
    await holder.query('begin; select from tallystick.batch_chunks for update')
    const running = Promise.all(pools.map((pool, i) => eraseAll({ pool, masterKey }, [pending[i]!], findKey)))
    await until(async () => (await app.sql(WAITS)).length === 2)
    await holder.query('commit')
    assert.deepEqual(await running, [1, 1])
  })
  assert.deepEqual(await countKeys(), [{ count: 0 }])
  const from = testDatabase(app.database.workerUrl, released.deps.openContent())
  const report = await verifyLedger(database(from, app.ledger.ledger.id), { threads: 0 })
  assert.deepEqual([report.failure, report.erasures.length], [null, 2])
})

test('erasures in an unavailable archive wait without being refused, and others are carried out', async (t) => {
  const { app, ids, released, directory } = await buildLeft(t)
  const documents = await objectOf(released, 'documents')
  const here = await app.notarize()
  let nowMs = 1_000_000
  const eraser = openEraser(t, app, () => nowMs, released.deps.openContent())
  for (const id of [ids[6]!, here.id, ids[9]!]) expectStatus(202, await erase(app, id))
  const looks = async () => {
    nowMs += ERASURE_REFUSED_PAUSE_MS
    await eraser.run()
    const refusals = eraser.logged.filter(({ level }) => level === 'error')
    return [eraser.refused.count, eraser.waiting.count, takenAway(eraser.logged), refusals.length]
  }
  await rename(directory, `${directory}.away`)
  await writeFile(directory, 'no directory')
  assert.deepEqual(await looks(), [0, 2, 1, 1])
  assert.deepEqual(await looks(), [0, 2, 1, 1])
  await rm(directory)
  await rename(`${directory}.away`, directory)
  const bytes = await readFile(documents)
  await rm(documents)
  await setTimeout(ARCHIVE_AWAY_PAUSE_MS)
  assert.deepEqual(await looks(), [0, 2, 1, 1])
  await writeFile(documents, bytes)
  assert.deepEqual(await looks(), [0, 0, 3, 1])
})

test('while the archive is unavailable, erasures of batch records still in Postgres are carried out', async (t) => {
  const { app, ids, released, directory } = await buildLeft(t)
  const here = await postBatch(app)
  const eraser = openEraser(t, app, Date.now, released.deps.openContent())
  for (const id of [here[0]!, ids[6]!, here[69]!]) expectStatus(202, await erase(app, id))
  await rename(directory, `${directory}.away`)
  await writeFile(directory, 'no directory')
  await eraser.run()
  assert.deepEqual([eraser.refused.count, eraser.waiting.count, takenAway(eraser.logged)], [0, 1, 2])
})

test('a document erased before its batch was released stays erased', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const ids = await postBatch(app)
  const eraser = openEraser(t, app)
  expectStatus(202, await erase(app, ids[3]!))
  await eraser.run()
  await released.archiver.run()
  expectStatus(202, await erase(app, ids[4]!))
  await eraser.run()
  await released.archiver.run()
  const before = await answers(app, ids)
  await released.raiseFloor()
  await released.release()
  assert.deepEqual([errorsOf(released), await released.chunks()], [[], [0, 2]])
  assert.deepEqual(await answers(app, ids), before)
})

test('content stays in Postgres until archived, verified, old enough, delivered, and without a waiting erasure or move', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  const ids = await postBatch(app)
  const stays = async (why: string) => {
    await released.release()
    assert.deepEqual(await released.chunks(), [2, 0], why)
  }
  await released.raiseFloor()
  await stays('it is not archived')
  await app.sql('delete from tallystick.audit_cursors')
  await released.archiver.run()
  await stays('it was not verified')
  await released.raiseFloor()
  Object.assign(deps, { retentionDays: 1 })
  await stays('it is young')
  Object.assign(deps, { retentionDays: 0 })
  const { id } = await makeWebhook(app)
  await app.sql('update tallystick.webhook_cursors set next_seq = 3')
  await stays('an endpoint has not heard of it')
  expectStatus(204, await app.send('DELETE', `/v1/webhooks/${id}`))
  await app.sql('delete from tallystick.webhook_cursors')
  expectStatus(202, await erase(app, ids[0]!))
  await stays('an erasure waits')
  await openEraser(t, app).run()
  await app.sql("update tallystick.chain_heads set closed = 'moving'")
  await stays('the ledger is being moved')
  await app.sql('update tallystick.chain_heads set closed = null')
  await released.release()
  assert.deepEqual([errorsOf(released), await released.chunks()], [[], [0, 2]])
})

test('content stays in Postgres if the archive has lost it or has different content', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  await postBatch(app)
  await released.archiver.run()
  await released.raiseFloor()
  const path = await objectOf(released, 'documents')
  const bytes = await readFile(path)
  await rm(path)
  await releaseContent(deps)
  await writeFile(path, bytes)
  assert.match(errorsOf(released).at(-1)!, /is missing/)
  assert.deepEqual([await released.chunks(), deps.unreleased.count], [[2, 0], 1])
  deps.unreleased.resume(app.ledger.ledger.id)

  const { openContent } = deps
  const lying: ArchiveContent = {
    async read(chunk) {
      const records = decodeChunk(await openContent().read(chunk), chunk.count)
      return encodeChunk(records.map((one, i) => (i === 5 ? { ...one, type: 'a/1' } : one)))
    },
    readEnvelopes: (wanted) => openContent().readEnvelopes(wanted),
  }
  Object.assign(deps, { openContent: () => lying })
  await releaseContent(deps)
  assert.match(errorsOf(released).at(-1)!, /different records in chunk 0/)
  assert.deepEqual([await released.chunks(), await piecesOf(app)], [[2, 0], ['kept']])
})

test('a chunk that is erased while it is compared stays, and leaves with the next round', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  const ids = await postBatch(app)
  const eraser = openEraser(t, app)
  await released.archiver.run()
  await released.raiseFloor()
  const { openContent } = deps
  let compared = 0
  Object.assign(deps, {
    openContent: (): ArchiveContent => ({
      async read(chunk) {
        const content = await openContent().read(chunk)
        if (compared++ === 0) {
          expectStatus(202, await erase(app, ids[0]!))
          await eraser.run()
        }
        return content
      },
      readEnvelopes: (wanted) => openContent().readEnvelopes(wanted),
    }),
  })
  await releaseContent(deps)
  assert.deepEqual(
    [errorsOf(released), await released.chunks(), await piecesOf(app)],
    [[], [1, 1], ['leaving']],
  )
  await released.release()
  assert.deepEqual([await released.chunks(), await piecesOf(app)], [[0, 2], ['left']])
  assert.equal((await app.send('GET', `/v1/records/${ids[0]}`)).json().payload, null)
  expectStatus(200, await app.send('GET', `/v1/records/${ids[1]}`))
})

test('after a worker was killed between two chunks, the next continues', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  const ids = await postBatch(app, 1_100)
  await released.archiver.run()
  await released.raiseFloor()
  const before = await answers(app, ids)
  const { query } = deps.pool
  let calls = 0
  deps.pool.query = ((config: { name?: string }, ...rest: []) => {
    if (config.name === 'release_content' && calls++ === 1) throw new Error('killed')
    return (query as (...a: unknown[]) => unknown).call(deps.pool, config, ...rest)
  }) as typeof query
  await releaseContent(deps)
  assert.match(errorsOf(released).at(-1)!, /killed/)
  assert.deepEqual([await released.chunks(), await piecesOf(app)], [[2, 16], ['leaving']])
  assert.deepEqual(await answers(app, ids), before)
  deps.unreleased.resume(app.ledger.ledger.id)
  await released.release()
  assert.deepEqual([await released.chunks(), await piecesOf(app)], [[0, 18], ['left']])
  assert.deepEqual(await answers(app, ids), before)
})

test('server and worker without TALLYSTICK_ARCHIVE warn at start if content is in the archive', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const { apiUrl, workerUrl } = app.database
  const warnings = async (environment: Record<string, string> = {}) => {
    const lines: string[] = []
    const log = openLog('warn', { write: (line: string) => void lines.push(line) })
    const config = testConfig(apiUrl, {
      TALLYSTICK_DATA: join(released.directory, '..', 'worker'),
      ...environment,
    })
    const deps = await openDeps(config, log)
    await deps.close()
    const worker = await startWorker({ ...config, workerUrl }, new Metrics(), log)
    await worker.close()
    return lines.filter((line) => line.includes('TALLYSTICK_ARCHIVE is not set')).length
  }
  await postBatch(app)
  await released.archiver.run()
  assert.equal(await warnings(), 0)
  await released.leave()
  assert.equal(await warnings(), 2)
  assert.equal(await warnings({ TALLYSTICK_ARCHIVE: `file://${join(released.directory, '..')}` }), 0)
})

test('a piece being released is recorded once, and releases nothing while its ledger is moved', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  const ids = await postBatch(app)
  await released.archiver.run()
  await released.raiseFloor()
  const release = async (seqs: number[]) => {
    const { rows } = await deps.pool.query(
      `select r.* from tallystick.release_content($1, 0, $2::int8[], $3::int4[],
         array(select sha256(content) from tallystick.batch_chunks c join unnest($2::int8[], $3::int4[]) n (seq, chunk) using (seq, chunk)),
         array_fill(null::bytea, array[cardinality($2::int8[])]), '{}', '{}', false) r`,
      [app.ledgerId, seqs, seqs.map((_, i) => i)],
    )
    return rows[0].chunks
  }
  const writtenBy = async () =>
    (await app.sql('select xmin::text from tallystick.archive_pieces'))[0]!['xmin']
  const { seq } = (
    await app.sql<{ seq: number }>('select min(seq)::int as seq from tallystick.batch_chunks')
  )[0]!
  assert.equal(await release([]), 0)
  const first = await writtenBy()
  await app.sql("update tallystick.chain_heads set closed = 'moving'")
  assert.equal(await release([seq]), 0)
  await app.sql('update tallystick.chain_heads set closed = null')
  assert.equal(await release([seq]), 1)
  assert.deepEqual([await released.chunks(), await writtenBy()], [[1, 1], first])
  expectStatus(200, await app.send('GET', `/v1/records/${ids[0]}`))
})

/**
 * Makes two batches with 36 chunks that may be released. `isSlow`: takes the number of a read from the archive, and
 * returns true if the read takes the whole time of a round.
 */
async function buildSlow(t: TestContext, isSlow: (read: number) => boolean) {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  for (let n = 0; n < 2; n++) await postBatch(app, 1_100)
  await released.archiver.run()
  await released.raiseFloor()
  const now = performance.now.bind(performance)
  let laterMs = 0
  t.mock.method(performance, 'now', () => now() + laterMs)
  const { openContent } = deps
  Object.assign(deps, {
    openContent: () => {
      const content = openContent()
      let reads = 0
      return {
        read(chunk: Parameters<ArchiveContent['read']>[0]) {
          if (isSlow(reads++)) laterMs += RELEASE_ROUND_MS
          return content.read(chunk)
        },
        readEnvelopes: content.readEnvelopes.bind(content),
      }
    },
  })
  const standing = async () => [errorsOf(released), await released.chunks(), await piecesOf(app)]
  return { ...released, standing }
}

test('a round that used up its time ends between two chunks, returns true, and is continued', async (t) => {
  const { deps, release, standing } = await buildSlow(t, () => true)
  assert.equal(await releaseContent(deps), true)
  assert.deepEqual(await standing(), [[], [4, 32], ['leaving']])
  await release()
  assert.deepEqual(await standing(), [[], [0, 36], ['left']])
})

test('a piece whose fetch takes a whole round is still released completely in that round', async (t) => {
  const { deps, standing } = await buildSlow(t, (read) => read === 0)
  assert.equal(await releaseContent(deps), true)
  assert.deepEqual(await standing(), [[], [0, 36], ['left']])
})

test('an export that is under way while content leaves goes on', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  await postBatch(app, 1_100)
  await postBatch(app, 70)
  await released.archiver.run()
  await released.raiseFloor()
  const size = (await app.entries()).length
  let records = 0
  for await (const { items } of readEntries(deps.pool, app.ledgerId, 0, size)) {
    for await (const part of items ?? []) {
      if (records === 0) await released.release()
      records += part.filter(({ payload }) => payload !== null).length
    }
  }
  assert.deepEqual([records, (await released.chunks())[0]], [1_170, 0])
})

test('no login can remove content from Postgres that is not archived', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  await postBatch(app)
  const release = () =>
    deps.pool.query(
      `select tallystick.release_content(c.ledger_id, 0, array[c.seq], array[c.chunk], array[sha256(c.content)], array[null::bytea], '{}', '{}', true)
       from tallystick.batch_chunks c`,
    )
  await assert.rejects(release(), /the archive has no such piece/)
  const change = 'update tallystick.batch_chunks set content = null, released_bytes = length(content)'
  await assert.rejects(app.sql(change), /batch_chunks_change|may change only by an erasure/)
  await assert.rejects(
    app.deps.readPool.query(
      `select tallystick.release_content(null, 0, '{}', '{}', '{}', '{}', '{}', '{}', true)`,
    ),
    /permission denied/,
  )
  await released.leave()
  for (const change of [
    "update tallystick.archive_pieces set state = 'kept'",
    'update tallystick.archive_pieces set lines_digest = sha256(lines_digest)',
    'update tallystick.archive_pieces set documents_bytes = documents_bytes + 1',
    'delete from tallystick.archives',
    'delete from tallystick.archive_pieces',
  ])
    await assert.rejects(app.sql(change), /it has the only copy of its content/)
})

test('a ledger with released content is moved without it, and verifies only with the archive', async (t) => {
  const { app, deps } = await buildLeft(t)
  const target = await createTestDatabase(t)
  await app.sql("update tallystick.chain_heads set closed = 'moving'")
  const [from, to] = await Promise.all(
    [app.database, target].map(({ superuserUrl }) => connect(t, superuserUrl)),
  )
  await copyLedger(from!, to!, app.ledgerId)
  const verify = (content: ArchiveContent | null) =>
    verifyLedger(database(testDatabase(target.superuserUrl, content), app.ledger.ledger.id), { threads: 0 })
  assert.equal((await verify(deps.openContent())).failure, null)
  await assert.rejects(verify(null), /is in the archive/)
})
