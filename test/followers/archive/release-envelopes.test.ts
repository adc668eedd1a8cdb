import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readEntries } from '../../../src/db/chain/read-entries.ts'
import type { EnvelopesInArchive, ReleasedContent } from '../../../src/db/connect/released-content.ts'
import { findEventRows } from '../../../src/db/events/read-events.ts'
import { copyLedger, fixFormats } from '../../../src/db/ledgers/moving.ts'
import { releaseContent } from '../../../src/followers/archive/release-content.ts'
import { verifyInThread } from '../../../src/followers/audit/verify-in-thread.ts'
import { TILE_HASHES } from '../../../src/proof/tree/merkle.ts'
import { directoryStore } from '../../../src/verify/archive/directory-store.ts'
import { tileName } from '../../../src/verify/archive/seal.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { addSigningKey, signedRecord, signingOf } from '../../helpers/agent-signer.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { endsWithTests } from '../../helpers/children.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { openEraser } from '../../helpers/eraser.ts'
import { gateLedger } from '../../helpers/gated-app.ts'
import { erase } from '../../helpers/personal-records.ts'
import { buildReleasedApp } from '../../helpers/released-app.ts'
import { until } from '../../helpers/wait.ts'

type Released = Awaited<ReturnType<typeof buildReleasedApp>>

const KEY = { 'idempotency-key': 'once' }

const errorsOf = ({ logged }: Released) =>
  logged.filter(({ level }) => level === 'error').map(({ err }) => String(err))

/** So many records with an entry of their own. Their ids. */
async function notarizeSingles(app: TestApp, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i += 50)
    ids.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(50, count - i) }, async (_, n) => {
          const made = await app.notarize({ ...genericBody({ n: i + n }), references: [`order ${n}`] })
          return made.id as string
        }),
      )),
    )
  return ids
}

/** Envelopes that have left, of a ledger of `count` records. */
async function buildLeft(t: Parameters<typeof buildReleasedApp>[0], count = 3) {
  const released = await buildReleasedApp(t)
  const ids = await notarizeSingles(released.app, count)
  await released.leave()
  assert.deepEqual([errorsOf(released), await released.leftEnvelopes()], [[], { 'record-notarized': count }])
  return { ...released, released, ids }
}

/** Status of every GET that reads a ledger, and digest of the answer, about these records and entries. */
async function answersOf(
  app: TestApp,
  {
    ids,
    seqs,
    tiles,
  }: { readonly ids: readonly string[]; readonly seqs: readonly number[]; readonly tiles: readonly string[] },
): Promise<Record<string, string>> {
  const addresses = app.routes
    .filter(
      ({ method, url, config }) => method === 'GET' && url.startsWith('/') && config?.reads !== 'nothing',
    )
    .flatMap(({ url }) => {
      if (url.startsWith('/v1/records/:id')) return ids.map((id) => url.replace(':id', id))
      if (url.includes(':seq')) return seqs.map((seq) => url.replace(':seq', `${seq}`))
      if (url.includes('tile/*'))
        return tiles.map((tile) => url.replace(':ledger', app.ledger.ledger.id).replace('tile/*', tile))
      if (['/v1/records', '/v1/events'].includes(url)) return [`${url}?limit=100`]
      return [url.replace(/:\w+/g, '1')]
    })
    .flatMap((address) => (address.endsWith('/receipt') ? [address, `${address}?statement=true`] : [address]))
  const found: Record<string, string> = {}
  for (const address of addresses) {
    const { statusCode, rawPayload } = await app.send('GET', address)
    // A refusal names its request.
    const digest = createHash('sha256').update(rawPayload).digest('hex')
    found[address] = statusCode === 200 ? `200 ${digest}` : `${statusCode}`
  }
  return found
}

test('envelopes that have left Postgres are answered by every route that reads, byte for byte', async (t) => {
  const released = await buildReleasedApp(t)
  const app = await gateLedger(t, released.app)
  const key = await addSigningKey(app)
  const signed = await app.notarize(signedRecord(key, signingOf(app)))
  const batch = await app.send('POST', '/v1/records/batch', {
    body: { records: [genericBody(), genericBody()] },
  })
  const { records } = expectStatus(201, batch).json()
  const gated = await app.reach('ACCEPTED')
  const singles = await notarizeSingles(app, TILE_HASHES)
  await released.archiver.run()
  const size = (await app.entries()).length
  const ids = [signed.id, records[1].id, gated.id, singles[0]!, singles.at(-1)!]
  const about = {
    ids,
    seqs: [0, signed.entry.seq, TILE_HASHES - 1, TILE_HASHES, size - 1],
    tiles: [
      tileName({ level: 'entries', tile: 0, width: TILE_HASHES }),
      tileName({ level: 'entries', tile: 1, width: size - TILE_HASHES }),
    ],
  }
  const before = await answersOf(app, about)
  const told = await findEventRows(app.deps.readPool, app.ledgerId, about.seqs)
  const answered = Object.keys(before).filter((address) => before[address]!.startsWith('200'))
  for (const address of [
    '/v1/entries',
    '/v1/export',
    '/v1/events?limit=100',
    ...about.tiles.map((tile) => `/tlog/${app.ledger.ledger.id}/${tile}`),
  ])
    assert.ok(answered.includes(address), `${address}: ${before[address]}`)
  for (const id of ids)
    for (const part of ['', '/entries', '/proof', '/receipt', '/receipt?statement=true'])
      assert.ok(answered.includes(`/v1/records/${id}${part}`), `${id}${part}`)

  await released.raiseFloor()
  await released.release()
  assert.deepEqual(
    [errorsOf(released), await released.leftEnvelopes()],
    [[], { 'batch-notarized': 1, 'record-notarized': singles.length + 1 }],
  )
  assert.deepEqual(await answersOf(app, about), before)
  assert.deepEqual(await findEventRows(app.deps.readPool, app.ledgerId, about.seqs), told)

  const url = app.database.workerUrl
  const ledger = app.ledger.ledger.id
  const content = released.deps.openContent()
  const report = await verifyLedger(database(testDatabase(url, content), ledger), { threads: 1 })
  assert.equal(report.failure, null)
  const task = { url, options: { caFile: null, password: null }, ledger, checkpoints: [] }
  const audit = (from: ReleasedContent | null) =>
    verifyInThread(task, () => {}, new AbortController().signal, from)
  assert.equal((await audit(content))!.failure, null)
  await assert.rejects(audit(null), /lies in the archive/)

  // The next prefix rewrites the tile that was not full, of entries whose envelopes have left.
  await notarizeSingles(app, 3)
  await released.leave()
  assert.deepEqual(
    [released.archiver.logged.filter(({ level }) => level === 'error'), errorsOf(released)],
    [[], []],
  )
  assert.equal((await released.leftEnvelopes())['record-notarized'], singles.length + 4)
  const later = await answersOf(app, about)
  for (const address of answered) assert.match(later[address]!, /^200/, address)
  for (const id of ids) assert.equal(later[`/v1/records/${id}/entries`], before[`/v1/records/${id}/entries`])
  assert.equal((await released.archiver.verify(null, directoryStore(released.directory))).failure, null)
})

test('while the archive is away what needs an envelope is refused, and records, searches and appends go on', async (t) => {
  const { app, ids, directory } = await buildLeft(t)
  const [id] = ids as [string]
  const once = await app.notarize(genericBody({ once: true }), { headers: KEY })
  await rename(directory, `${directory}.away`)
  await writeFile(directory, 'no directory')
  for (const url of [
    `/v1/records/${id}/entries`,
    `/v1/records/${id}/proof`,
    `/v1/records/${id}/receipt`,
    '/v1/entries',
    '/v1/export',
    '/v1/events?limit=100',
  ]) {
    const { code, retryable } = expectStatus(503, await app.send('GET', url)).json()
    assert.deepEqual([code, retryable], ['archive_unavailable', true], url)
  }
  assert.equal(expectStatus(200, await app.send('GET', `/v1/records/${id}`)).json().payload.n, 0)
  assert.equal(
    expectStatus(200, await app.send('GET', '/v1/records?reference=order%202')).json().data.length,
    1,
  )
  expectStatus(200, await app.send('GET', `/v1/records/${id}/tree`))
  await app.notarize({ ...genericBody(), parent: id })
  const again = await app.notarize(genericBody({ once: true }), { headers: KEY })
  assert.deepEqual(again, once)

  await rm(directory)
  await rename(`${directory}.away`, directory)
  await until(async () => (await app.send('GET', `/v1/records/${id}/proof`)).statusCode === 200)
})

test('a repeated request whose entry has left is answered as before', async (t) => {
  const released = await buildReleasedApp(t)
  const { app } = released
  const once = await app.notarize(genericBody({ once: true }), { headers: KEY })
  await released.leave()
  assert.deepEqual(await released.leftEnvelopes(), { 'record-notarized': 1 })
  assert.deepEqual(await app.notarize(genericBody({ once: true }), { headers: KEY }), once)
})

test('a bundle that is changed or missing is found, nothing of it is shown, and it is read anew once it is put back', async (t) => {
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
      lie === null ? /is missing/ : /is another one than was written/,
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

/** All envelopes of the first bundle that have left. */
async function wantedOf(app: TestApp, width: number): Promise<EnvelopesInArchive> {
  const entries = await app.sql<{ seq: number; leaf: Buffer }>(
    'select seq::int, leaf from tallystick.entries where envelope is null order by seq',
  )
  return { ledgerId: app.ledgerId, tile: 0, width, entries }
}

test('envelopes stay if the archive has lost their bundle, or has another one', async (t) => {
  const released = await buildReleasedApp(t)
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
  const lying: ReleasedContent = {
    read: (chunk) => openContent().read(chunk),
    readEnvelopes: async (wanted) =>
      (await openContent().readEnvelopes(wanted)).map((one, i) => (i === 2 ? one.subarray(1) : one)),
  }
  Object.assign(deps, { openContent: () => lying })
  await releaseContent(deps)
  assert.match(errorsOf(released).at(-1)!, /another envelope of seq/)
  assert.deepEqual(await released.leftEnvelopes(), {})
})

test('a worker that is killed between two bundles is gone on from', async (t) => {
  const released = await buildReleasedApp(t)
  const { app, deps } = released
  const ids = await notarizeSingles(app, 2 * TILE_HASHES)
  await released.archiver.run()
  await released.raiseFloor()
  const about = { ids: [ids[0]!, ids.at(-1)!], seqs: [], tiles: [] }
  const before = await answersOf(app, about)
  const { query } = deps.pool
  let calls = 0
  // Each bundle leaves in three calls.
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

test('a worker that is killed by SIGKILL while envelopes leave is gone on from', async (t) => {
  const released = await buildReleasedApp(t)
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

test('a request reads each bundle once, and an export that is under way while envelopes leave goes on', async (t) => {
  const released = await buildReleasedApp(t)
  const { app, deps } = released
  await notarizeSingles(app, 600)
  await released.archiver.run()
  await released.raiseFloor()
  const size = (await app.entries()).length
  let seen = 0
  for await (const { entry } of readEntries(deps.pool, app.ledgerId, 0, size)) {
    if (entry.seq === 0) await released.release()
    if (entry.envelope.length > 0) seen++
  }
  assert.deepEqual([seen, await released.leftEnvelopes()], [size, { 'record-notarized': 600 }])

  const asked: number[] = []
  const content = deps.openContent()
  const pool = released.openPool({
    read: (chunk) => content.read(chunk),
    readEnvelopes: (wanted) => {
      asked.push(wanted.tile)
      return content.readEnvelopes(wanted)
    },
  })
  for await (const _ of readEntries(pool, app.ledgerId, 0, size)) {
  }
  // Two queries of STREAM_ENTRIES_PER_QUERY entries at most, which meet in the second tile.
  assert.deepEqual(asked, [0, 1, 1, 2])
})

test('nobody takes an envelope out of Postgres that no archive has, or puts another one there', async (t) => {
  const released = await buildReleasedApp(t)
  const { app, deps } = released
  await notarizeSingles(app, 2)
  const release = (leaf: string) =>
    deps.pool.query(
      `select r.envelopes from (select array_agg(seq) as seqs, array_agg(${leaf}) as leaves from tallystick.entries) e,
         tallystick.release_content($1, 0, '{}', '{}', '{}', '{}', e.seqs, e.leaves, true) r`,
      [app.ledgerId],
    )
  await assert.rejects(release('leaf'), /the archive has no such piece/)
  const refused = { constraint: 'entries_append_only' }
  const takeAway = `update tallystick.entries set envelope = null where kind = 'record-notarized'`
  await assert.rejects(app.sql(takeAway), refused)
  await released.archiver.run()
  await assert.rejects(app.sql(takeAway), refused, 'the piece is not leaving')
  assert.deepEqual((await release('chain')).rows, [{ envelopes: 0 }], 'other leaves')
  const states = () => app.sql('select state from tallystick.archive_pieces')
  assert.deepEqual(await states(), [{ state: 'leaving' }])
  for (const change of [
    `envelope = null, recorded_at = now() where kind = 'record-notarized'`,
    `envelope = '\\x00' where kind = 'record-notarized'`,
    `envelope = null where kind = 'ledger-created'`,
    `leaf = sha256(leaf) where kind = 'record-notarized'`,
  ])
    await assert.rejects(app.sql(`update tallystick.entries set ${change}`), refused, change)
  assert.deepEqual((await release('leaf')).rows, [{ envelopes: 2 }], 'notarizations alone')
  assert.deepEqual(
    [await released.leftEnvelopes(), await states()],
    [{ 'record-notarized': 2 }, [{ state: 'left' }]],
  )
  await assert.rejects(app.sql(`update tallystick.entries set envelope = '\\x00' where envelope is null`), {
    constraint: 'entries_append_only',
  })
  await assert.rejects(
    app.sql(
      `insert into tallystick.entries (ledger_id, seq, kind, subject_id, version, recorded_at, leaf, chain)
       select h.ledger_id, h.size, 'record-notarized', gen_random_uuid(), 1, now(), l.leaf, tallystick.chain_link(h.chain, l.leaf)
       from tallystick.chain_heads h, (select sha256('x') as leaf) l where h.ledger_id = $1`,
      [app.ledgerId],
    ),
    { constraint: 'entries_extend_chain' },
  )
})

test('a record whose envelope has left is erased, and its ledger verifies and is moved as it is', async (t) => {
  const { app, ids, deps, released } = await buildLeft(t)
  const [id, beside] = ids as [string, string]
  expectStatus(202, await erase(app, id))
  await openEraser(t, app).run()
  await released.leave()
  assert.deepEqual(
    [(await app.send('GET', `/v1/records/${id}`)).json().payload, errorsOf(released)],
    [null, []],
  )
  assert.notEqual((await app.send('GET', `/v1/records/${beside}`)).json().payload, null)
  expectStatus(200, await app.send('GET', `/v1/records/${id}/proof`))

  const target = await createTestDatabase(t)
  await app.sql("update tallystick.chain_heads set closed = 'moving'")
  const [from, to] = await Promise.all(
    [app.database, target].map(({ superuserUrl }) => connect(t, superuserUrl)),
  )
  for (const client of [from!, to!]) await fixFormats(client)
  await copyLedger(from!, to!, app.ledgerId)
  for (const { superuserUrl } of [app.database, target]) {
    const verify = (content: ReleasedContent | null) =>
      verifyLedger(database(testDatabase(superuserUrl, content), app.ledger.ledger.id), { threads: 0 })
    const report = await verify(deps.openContent())
    assert.deepEqual([report.failure, report.erasures.length], [null, 1])
    await assert.rejects(verify(null), /lies in the archive/)
  }
})
