import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import type pg from 'pg'
import { insertCosignature } from '../../src/db/chain/cosignatures.ts'
import { withClient } from '../../src/db/connect/client.ts'
import { ensureServerKeys } from '../../src/db/schema/server-keys.ts'
import { archiveLedgers } from '../../src/followers/archive/archive-ledgers.ts'
import { releaseContent } from '../../src/followers/archive/release-content.ts'
import { PausedLedgers } from '../../src/followers/checkpoints/faulty-ledgers.ts'
import { rotateKeys } from '../../src/followers/rotation/rotate-keys.ts'
import { openArchivedContent } from '../../src/run/archived-content.ts'
import { entryOfLine, RestoreError } from '../../src/run/restore/entry-of-line.ts'
import { makeArchiveKeys } from '../../src/signing/archive-keys.ts'
import { documentPosition } from '../../src/signing/document-keys.ts'
import { makeMasterKey } from '../../src/signing/master-key.ts'
import { directoryStore } from '../../src/verify/archive/directory-store.ts'
import { formatArchiveKeys } from '../../src/verify/archive/key-file.ts'
import { parseSeal, sealName } from '../../src/verify/archive/seal.ts'
import { database } from '../../src/verify/database.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { kidOf, makeRotator, rotateKey } from '../followers/rotation/rotation.ts'
import { addSigningKey, signedBatch, signedRecord, signingOf } from '../helpers/agent-signer.ts'
import { expectStatus, genericBody, OPERATOR_KEY, openApp, type TestApp } from '../helpers/app.ts'
import { openArchiver } from '../helpers/archiver.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'
import { checkLedger } from '../helpers/check-ledger.ts'
import { connect } from '../helpers/connect.ts'
import { makeCosigners } from '../helpers/cosigners.ts'
import { createTestDatabase, TEST_MASTER_KEY, type TestDatabase } from '../helpers/database.ts'
import { openEraser } from '../helpers/eraser.ts'
import { fullItem, fullRecord } from '../helpers/every-member.ts'
import { buildGatedApp, type GatedApp } from '../helpers/gated-app.ts'
import { lendApp } from '../helpers/lent-app.ts'
import { makePeers } from '../helpers/peered-chains.ts'
import { documentsOf, makePersonalGated } from '../helpers/personal-gated.ts'
import { ERASE, erase, PERSONAL, postBatch } from '../helpers/personal-records.ts'
import { runCommand } from '../helpers/run-script.ts'
import { addStatement } from '../helpers/signed-statements.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { until } from '../helpers/wait.ts'

const post = async (app: TestApp, url: string, body: object) =>
  expectStatus(201, await app.send('POST', url, { body })).json()

type Copy = { readonly archive: string; readonly keys: string; readonly ledger: string }

const COMMAND = 'restore-archive'
const optionsOf = ({ archive, keys, ledger }: Copy) => [
  ...['--archive', archive, '--archive-key', keys, '--ledger', ledger],
]
const environmentOf = ({ ownerUrl }: TestDatabase) => ({
  DATABASE_URL: ownerUrl,
  TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
})

function restore(target: TestDatabase, copy: Copy, ...more: readonly string[]) {
  return runCommand(COMMAND, [...optionsOf(copy), ...more], { env: environmentOf(target) })
}

/** Makes records of every kind and state, single and in batches. Together they have all members. */
async function fill(app: GatedApp): Promise<void> {
  const { id: parent } = await app.notarize({ ...genericBody(), references: ['order-7', 'ä"7'] })
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const payload = { nothing: null, text: '\u2028€', number: 1e21 }
  const occurredAt = '2026-01-02T03:04:05.678Z'
  await app.notarize({ ...genericBody(payload), parent, occurredAt }, { headers: { traceparent } })
  const items = Array.from({ length: 130 }, (_, i) => ({
    ...genericBody({ i }),
    ...(i % 3 === 0 && { references: [`order-${i}`], parent: i === 0 ? parent : 0 }),
    ...(i % 5 === 0 && { occurredAt: '2026-05-06T07:08:09.010Z' }),
  }))
  await post(app, '/v1/records/batch', { records: items })
  for (const state of ['CREATED', 'ACTIVE', 'SUBMITTED', 'VERIFIED', 'DISCREPANT', 'ACCEPTED', 'CANCELLED'])
    await app.reach(state)
  const deadline = new Date(Date.now() + 86_400_000).toISOString()
  await app.create({ deadline, gate: 'auto', tolerances: { quantity: { percent: '6' } }, maxRevisions: 2 })
  const agent = app.ledger.agent.id
  const known = { agents: [agent, agent], records: [parent, parent] } as const
  const { body, headers } = fullRecord(known)
  // Only signed members are used, because an archive contains only signed members.
  const unsigned = { metadata: undefined, subject: undefined }
  await app.notarize({ ...body, ...unsigned }, { headers })
  await app.notarize({ ...body, ...unsigned, type: 'task/1' }, { headers })
  await post(app, '/v1/records/batch', { records: [{ ...fullItem(known), ...unsigned }] })
  await addStatement(app)
}

async function administer(app: GatedApp): Promise<void> {
  await post(app, '/v1/retention/rules', { days: 400, basis: 'law', type: 'generic/1' })
  const { id } = await app.notarize()
  const { seq } = await post(app, '/v1/holds', { case: '2026/1', records: [id] })
  await post(app, '/v1/holds', { case: '2026/2', records: [id] })
  expectStatus(200, await app.send('POST', `/v1/holds/${seq}/lift`, { body: {} }))
  const key = await post(app, '/v1/keys', {
    name: 'short',
    agent: app.ledger.agent.id,
    scopes: ['records:read'],
  })
  expectStatus(200, await app.send('POST', `/v1/keys/${key.id}/revoke`, { body: {} }))
  await app.notarize({ ...PERSONAL, subject: 'customer-7' })
  const about = { subject: 'customer-7', code: 'data_subject_request' }
  await app.send('POST', '/v1/subjects/erase', { body: about })
  const gone = await app.addAgent('gone', ['records:write'])
  await app.notarize(genericBody(), { key: gone.key })
  expectStatus(200, await app.send('POST', `/v1/agents/${gone.id}/disable`))
}

/** Routes whose answers must be equal after the restore. */
const READS = [
  '/v1/export',
  '/v1/entries?after=3&limit=20',
  '/v1/records?limit=100',
  '/v1/records?reference=order-3',
  '/v1/records?reference=order-7',
  '/v1/records?occurredAfter=2026-05-01T00:00:00.000Z&occurredBefore=2026-06-01T00:00:00.000Z&limit=10',
  `/v1/records?traceId=${'a'.repeat(32)}`,
  '/v1/records?type=delivery/1&state=ACCEPTED',
  '/v1/records?state=SUBMITTED',
  '/v1/agents',
  '/v1/types',
  '/v1/types/delivery/1',
  '/v1/checkpoints/latest',
  '/v1/retention/rules',
  '/v1/holds',
  '/v1/statements',
  '/v1/registration-policy',
]

test('a restored ledger gives the same answers, and every column verifies', {
  timeout: 180_000,
}, async (t) => {
  const app = await buildGatedApp(t)
  const archiver = await openArchiver(t, app)
  const eraser = openEraser(t, app)
  const files = temporaryFiles(t)
  await fill(app)
  const personal = await makePersonalGated(app)
  const batch = (
    await post(app, '/v1/records/batch', {
      records: Array.from({ length: 70 }, (_, i) => ({
        ...genericBody({ i }),
        references: ['of-all', `of-${i}`],
      })),
    })
  ).records as { id: string }[]
  const { id: single } = await app.notarize(PERSONAL)
  const { id: kept } = await app.notarize()
  await archiver.run()
  for (const { address } of documentsOf(personal)) await app.send('DELETE', address, { body: ERASE })
  for (const id of [single, batch[1]!.id, batch[69]!.id]) await erase(app, id)
  await eraser.run()
  await administer(app)
  const by = await addSigningKey(app, { alg: 'ES256' })
  const second = await addSigningKey(app, { endorsedBy: by })
  const revoked = `/v1/agents/${app.ledger.agent.id}/signing-keys/${second.kid}/revoke`
  expectStatus(200, await app.send('POST', revoked, { body: {} }))
  const signed = signedRecord(by, signingOf(app))
  const own = [await post(app, '/v1/records', signed)]
  await post(
    app,
    '/v1/records/batch',
    signedBatch(by, signingOf(app), [{ payload: { a: 1 } }, { payload: { a: 2 } }]),
  )
  await archiver.publish()
  const { vkeys: _, cosigned } = makeCosigners(2)
  const note = (await app.send('GET', '/v1/checkpoints/latest')).body
  const lines = cosigned(note, 0, 1)
    .slice(note.length)
    .split(/(?<=\n)/)
  for (const [i, line] of lines.entries())
    await insertCosignature(archiver.pool, {
      ...{ ledgerId: app.ledgerId, size: (await app.entries()).length, peerId: null, line },
      witnessKid: new Uint8Array(32).fill(i),
    })
  while (await archiveLedgers(archiver.deps)) {}
  const kinds = new Set((await app.entries()).map(({ kind }) => kind))
  for (const kind of [
    'key-revoked',
    'agent-key-revoked',
    'agent-disabled',
    'subject-erased',
    'hold-lifted',
    'statement',
  ])
    assert.ok(kinds.has(kind), kind)
  const size = (await app.entries()).length
  const checkpoint = files.write('kept.note', note)
  const copy = { archive: archiver.archive, ledger: archiver.ledger } as const
  const keys = files.write('keys.json', await archiver.keyFile())

  const target = await createTestDatabase(t)
  const apiKeyFile = join(files.directory, 'api-key')
  const run = await restore(
    target,
    { ...copy, keys },
    ...['--checkpoint', checkpoint, '--key', await kidOf(app)],
    '--api-key-out',
    apiKeyFile,
  )
  assert.deepEqual([run.code, run.stderr], [0, ''])
  const [secretLine, integrity, said] = run.stdout.trim().split('\n')
  assert.match(secretLine!, /^key_\S+ has a new secret/)
  assert.match(
    integrity!,
    new RegExp(`^INTEGRITY_OK entries=${size} .*keys=given checkpoint=given covered=${size} .*erased=12$`),
  )
  assert.match(said!, /is restored and closed: .* to reopen it/)

  const opened = await openApp(t, { database: target })
  const secret = (await readFile(apiKeyFile, 'utf8')).trim()
  const restored = opened.of({ ...app.ledger, key: { ...app.ledger.key, key: secret } })
  for (const url of READS) {
    const [before, after] = [await app.send('GET', url), await restored.send('GET', url)]
    assert.equal(before.statusCode, 200, `${url}: ${before.body}`)
    assert.equal(after.body, before.body, url)
  }
  for (const id of [kept, single, personal.id, own[0].id, batch[0]!.id, batch[1]!.id])
    for (const url of [`/v1/records/${id}`, `/v1/records/${id}/proof`, `/v1/records/${id}/entries`]) {
      const [before, after] = [await app.send('GET', url), await restored.send('GET', url)]
      assert.equal(after.body, before.body, url)
    }
  const report = await verifyLedger(database(target.superuserUrl, copy.ledger), { checkpoints: [note] })
  assert.deepEqual([report.failure, report.notices], [null, []])
  assert.equal(await checkLedger(await connect(t, target.superuserUrl), app.ledgerId), size)
  const refused = await restored.send('POST', '/v1/records', { body: genericBody() })
  assert.deepEqual([refused.statusCode, refused.json().code], [503, 'ledger_closed'])

  await t.test('an operator reopens the restored ledger', async () => {
    const at = `/v1/ledgers/${copy.ledger}`
    const { known } = expectStatus(
      200,
      await restored.send('GET', `${at}/restore`, { key: OPERATOR_KEY }),
    ).json()
    assert.equal(known.size, size)
    expectStatus(200, await restored.send('POST', `${at}/restore`, { key: OPERATOR_KEY, body: { known } }))
    await restored.notarize()
  })

  await t.test('the restored ledger is archived further, and can be restored again', async () => {
    const stores = { of: (name: string) => directoryStore(join(archiver.archive, name)), close() {} }
    const next = await openArchiver(t, restored, stores)
    await next.run()
    assert.deepEqual(
      next.logged.filter(({ level }) => level === 'error'),
      [],
    )
    await restored.sql(
      `insert into tallystick.audit_cursors select ledger_id, size, chain, envelope_kid, chain, chain from tallystick.chain_heads
       on conflict (ledger_id) do update set next_seq = excluded.next_seq, chain = excluded.chain`,
    )
    const { pool, log, stopping, masterKey } = next.deps
    const openContent = () => openArchivedContent(masterKey, { stores })
    const unreleased = new PausedLedgers(Date.now)
    while (await releaseContent({ pool, log, stopping, retentionDays: 0, openContent, unreleased })) {}
    assert.deepEqual(
      [unreleased.count, await restored.sql('select from tallystick.batch_chunks where content is not null')],
      [0, []],
      'content of restored batches leaves as before',
    )
    const third = await createTestDatabase(t)
    const again = await restore(third, { ...copy, keys: files.write('next.json', await next.keyFile()) })
    assert.match(again.stdout, new RegExp(`^INTEGRITY_OK entries=${size + 2} `), again.stderr)
  })
})

/** Makes a small ledger and archives it in two steps. `between` is called between the two steps. */
async function archived(t: TestContext, between = async (_: TestApp) => {}) {
  const app = await lendApp(t)
  const archiver = await openArchiver(t, app)
  const files = temporaryFiles(t)
  await app.notarize(PERSONAL)
  await archiver.run()
  await between(app)
  await postBatch(app, 3)
  await archiver.run()
  const keys = files.write('keys.json', await archiver.keyFile())
  const size = (await app.entries()).length
  return { app, archiver, files, copy: { archive: archiver.archive, keys, ledger: archiver.ledger }, size }
}

async function ledgersOf(sql: pg.Client): Promise<unknown[]> {
  const { rows } = await sql.query(
    'select (select count(*)::int from tallystick.chain_heads) as heads, (select count(*)::int from tallystick.entries) as entries',
  )
  return Object.values(rows[0])
}

test('a large ledger is restored and verifies', async (t) => {
  const { copy } = await archived(t, async (app) => {
    // The payloads are 5 MB that do not compress.
    for (let batch = 0; batch < 3; batch++)
      await post(app, '/v1/records/batch', {
        records: Array.from({ length: 60 }, () => genericBody({ text: randomBytes(15_000).toString('hex') })),
      })
  })
  const restored = await restore(await createTestDatabase(t), copy)
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(restored.stdout, /INTEGRITY_OK entries=\d+ records=18\d /)
})

test('a key file from before an erasure does not restore the erased document', async (t) => {
  const { app, archiver, copy } = await archived(t)
  const entries = await app.entries()
  const batch = entries.findLast(({ kind }) => kind === 'batch-notarized')
  const record = entries.find(({ kind }) => kind === 'record-notarized')
  for (const id of [record.documents[0].subject, batch.items[1].record]) await erase(app, id)
  await openEraser(t, app).run()
  await archiver.run()
  const target = await createTestDatabase(t)
  const run = await restore(target, copy)
  assert.equal(run.code, 0, run.stderr)
  const restored = (await openApp(t, { database: target })).of(app.ledger)
  const { pieces } = await (await openArchiver(t, restored)).keys()
  const isThere = (seq: number, item: number) => {
    const from = Math.max(...[...pieces.keys()].filter((one) => one <= seq))
    return pieces.get(from)!.find(documentPosition(seq - from, item)) !== null
  }
  assert.deepEqual(
    [isThere(record.seq, 0), isThere(batch.seq, 0), isThere(batch.seq, 1)],
    [false, true, false],
  )
})

test('a missing or replaced archive object is named, and nothing is restored', async (t) => {
  const { archiver, copy, size } = await archived(t)
  const target = await createTestDatabase(t)
  const sql = await connect(t, target.superuserUrl)
  const seal = parseSeal(await readFile(join(archiver.directory, sealName(size))), size)
  const named = ['lines/', 'documents/', 'tile/0/'].map(
    (start) => seal.objects.find(({ name }) => name.startsWith(start))!.name,
  )
  for (const name of [...named, sealName(size)]) {
    const path = join(archiver.directory, name)
    const bytes = await readFile(path)
    await writeFile(path, Buffer.concat([bytes.subarray(0, -1), Buffer.of(bytes.at(-1)! ^ 1)]))
    const changed = await restore(target, copy)
    assert.equal(changed.code, 1, name)
    assert.ok(changed.stderr.includes(`code=archive_object reason="${name}`), changed.stderr)
    await rm(path)
    assert.ok((await restore(target, copy)).stderr.includes(`${name} is missing`))
    await writeFile(path, bytes)
  }
  assert.deepEqual(await ledgersOf(sql), [0, 0])
  assert.equal((await restore(target, copy)).code, 0)
  const again = await restore(target, copy)
  assert.match(again.stderr, /the database already has this ledger/)
})

test('an archive that ends before a stored checkpoint is refused, unless the loss is accepted', async (t) => {
  const { app, archiver, files, copy, size } = await archived(t)
  await app.notarize()
  await archiver.publish()
  const note = (await app.send('GET', '/v1/checkpoints/latest')).body
  const kept = files.write('kept.ndjson', `${JSON.stringify({ checkpoint: note })}\n`)
  const target = await createTestDatabase(t)
  const refused = await restore(target, copy, '--checkpoint', kept)
  assert.equal(refused.code, 1)
  assert.ok(
    refused.stderr.includes(
      `ends after ${size} entries, and a checkpoint that you stored covers ${size + 1}`,
    ),
  )
  const accepted = await restore(target, copy, '--checkpoint', kept, '--accept-loss')
  assert.deepEqual([accepted.code, accepted.stderr], [0, ''])
  assert.match(accepted.stdout, /; 1 known entries are lost; to reopen it/)
  const opened = await openApp(t, { database: target })
  const restored = opened.of(app.ledger)
  const answer = await restored.send('GET', `/v1/ledgers/${copy.ledger}/restore`, { key: OPERATOR_KEY })
  const { known, found } = expectStatus(200, answer).json()
  assert.deepEqual([known.size, found.size], [size + 1, size])
})

test('a killed restore leaves no rows, and can be repeated', async (t) => {
  const { copy } = await archived(t)
  const target = await createTestDatabase(t)
  const sql = await connect(t, target.superuserUrl)
  const holder = await connect(t, target.superuserUrl)
  await holder.query('begin; lock table tallystick.checkpoints in exclusive mode')
  const child = spawn(process.execPath, ['src/run/command.ts', COMMAND, ...optionsOf(copy)], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { ...bareEnvironment(), ...environmentOf(target) },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  await until(async () => {
    const { rowCount } = await sql.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return rowCount === 1
  })
  child.kill('SIGKILL')
  await ended
  await holder.query('rollback')
  await until(async () => {
    const { rowCount } = await sql.query(
      "select from pg_stat_activity where datname = current_database() and usename = 'tallystick_owner'",
    )
    return rowCount === 0
  })
  assert.deepEqual(await ledgersOf(sql), [0, 0])
  assert.equal((await restore(target, copy)).code, 0)
})

test('a deployment with other keys can read the restored ledger but not reopen it', async (t) => {
  const { app, copy, size } = await archived(t, async (app) => {
    await rotateKey(app)
    await rotateKeys(makeRotator(t, app))
  })
  assert.ok((await app.entries()).some(({ kind }) => kind === 'server-key-rotated'))
  const target = await createTestDatabase(t)
  const sql = await connect(t, target.superuserUrl)
  for (const table of ['envelope_key_secrets', 'note_key_secrets', 'server_keys'])
    await sql.query(`delete from tallystick.${table}`)
  await withClient(target.ownerUrl, (client) => ensureServerKeys(client, makeMasterKey(TEST_MASTER_KEY)))
  const early = await restore(target, copy)
  assert.equal(early.code, 1)
  assert.match(
    early.stderr,
    /no private envelope and note key of the ledger, .* share-keys, or use --read-only/,
  )
  assert.deepEqual(await ledgersOf(sql), [0, 0])
  const run = await restore(target, copy, '--read-only')
  assert.equal(run.code, 0, run.stderr)
  assert.match(
    run.stdout,
    /cannot be reopened, because this deployment lacks its private envelope and note key/,
  )
  const restored = (await openApp(t, { database: target })).of(app.ledger)
  const at = `/v1/ledgers/${copy.ledger}/restore`
  const { known } = expectStatus(200, await restored.send('GET', at, { key: OPERATOR_KEY })).json()
  const refused = await restored.send('POST', at, { key: OPERATOR_KEY, body: { known } })
  assert.deepEqual([refused.statusCode, refused.json().code], [409, 'state_conflict'])
  assert.match(
    refused.json().detail,
    /this deployment has no private envelope and note key of led_\w+, so the ledger stays closed/,
  )
  const report = await verifyLedger(database(target.superuserUrl, copy.ledger))
  assert.deepEqual([report.failure, report.entries], [null, size])
  const { rows } = await sql.query(
    "select count(*)::int as current from tallystick.server_keys where use = 'envelope' and retired_at is null",
  )
  assert.equal(rows[0].current, 1)
})

test('a deployment without the newest envelope key is refused before anything is stored', async (t) => {
  const { copy } = await archived(t, async (app) => {
    await rotateKey(app)
    await rotateKeys(makeRotator(t, app))
  })
  const target = await createTestDatabase(t)
  const refused = await restore(target, copy)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /no private envelope key of the ledger, /)
  assert.deepEqual(await ledgersOf(await connect(t, target.superuserUrl)), [0, 0])
})

test('the file of the new API key is created before the restore, and removed if the restore fails', async (t) => {
  const { copy, files } = await archived(t)
  const target = await createTestDatabase(t)
  const there = files.write('there', 'mine')
  const nowhere = { ...target, ownerUrl: 'postgres://nobody@127.0.0.1:1/nothing' }
  const refused = await restore(nowhere, copy, '--api-key-out', there)
  assert.match(refused.stderr, /--api-key-out .*there: the file exists already/)
  assert.equal(await readFile(there, 'utf8'), 'mine')
  const path = join(files.directory, 'api-key')
  const failed = await restore(target, copy, '--api-key-out', path, '--key', 'a'.repeat(64))
  assert.match(failed.stderr, /code=trusted_key_absent/)
  await assert.rejects(readFile(path), { code: 'ENOENT' })
  assert.equal((await restore(target, copy, '--api-key-out', path)).code, 0)
  assert.match(await readFile(path, 'utf8'), /^\S{20,}\n$/)
})

test('a ledger with peers is refused; the error names its entry', () => {
  const { home } = makePeers()
  const texts = home.lines.map((line) => JSON.stringify(line))
  const refused = texts.map((text) => {
    try {
      entryOfLine(text, new Map())
      return null
    } catch (error) {
      assert.ok(error instanceof RestoreError)
      return error.message
    }
  })
  const at = home.lines.findIndex(({ kind }) => kind === 'peer-added')
  assert.ok(at > 0)
  assert.ok(refused.slice(0, at).every((message) => message === null))
  assert.match(refused[at]!, new RegExp(`^entry ${at} \\(peer-added\\) is about another ledger`))
})

test('a missing or wrong key file, or an absent trusted key, is refused, and nothing is restored', async (t) => {
  const { copy, files } = await archived(t)
  const target = await createTestDatabase(t)
  const none = await runCommand(COMMAND, ['--archive', copy.archive, '--ledger', copy.ledger])
  assert.match(none.stderr, /name the file of its document keys with --archive-key/)
  const text = await readFile(copy.keys, 'utf8')
  const [from] = JSON.parse(text).pieces[0]
  const other = files.write(
    'other.json',
    formatArchiveKeys(copy.ledger, [{ from, packed: makeArchiveKeys() }]),
  )
  const wrong = await restore(target, { ...copy, keys: other })
  assert.match(wrong.stderr, /documents cannot be opened/)
  const foreign = await restore(target, copy, '--key', 'a'.repeat(64))
  assert.match(foreign.stderr, /code=trusted_key_absent/)
  assert.deepEqual(await ledgersOf(await connect(t, target.superuserUrl)), [0, 0])
})
