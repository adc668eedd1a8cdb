import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { ArchiveContent, EnvelopesInArchive } from '../../../src/db/connect/archive.ts'
import { boundArchive } from '../../../src/db/events/archive-limits.ts'
import { findEventRows } from '../../../src/db/events/read-events.ts'
import { releaseContent } from '../../../src/followers/archive/release-content.ts'
import { TILE_HASHES } from '../../../src/proof/tree/merkle.ts'
import { tileName } from '../../../src/verify/archive/seal.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { expectStatus, type TestApp } from '../../helpers/app.ts'
import { endsWithTests } from '../../helpers/children.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { answersOf, buildLeft, errorsOf, notarizeSingles } from '../../helpers/left-envelopes.ts'
import { lendReleasedApp } from '../../helpers/released-app.ts'
import { until } from '../../helpers/wait.ts'

test('a changed or missing bundle fails reads and verification (archive_object) until it is restored', async (t) => {
  const { app, ids, deps, directory } = await buildLeft(t)
  const size = (await app.entries()).length
  const path = join(directory, tileName({ level: 'entries', tile: 0, width: size }))
  const bytes = await readFile(path)
  const changed = Buffer.from(bytes)
  changed[bytes.length - 3]! ^= 1
  const proof = () => app.send('GET', `/v1/records/${ids.at(-1)}/proof`)
  for (const lie of [changed, bytes.subarray(0, bytes.length - 1), Buffer.from([255]), null]) {
    await (lie === null ? rm(path) : writeFile(path, lie))
    const content = deps.openContent()
    const other = deps.openContent()
    const wanted = await wantedOf(app, size)
    await assert.rejects(
      content.readEnvelopes(wanted),
      lie === null ? /is missing/ : /differs from what was written/,
    )
    const report = await verifyLedger(
      database(testDatabase(app.database.workerUrl, other), app.ledger.ledger.id),
      {
        threads: 0,
      },
    )
    assert.equal(report.failure?.code, 'archive_object')
    await writeFile(path, bytes)
    assert.equal((await content.readEnvelopes(wanted)).length, 3)
  }
  expectStatus(200, await proof())
})

/** Returns a request for envelopes of the first bundle: those that are no longer in Postgres. */
async function wantedOf(app: TestApp, width: number): Promise<EnvelopesInArchive> {
  const entries = await app.sql<{ seq: number; leaf: Buffer }>(
    'select seq::int, leaf from tallystick.entries where envelope is null order by seq',
  )
  return { ledgerId: app.ledgerId, tile: 0, width, entries }
}

test('events whose envelopes are in Postgres are read although the archive never answers', async (t) => {
  const { app, released } = await buildLeft(t)
  const here = await app.notarize()
  let asked = 0
  const pool = released.openPool({
    read: () => new Promise(() => {}),
    readEnvelopes: () => {
      asked++
      return new Promise(() => {})
    },
  })
  const left = (await wantedOf(app, TILE_HASHES)).entries.map(({ seq }) => seq)
  const { rows, unread } = await findEventRows(boundArchive(pool, 200), app.ledgerId, [
    ...left,
    here.entry.seq,
  ])
  assert.deepEqual([rows.map(({ seq }) => seq), [...unread], asked], [[here.entry.seq], left, 1])
})

test('envelopes stay in Postgres if the archive lacks their bundle or has a different one', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps, directory } = released
  await notarizeSingles(app, 3)
  await released.archiver.run()
  await released.raiseFloor()
  const size = (await app.entries()).length
  const path = join(directory, tileName({ level: 'entries', tile: 0, width: size }))
  const bytes = await readFile(path)
  await rm(path)
  await releaseContent(deps)
  await writeFile(path, bytes)
  assert.match(errorsOf(released).at(-1)!, /is missing/)
  assert.deepEqual([await released.leftEnvelopes(), deps.unreleased.count], [{}, 1])
  deps.unreleased.resume(app.ledger.ledger.id)

  const { openContent } = deps
  const lying: ArchiveContent = {
    read: (chunk) => openContent().read(chunk),
    readEnvelopes: async (wanted) =>
      (await openContent().readEnvelopes(wanted)).map((one, i) => (i === 2 ? one.subarray(1) : one)),
  }
  Object.assign(deps, { openContent: () => lying })
  await releaseContent(deps)
  assert.match(errorsOf(released).at(-1)!, /a different envelope of seq/)
  assert.deepEqual(await released.leftEnvelopes(), {})
})

test('release continues after the worker failed between two bundles', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  const ids = await notarizeSingles(app, 2 * TILE_HASHES)
  await released.archiver.run()
  await released.raiseFloor()
  const about = { ids: [ids[0]!, ids.at(-1)!], seqs: [], tiles: [] }
  const before = await answersOf(app, about)
  const { query } = deps.pool
  let calls = 0
  // The content of each bundle is removed from Postgres in three calls.
  const killedAt = 3
  deps.pool.query = ((config: { name?: string }, ...rest: []) => {
    if (config.name === 'release_content' && calls++ === killedAt) throw new Error('killed')
    return (query as (...a: unknown[]) => unknown).call(deps.pool, config, ...rest)
  }) as typeof query
  await releaseContent(deps)
  assert.match(errorsOf(released).at(-1)!, /killed/)
  const states = () => app.sql('select state from tallystick.archive_pieces')
  assert.deepEqual(await states(), [{ state: 'leaving' }])
  assert.deepEqual(await released.leftEnvelopes(), { 'record-notarized': TILE_HASHES })
  assert.deepEqual(await answersOf(app, about), before)
  deps.unreleased.resume(app.ledger.ledger.id)
  await released.release()
  assert.deepEqual(await released.leftEnvelopes(), { 'record-notarized': 2 * TILE_HASHES })
  assert.deepEqual(await states(), [{ state: 'left' }])
  assert.deepEqual(await answersOf(app, about), before)
})

test('release continues after the worker was killed with SIGKILL', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, directory } = released
  const ids = await notarizeSingles(app, 2 * TILE_HASHES)
  await released.archiver.run()
  await released.raiseFloor()
  const about = { ids: [ids[0]!, ids.at(-1)!], seqs: [], tiles: [] }
  const before = await answersOf(app, about)
  const holder = await connect(t, app.database.superuserUrl)
  await holder.query('begin')
  await holder.query('select from tallystick.entries where seq = $1 for update', [TILE_HASHES + 40])
  const worker = endsWithTests(
    spawn(process.execPath, ['test/helpers/release-worker.ts', app.database.workerUrl, dirname(directory)]),
  )
  const ended = once(worker, 'exit')
  const waits = `select pid from pg_stat_activity
    where datname = current_database() and usename = 'tallystick_worker' and wait_event_type = 'Lock'`
  await until(async () => (await app.sql(waits)).length === 1)
  worker.kill('SIGKILL')
  assert.deepEqual(await ended, [null, 'SIGKILL'])
  const left = await released.leftEnvelopes()
  assert.ok(
    left['record-notarized']! >= TILE_HASHES && left['record-notarized']! < ids.length,
    JSON.stringify(left),
  )
  assert.deepEqual(await answersOf(app, about), before)
  await holder.query('commit')
  await released.release()
  assert.deepEqual(
    [errorsOf(released), await released.leftEnvelopes()],
    [[], { 'record-notarized': ids.length }],
  )
  assert.deepEqual(await answersOf(app, about), before)
})
