import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { findBindingNote } from '../../../src/followers/checkpoints/contradictions.ts'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { parseId } from '../../../src/proof/ids.ts'
import { parseCheckpoint } from '../../../src/proof/tree/checkpoint.ts'
import { database } from '../../../src/verify/database.ts'
import { verifyLedger } from '../../../src/verify/verify-ledger.ts'
import { buildTestApp, genericBody, OPERATOR_KEY, type TestApp } from '../../helpers/app.ts'
import { assertProblem } from '../../helpers/assert-problem.ts'
import { TEST_MASTER_KEY } from '../../helpers/database.ts'
import { adminEntry } from '../../helpers/test-ledger.ts'
import { startWorkerOn } from '../deployment/test-deployment.ts'
import { keepUnknown, makeRestoreWorker, type RestoreWorker } from './restored.ts'

test('a ledger shorter than its kept checkpoint answers 503 ledger_closed; others go on', async (t) => {
  const { app, worker } = await setUp(t)
  const other = await app.newLedger()
  await publishCheckpoints(worker)
  await keepUnknown(worker, app.ledger, 10)
  await worker.restored.step()

  const refused = await post(app)
  const problem = assertProblem(refused, 503, 'ledger_closed')
  assert.equal(problem['retryable'], true)
  assert.ok(refused.headers['retry-after'])
  assert.equal((await post(app, '/v1/agents', { name: 'another' })).statusCode, 503)
  await app.notarize(genericBody(), { key: other.key.key })
  assert.equal((await app.entries()).length, 3)
  assert.equal(worker.restored.count('closed'), 1)
  const { err, ledger } = worker.logged[0] as { err: Error; ledger: string }
  assert.equal(ledger, app.ledger.ledger.id)
  assert.match(err.message, /had 10 entries and has fewer now/)
  await worker.restored.step()
  assert.equal(worker.logged.length, 1, 'said once')
})

test('a ledger whose entries differ from its kept checkpoint is closed as well', async (t) => {
  const { app, worker } = await setUp(t)
  await keepUnknown(worker, app.ledger, 2)
  await worker.restored.step()
  assertProblem(await post(app), 503, 'ledger_closed')
  assert.match((worker.logged[0] as { err: Error }).err.message, /first 2 entries differ from before/)
})

test('a ledger that extends its kept checkpoint stays open, frozen or not', async (t) => {
  const { app, worker } = await setUp(t)
  await publishCheckpoints(worker)
  await app.notarize()
  await app.sql("update tallystick.chain_heads set closed = 'frozen'")
  await worker.restored.checkAll()
  assert.deepEqual(worker.logged, [])
  assertProblem(await post(app), 403, 'ledger_frozen')
})

test('after the operator acknowledges the exact loss, the ledger continues from what was found', async (t) => {
  const { app, worker } = await setUp(t)
  const chain = await keepUnknown(worker, app.ledger, 10)
  await app.notarize()
  await worker.restored.step()
  const shown = await restore(app, 'GET')
  const [last] = (await app.entries()).slice(-1)
  const { closedAt, ...rest } = shown.json()
  assert.deepEqual(rest, {
    ledger: app.ledger.ledger.id,
    known: { size: 10, chain },
    found: { size: 4, chain: last.chain },
    entry: null,
  })
  assert.match(closedAt, /^\d{4}-/)

  const before = await app.written()
  for (const known of [
    { size: 9, chain },
    { size: 10, chain: last.chain },
  ]) {
    assertProblem(await restore(app, 'POST', { known }), 409, 'state_conflict')
  }
  assertProblem(await restore(app, 'POST', {}), 422, 'invalid_request')
  assert.deepEqual(await app.written(), before)

  const done = await restore(app, 'POST', { known: { size: 10, chain } })
  assert.equal(done.statusCode, 200)
  const [entry] = (await app.entries()).slice(-1)
  const { leaf, chain: chainNow } = entry
  assert.deepEqual(done.json(), {
    ...shown.json(),
    entry: { seq: 4, kind: 'ledger-restored', leaf, chain: chainNow },
  })
  const again = await restore(app, 'POST', { known: { size: 10, chain } })
  assert.deepEqual(
    [again.statusCode, again.json()],
    [200, done.json()],
    'the same again is answered as before',
  )
  await app.notarize()
  await worker.restored.step()
  await app.notarize()
  const report = await verify(app)
  assert.deepEqual([report.ok, report.entries], [true, 7])
})

test('after the acknowledgement checkpoints go on, and the old checkpoint stays as evidence', async (t) => {
  const { app, worker } = await setUp(t)
  await publishCheckpoints(worker)
  const chain = await keepUnknown(worker, app.ledger, 10)
  const evidence = await readFile(join(worker.notesDir, `${app.ledger.ledger.id}.note`), 'utf8')
  await worker.restored.step()
  await acknowledge(app, 10, chain)
  await publishCheckpoints(worker)
  assert.equal((await readdir(worker.notesDir)).length, 1, 'at most one checkpoint a second')
  await makeOlder(app)
  // A restarted worker must reach the same result.
  const next = await makeRestoreWorker(t, app, join(worker.notesDir, '..'))
  await next.restored.checkAll()
  await publishCheckpoints(next)
  assert.deepEqual(next.logged, [])
  const names = await readdir(worker.notesDir)
  const aside = `${app.ledger.ledger.id}.10-${chain.slice(0, 8)}.note`
  assert.deepEqual(names.sort(), [aside, `${app.ledger.ledger.id}.note`])
  assert.equal(await readFile(join(worker.notesDir, aside), 'utf8'), evidence)
  const kept = await readFile(join(worker.notesDir, `${app.ledger.ledger.id}.note`), 'utf8')
  assert.equal(parseCheckpoint(kept).checkpoint.size, 4)
  await (await makeRestoreWorker(t, app, join(worker.notesDir, '..'))).restored.checkAll()
  await app.notarize()
})

test('an audit uses the kept checkpoint of a ledger until the loss is acknowledged', async (t) => {
  const { app, worker } = await setUp(t)
  const ledgerId = parseId('led', app.ledger.ledger.id)
  assert.equal(await findBindingNote(worker.pool, worker.storedCheckpoints, ledgerId), null)
  const chain = await keepUnknown(worker, app.ledger, 10)
  await worker.restored.step()
  assert.match((await findBindingNote(worker.pool, worker.storedCheckpoints, ledgerId))!, /\n10\n/)
  await acknowledge(app, 10, chain)
  assert.equal(await findBindingNote(worker.pool, worker.storedCheckpoints, ledgerId), null)
  await publishCheckpoints(worker)
  assert.match((await findBindingNote(worker.pool, worker.storedCheckpoints, ledgerId))!, /\n4\n/)
})

test('after an unsigned acknowledgement the ledger is closed again', async (t) => {
  const { app, worker } = await setUp(t)
  const chain = await keepUnknown(worker, app.ledger, 10)
  await worker.restored.step()
  await forgeAcknowledgement(app)
  await app.notarize()
  await worker.restored.step()
  assertProblem(await post(app), 503, 'ledger_closed')
  assert.equal((worker.logged.at(-1) as { refusedSeq: number }).refusedSeq, 3)
  await publishCheckpoints(worker)
  assert.deepEqual(await app.sql('select from tallystick.checkpoints'), [])
  await acknowledge(app, 10, chain)
  await worker.restored.step()
  await app.notarize()
})

test('a signed acknowledgement does not count again after a further restore', async (t) => {
  const { app, worker } = await setUp(t)
  const chain = await keepUnknown(worker, app.ledger, 10)
  await worker.restored.step()
  await acknowledge(app, 10, chain)
  const [signed] = await app.sql<SignedRow>(
    "select envelope, leaf, recorded_at from tallystick.entries where kind = 'ledger-restored'",
  )
  const putOnceMore = async () => {
    await worker.restored.step()
    await forgeAcknowledgement(app, signed)
    await app.notarize()
    await worker.restored.step()
    assertProblem(await post(app), 503, 'ledger_closed')
  }
  // The acknowledgement must not count for two further restores. The first one restores the same state, but another
  // checkpoint is lost. The second one restores another state, but the same checkpoint is lost.
  await restoreTo(app, 3)
  await keepUnknown(worker, app.ledger, 11)
  await putOnceMore()
  await restoreTo(app, 2)
  await keepUnknown(worker, app.ledger, 10)
  await putOnceMore()
})

test('an acknowledgement of another checkpoint does not keep the ledger open', async (t) => {
  const { app, worker } = await setUp(t)
  await keepUnknown(worker, app.ledger, 10)
  // A second worker has a folder of its own, with a smaller checkpoint.
  const other = await makeRestoreWorker(t, app)
  const chain = await keepUnknown(other, app.ledger, 9)
  await other.restored.step()
  await worker.restored.step()
  await acknowledge(app, 9, chain)
  await other.restored.step()
  await app.notarize()
  await worker.restored.step()
  assertProblem(await post(app), 503, 'ledger_closed')
  const shown = await restore(app, 'GET')
  assert.deepEqual([shown.json().known.size, shown.json().found.size], [10, 5])
  await acknowledge(app, 10, shown.json().known.chain)
  await Promise.all([worker.restored.step(), other.restored.step()])
  await app.notarize()
  assert.equal((await verify(app)).ok, true)
})

test('workers that find a loss at once close the ledger once, and an acknowledgement stands', async (t) => {
  const { app, worker } = await setUp(t)
  const workers = [worker, await makeRestoreWorker(t, app), await makeRestoreWorker(t, app)]
  let chain = ''
  for (const each of workers) chain = await keepUnknown(each, app.ledger, 10)
  await Promise.all(workers.map(({ restored }) => restored.checkAll()))
  assert.equal((await app.sql('select from tallystick.ledger_closures')).length, 1)
  await acknowledge(app, 10, chain)
  // Calls the function like a worker that read the ledger's entries before the acknowledgement was appended.
  const [{ closed }] = (
    await worker.pool.query(
      'select tallystick.close_restored_ledgers(array(select ledger_id from tallystick.ledgers), array[10], $1, array[null]::bigint[]) as closed',
      [[Buffer.from(chain, 'hex')]],
    )
  ).rows
  assert.equal(closed.length, 0)
  await app.notarize()
})

test('two workers with one folder but different checkpoints need one acknowledgement', async (t) => {
  const { app, worker } = await setUp(t)
  const other = await makeRestoreWorker(t, app, join(worker.notesDir, '..'))
  await keepUnknown(worker, app.ledger, 9)
  const chain = await keepUnknown(other, app.ledger, 10)
  await other.restored.step()
  await worker.restored.step()
  await acknowledge(app, 10, chain)
  await worker.restored.step()
  await app.notarize()
  await publishCheckpoints(other)
  await worker.restored.step()
  await app.notarize()
  assert.deepEqual(await app.sql('select known_size from tallystick.ledger_closures'), [{ known_size: '10' }])
})

test('a worker replaces another worker’s kept checkpoint only if the ledger extends it', async (t) => {
  const { app, worker } = await setUp(t)
  await publishCheckpoints(worker)
  const other = await makeRestoreWorker(t, app, join(worker.notesDir, '..'))
  await keepUnknown(other, app.ledger, 10)
  await app.notarize()
  await makeOlder(app)
  await publishCheckpoints(worker)
  assert.match((worker.logged[0] as { err: Error }).err.message, /had 10 entries and has fewer now/)
  assert.match((await worker.storedCheckpoints.findNote(app.ledger.ledger.id))!, /\n10\n/)
  await worker.restored.step()
  assertProblem(await post(app), 503, 'ledger_closed')
})

test('a worker whose notes are lost or unreadable closes by the checkpoints in memory', async (t) => {
  const { app, worker } = await setUp(t)
  const another = await app.newLedger()
  await keepUnknown(worker, app.ledger, 10)
  await keepUnknown(worker, another, 10)
  await rm(join(worker.notesDir, `${app.ledger.ledger.id}.note`))
  await writeFile(join(worker.notesDir, `${another.ledger.id}.note`), 'no note')
  await worker.restored.step()
  assert.equal(worker.restored.count('closed'), 2)
})

test('a frozen ledger that was restored is frozen again after the acknowledgement', async (t) => {
  const { app, worker } = await setUp(t)
  const chain = await keepUnknown(worker, app.ledger, 10)
  await app.sql("update tallystick.chain_heads set closed = 'frozen'")
  await worker.restored.step()
  assertProblem(await post(app), 503, 'ledger_closed')
  await acknowledge(app, 10, chain)
  assertProblem(await post(app), 403, 'ledger_frozen')
})

test('a ledger that is missing is reported, and other ledgers are still closed', async (t) => {
  const { app, worker } = await setUp(t)
  const gone = `led_${'0'.repeat(26)}`
  await keepUnknown(worker, { ...app.ledger, ledger: { ...app.ledger.ledger, id: gone } }, 5)
  await keepUnknown(worker, app.ledger, 10)
  await worker.restored.step()
  assert.equal(worker.restored.count('gone'), 1)
  assert.match(
    worker.logged.map((line) => (line as { err: Error }).err.message).join(),
    /had 5 entries and is gone/,
  )
  assertProblem(await post(app), 503, 'ledger_closed')
  await worker.restored.step()
  assert.equal(worker.logged.length, 2)
})

test('one ledger that is found makes the round check all other kept checkpoints', async (t) => {
  const { app, worker } = await setUp(t)
  const others = await Promise.all(Array.from({ length: 5 }, () => app.newLedger()))
  for (const ledger of [app.ledger, ...others]) await keepUnknown(worker, ledger, 10)
  worker.storedCheckpoints.nextToCheck = () => worker.storedCheckpoints.all.slice(-1)
  await worker.restored.step()
  assert.equal(worker.restored.count('closed'), 6)
})

test('each round checks the newest kept checkpoints, and all others in turn', async (t) => {
  const { app, worker } = await setUp(t)
  const ledgers = [app.ledger, await app.newLedger(), await app.newLedger()]
  for (const ledger of ledgers) await keepUnknown(worker, ledger, 10)
  const [a, b, c] = ledgers.map(({ ledger }) => ledger.id)
  const take = () => worker.storedCheckpoints.nextToCheck(1, 1).map(({ ledger }) => ledger)
  assert.deepEqual([take(), take(), take(), take()], [[c, a], [c, b], [c], [c, a]])
  await keepUnknown(worker, ledgers[0]!, 11)
  assert.deepEqual(take(), [a, b])
})

test('an unreadable kept checkpoint is reported, and its ledger publishes no other', async (t) => {
  const { app, worker } = await setUp(t)
  await publishCheckpoints(worker)
  await app.notarize()
  await makeOlder(app)
  await writeFile(join(worker.notesDir, `${app.ledger.ledger.id}.note`), 'spoiled')
  const next = await makeRestoreWorker(t, app, join(worker.notesDir, '..'))
  assert.match((next.logged[0] as { err: Error }).err.message, /note_syntax/)
  await next.restored.checkAll()
  await publishCheckpoints(next)
  assert.equal((await app.sql('select from tallystick.checkpoints')).length, 1)
})

test('a starting worker closes a restored ledger before it publishes a checkpoint', async (t) => {
  const { app, worker } = await setUp(t)
  await keepUnknown(worker, app.ledger, 10)
  const started = await startWorkerOn(t, app.database, { dataDir: join(worker.notesDir, '..') })
  try {
    assertProblem(await post(app), 503, 'ledger_closed')
  } finally {
    await started.end('SIGTERM')
  }
  assert.deepEqual(await app.sql('select from tallystick.checkpoints'), [])
})

test('a starting worker with two master keys closes a ledger restored under the previous one', async (t) => {
  const { app, worker } = await setUp(t)
  await keepUnknown(worker, app.ledger, 10)
  const both = {
    TALLYSTICK_MASTER_KEY: '08'.repeat(32),
    TALLYSTICK_MASTER_KEY_PREVIOUS: Buffer.from(TEST_MASTER_KEY).toString('hex'),
  }
  await startWorkerOn(t, app.database, { env: both, dataDir: join(worker.notesDir, '..') })
  assertProblem(await post(app), 503, 'ledger_closed')
})

test('restore of a ledger that was not closed answers 409, and of an unknown one 404', async (t) => {
  const { app } = await setUp(t)
  const body = { known: { size: 1, chain: '0'.repeat(64) } }
  assertProblem(await restore(app, 'GET'), 409, 'state_conflict')
  assertProblem(await restore(app, 'POST', body), 409, 'state_conflict')
  const url = `/v1/ledgers/led_${'0'.repeat(26)}/restore`
  assertProblem(await app.send('POST', url, { key: OPERATOR_KEY, body }), 404, 'not_found')
  const response = await app.send('POST', `/v1/ledgers/${app.ledger.ledger.id}/restore`, {
    key: OPERATOR_KEY,
    body,
    headers: { 'idempotency-key': 'one' },
  })
  assertProblem(response, 400, 'invalid_idempotency_key')
})

async function setUp(
  t: Parameters<typeof buildTestApp>[0],
): Promise<{ app: TestApp; worker: RestoreWorker }> {
  const app = await buildTestApp(t)
  return { app, worker: await makeRestoreWorker(t, app) }
}

function post(app: TestApp, url = '/v1/records', body: object = genericBody()) {
  return app.send('POST', url, { body })
}

function restore(app: TestApp, method: 'GET' | 'POST', body?: object) {
  const url = `/v1/ledgers/${app.ledger.ledger.id}/restore`
  return app.send(method, url, { key: OPERATOR_KEY, ...(body && { body }) })
}

async function acknowledge(app: TestApp, size: number, chain: string): Promise<void> {
  const response = await restore(app, 'POST', { known: { size, chain } })
  assert.equal(response.statusCode, 200, response.body)
}

type SignedRow = { envelope: Buffer; leaf: Buffer; recorded_at: Date }

/**
 * Forges an acknowledgement as a thief of the API's login. The entry has the right kind, but its envelope is unsigned
 * or copied.
 */
async function forgeAcknowledgement(
  app: TestApp,
  { recorded_at, ...signed }: Partial<SignedRow> = {},
): Promise<void> {
  const id = parseId('led', app.ledger.ledger.id)
  const signer = await app.deps.signers.load()
  const ids = { id, agentId: id, keyId: id, kid: Buffer.from(signer.kid) }
  const outcome = await app.deps.appender.append({
    ...adminEntry(ids, 'ledger-restored', id, {}),
    recordedAtMs: recorded_at?.getTime() ?? Date.now(),
    ...signed,
  })
  assert.equal(outcome.status, 'appended')
}

async function restoreTo(app: TestApp, size: number): Promise<void> {
  await app.sql(`do $$ begin
    set local session_replication_role = replica;
    delete from tallystick.entries where seq >= ${size};
    delete from tallystick.records where first_seq >= ${size};
    delete from tallystick.ledger_closures;
    update tallystick.chain_heads set size = ${size}, closed = null,
      chain = (select chain from tallystick.entries order by seq desc limit 1);
  end $$`)
}

async function makeOlder(app: TestApp): Promise<void> {
  await app.sql('alter table tallystick.checkpoints disable trigger user')
  await app.sql("update tallystick.checkpoints set published_at = published_at - interval '2 seconds'")
  await app.sql('alter table tallystick.checkpoints enable trigger user')
  await app.sql('alter table tallystick.checkpoints enable always trigger proven_session')
}

function verify(app: TestApp) {
  return verifyLedger(database(app.database.superuserUrl, app.ledger.ledger.id), { threads: 1 })
}
