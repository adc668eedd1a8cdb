import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { database } from '../../src/verify/database.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { formatReport } from '../../src/verify/report.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { openEraser } from '../helpers/eraser.ts'
import { gateLedger } from '../helpers/gated-app.ts'
import { runCli } from '../helpers/run-cli.ts'
import { shareApp } from '../helpers/shared-app.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

/** A separate application, because the tests drop constraints. */
const unguardedApp = shareApp()

/** Makes two records with erasures. Only the first erasure is carried out. */
async function setUp(t: TestContext) {
  const app = await unguardedApp()
  const eraser = openEraser(t, app)
  const body = { ...genericBody(), metadata: { m: 1 } }
  const gone = await app.notarize(body, { headers: { 'idempotency-key': 'gone' } })
  const stored = await app.notarize(body, { headers: { 'idempotency-key': 'stored' } })
  const first = await erase(app, gone.id, 'expired')
  await eraser.run()
  const second = await erase(app, stored.id, 'data_subject_request')
  return { app, eraser, gone, stored, first, second }
}

async function erase(app: TestApp, id: string, code: string) {
  const answer = await app.send('DELETE', `/v1/records/${id}/payload`, { body: { code, reason: 'why' } })
  return expectStatus(202, answer).json().erasure
}

const verify = (app: TestApp) =>
  verifyLedger(database(app.database.superuserUrl, app.ledger.ledger.id), { threads: 1 })

function later(t: TestContext): void {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 11 * 60_000 })
}

/**
 * Runs SQL as an owner of the database who has disabled all triggers and constraints. `:mine` is replaced by a
 * condition for rows of this ledger.
 */
async function asOwner(app: TestApp, text: string): Promise<void> {
  await app.sql(
    `alter table tallystick.records drop constraint if exists records_payload_or_erased;
     alter table tallystick.idempotency_keys drop constraint if exists idempotency_keys_check;
     alter table tallystick.documents drop constraint if exists documents_content_or_erased;
     alter table tallystick.erasures drop constraint if exists erasures_pkey;
     set session_replication_role = replica; ${text.replaceAll(':mine', `ledger_id = '${app.ledgerId}'`)};
     set session_replication_role = origin`,
  )
}

test('the report lists each erasure with time, code and agent, from a database and an export', async (t) => {
  const { app, gone, stored, first, second } = await setUp(t)
  const { id: by } = app.ledger.agent
  const { id: key } = app.ledger.key
  const expected = [
    [gone, first, 'expired'],
    [stored, second, 'data_subject_request'],
  ].map(([record, erasure, code]) => ({
    seq: erasure.entry.seq,
    subject: record.id,
    digestedBy: record.entry.seq,
    code,
    by,
    key,
    recordedAt: erasure.recordedAt,
  }))
  const text = (await app.send('GET', '/v1/export')).body
  const path = temporaryFiles(t).write('ledger.ndjson', text)
  for (const report of [await verify(app), await verifyLedger(exportFile(path), { threads: 1 })]) {
    assert.equal(report.failure, null)
    assert.deepEqual(report.erasures, expected)
    assert.match(formatReport(report), /^INTEGRITY_OK entries=7 records=2 .* covered=0 own=0 of 7 erased=2$/)
  }

  const { stdout } = await runCli(['verify', path, '--erasures'])
  const [one, two, verdict] = stdout.split('\n')
  assert.equal(
    one,
    `erased seq=5 subject=${gone.id} of=3 code=expired by=${by} key=${key} at=${first.recordedAt}`,
  )
  assert.match(two!, /^erased seq=6 .* of=4 code=data_subject_request /)
  assert.match(verdict!, /^INTEGRITY_OK .* erased=2$/)
  assert.equal((await runCli(['verify', path])).stdout, `${verdict}\n`)
  const json = await runCli(['verify', path, '--json', '--erasures'])
  assert.deepEqual(JSON.parse(json.stdout).erasures, expected)
})

test('an erasure that is not carried out is no failure, but a notice', async (t) => {
  const { app, eraser } = await setUp(t)
  assert.deepEqual((await verify(app)).notices, [])
  later(t)
  const { failure, notices } = await verify(app)
  assert.equal(failure, null)
  assert.match(notices[0]!, /^1 erased documents are still stored after more than 10 minutes/)
  await eraser.run()
  assert.deepEqual((await verify(app)).notices, [])
})

const FAULTS: [string, string, RegExp][] = [
  [
    'metadata that came back',
    `update tallystick.records set metadata = '{}' where :mine and first_seq = 3`,
    /is erased, but its metadata or references are not/,
  ],
  [
    'references that came back',
    `update tallystick.records set reference_list = '["a"]' where :mine and first_seq = 3`,
    /references/,
  ],
  [
    'a fingerprint that came back',
    'update tallystick.idempotency_keys set fingerprint = sha256(key_hash), salt = key_hash where :mine and seq = 3',
    /a fingerprint outlives what was erased/,
  ],
  [
    'a fingerprint that is gone, though nothing was taken away',
    'update tallystick.idempotency_keys set fingerprint = null, salt = null where :mine and seq = 4',
    /a fingerprint is missing/,
  ],
  [
    'a payload that is gone, though no entry says so',
    'update tallystick.records set payload = null, salt = null where :mine and first_seq = 4',
    /missing without an erasure, or is only half erased/,
  ],
  [
    'a payload that is gone in the name of another’s erasure',
    `update tallystick.records set payload = null, salt = null, metadata = null, payload_erased_seq = 5
     where :mine and first_seq = 4;
     update tallystick.idempotency_keys set fingerprint = null, salt = null where :mine and seq = 4`,
    /seq 5 is named as the erasure of/,
  ],
  [
    'an erasure whose row names another record',
    'update tallystick.erasures set subject_id = gen_random_uuid() where :mine and seq = 5',
    /erasures.subject_id/,
  ],
]

for (const [what, change, reason] of FAULTS) {
  test(`verify finds ${what}`, async (t) => {
    const { app } = await setUp(t)
    assert.equal((await verify(app)).failure, null)
    await asOwner(app, change)
    assert.match((await verify(app)).failure?.reason ?? 'nothing', reason)
  })
}

/**
 * Makes a gated record with all steps up to its verdict. The erasures of its evidence, compared values and reason are
 * carried out.
 */
async function setUpGated(t: TestContext) {
  const app = await gateLedger(t, await unguardedApp())
  const eraser = openEraser(t, app)
  const { id } = await app.reach('ACTIVE')
  await app.take(id, 'completions', { headers: { 'idempotency-key': 'delivered' } })
  await app.verify(id)
  const reason = 'as agreed with Jane'
  const { gated } = await app.take(id, 'verdict', { body: { verdict: 'accept', reason } })
  const { completion, verification, verdict } = gated
  const url = `/v1/records/${id}/completions/${completion.id}`
  for (const document of [
    `${url}/evidence`,
    `${url}/values`,
    `/v1/records/${id}/entries/${verdict.seq}/reason`,
  ])
    expectStatus(202, await app.send('DELETE', document, { body: { code: 'expired' } }))
  return { app, eraser, id, completion, verification, verdict }
}

test('erasures in a gated record’s steps are listed, and overdue until carried out', async (t) => {
  const { app, eraser, id, completion, verification, verdict } = await setUpGated(t)
  const names = [completion.id, `${completion.id}/values`, `${id}/reason`]
  const seqs = [completion.seq, verification.seq, verdict.seq]
  later(t)
  for (const due of [/^3 erased documents are still stored/, /^nothing/]) {
    const { failure, erasures, notices } = await verify(app)
    assert.equal(failure, null)
    assert.match(notices[0] ?? 'nothing', due)
    assert.deepEqual(
      erasures.map(({ subject, digestedBy }) => [subject, digestedBy]),
      names.map((name, i) => [name, seqs[i]]),
    )
    await eraser.run()
  }
})

const GATED_FAULTS: [string, string, RegExp][] = [
  [
    'a document that came back',
    `update tallystick.documents set content = '{}', salt = substr(digest, 1, 16) where :mine and document = 'evidence'`,
    /missing without an erasure, or is only half erased/,
  ],
  [
    'a document that is gone in the name of another’s erasure',
    `update tallystick.documents set erased_seq = erased_seq + 1 where :mine and document = 'evidence'`,
    /is named as the erasure of/,
  ],
  [
    'the fingerprint of a delivery that outlives it',
    'update tallystick.idempotency_keys set fingerprint = sha256(key_hash), salt = key_hash where :mine',
    /a fingerprint outlives what was erased/,
  ],
  [
    'an erasure whose row names another entry',
    "update tallystick.erasures set document_seq = document_seq - 1 where :mine and document = 'reason'",
    /erasures.document_seq/,
  ],
  [
    'an erasure whose row names another document',
    "update tallystick.erasures set document = 'evidence' where :mine and document = 'values'",
    /erasures.document is/,
  ],
]

for (const [what, change, reason] of GATED_FAULTS) {
  test(`verify finds ${what}`, async (t) => {
    const { app, eraser } = await setUpGated(t)
    await eraser.run()
    assert.equal((await verify(app)).failure, null)
    await asOwner(app, change)
    assert.match((await verify(app)).failure?.reason ?? 'nothing', reason)
  })
}
