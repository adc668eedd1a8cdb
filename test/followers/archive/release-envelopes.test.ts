import assert from 'node:assert/strict'
import { rename, rm, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { readEntries } from '../../../src/db/chain/read-entries.ts'
import type { ArchiveContent } from '../../../src/db/connect/archive.ts'
import { findEventRows } from '../../../src/db/events/read-events.ts'
import { copyLedger } from '../../../src/db/ledgers/moving.ts'
import { TILE_HASHES } from '../../../src/proof/tree/merkle.ts'
import { directoryStore } from '../../../src/verify/archive/directory-store.ts'
import { tileName } from '../../../src/verify/archive/seal.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { addSigningKey, signedRecord, signingOf } from '../../helpers/agent-signer.ts'
import { expectStatus, genericBody } from '../../helpers/app.ts'
import { requireAuditable } from '../../helpers/auditable.ts'
import { connect, testDatabase } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'
import { openEraser } from '../../helpers/eraser.ts'
import { gateLedger } from '../../helpers/gated-app.ts'
import { answersOf, buildLeft, errorsOf, notarizeSingles } from '../../helpers/left-envelopes.ts'
import { erase } from '../../helpers/personal-records.ts'
import { lendReleasedApp } from '../../helpers/released-app.ts'
import { until } from '../../helpers/wait.ts'

const KEY = { 'idempotency-key': 'once' }

test('every read route answers byte for byte the same after the envelopes have left Postgres', async (t) => {
  const released = await lendReleasedApp(t)
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

  await requireAuditable(app, released.deps.openContent())

  // After these records, the next archive run replaces the partial tile. Some envelopes of this tile are no longer in
  // Postgres.
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

test('without the archive, reads that need an envelope answer archive_unavailable; records, searches and appends work', async (t) => {
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
  expectStatus(202, await erase(app, ids[1]!))
  await openEraser(t, app).run()
  assert.equal((await app.send('GET', `/v1/records/${ids[1]}`)).json().payload, null)

  await rm(directory)
  await rename(`${directory}.away`, directory)
  await until(async () => (await app.send('GET', `/v1/records/${id}/proof`)).statusCode === 200)
})

test('a repeated request gets the first answer after its envelope has left Postgres', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const once = await app.notarize(genericBody({ once: true }), { headers: KEY })
  await released.leave()
  assert.deepEqual(await released.leftEnvelopes(), { 'record-notarized': 1 })
  assert.deepEqual(await app.notarize(genericBody({ once: true }), { headers: KEY }), once)
})

test('a query reads each bundle once; an export continues while envelopes leave Postgres', async (t) => {
  const released = await lendReleasedApp(t)
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
  // The entries are read by two queries of at most STREAM_ENTRIES_PER_QUERY entries each. Both queries need tile 1.
  assert.deepEqual(asked, [0, 1, 1, 2])
})

test('Postgres refuses to remove an envelope that is not in the archive, or to replace an envelope', async (t) => {
  const released = await lendReleasedApp(t)
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

test('a record whose envelope has left can be erased; its ledger verifies and can be moved', async (t) => {
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
  await copyLedger(from!, to!, app.ledgerId)
  for (const { superuserUrl } of [app.database, target]) {
    const verify = (content: ArchiveContent | null) =>
      verifyLedger(database(testDatabase(superuserUrl, content), app.ledger.ledger.id), { threads: 0 })
    const report = await verify(deps.openContent())
    assert.deepEqual([report.failure, report.erasures.length], [null, 1])
    await assert.rejects(verify(null), /is in the archive/)
  }
})
