import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { withClient } from '../../src/db/client.ts'
import { countOverdueErasures } from '../../src/db/ledger-snapshot.ts'
import { parseId } from '../../src/proof/ids.ts'
import { database } from '../../src/verify/database.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { formatReport } from '../../src/verify/report.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../helpers/app.ts'
import { openEraser } from '../helpers/eraser.ts'
import { runCli } from '../helpers/run-cli.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

/** Two records, both erased, the first one for good. */
async function setUp(t: TestContext) {
  const app = await buildTestApp(t)
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

const verify = (app: TestApp) => verifyLedger(database(app.database.superuserUrl, null), { threads: 1 })

/** By the owner of the database, who has disabled every trigger and constraint. */
async function asOwner(app: TestApp, text: string): Promise<void> {
  await app.sql(
    `alter table tallystick.records drop constraint if exists records_payload_or_erased;
     alter table tallystick.idempotency_keys drop constraint if exists idempotency_keys_check;
     set session_replication_role = replica; ${text}; set session_replication_role = origin`,
  )
}

test('a report lists what was erased, when, why and by whom, from a database and from an export', async (t) => {
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
    assert.match(formatReport(report), /^INTEGRITY_OK entries=7 records=2 .* covered=0 of 7 erased=2$/)
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

test('an erasure that nobody carries out is no fault of integrity, and a notice says so', async (t) => {
  const { app, eraser } = await setUp(t)
  const ledgerId = parseId('led', app.ledger.ledger.id)
  const overdue = (ageMs: number) =>
    withClient(app.database.superuserUrl, (client) => countOverdueErasures(client, ledgerId, ageMs))
  assert.deepEqual([await overdue(0), await overdue(60_000)], [1, 0])
  assert.deepEqual((await verify(app)).notices, [])
  await asOwner(app, "update tallystick.entries set recorded_at = recorded_at - interval '11 minutes'")
  const notice = /^1 erased documents are still stored after more than 10 minutes/
  assert.match((await verify(app)).notices[0]!, notice)
  await asOwner(app, "update tallystick.entries set recorded_at = recorded_at + interval '11 minutes'")
  await eraser.run()
  assert.equal(await overdue(0), 0)
  assert.deepEqual((await verify(app)).notices, [])
})

const FAULTS: [string, string, RegExp][] = [
  [
    'metadata that came back',
    `update tallystick.records set metadata = '{}' where first_seq = 3`,
    /is erased, its metadata or references are not/,
  ],
  [
    'references that came back',
    `update tallystick.records set reference_list = '["a"]' where first_seq = 3`,
    /references/,
  ],
  [
    'a fingerprint that came back',
    'update tallystick.idempotency_keys set fingerprint = sha256(key_hash), salt = key_hash where seq = 3',
    /a fingerprint outlives what was erased/,
  ],
  [
    'a fingerprint that is gone, though nothing was taken away',
    'update tallystick.idempotency_keys set fingerprint = null, salt = null where seq = 4',
    /a fingerprint is missing/,
  ],
  [
    'a payload that is gone, though no entry says so',
    'update tallystick.records set payload = null, salt = null where first_seq = 4',
    /missing, or only half erased/,
  ],
  [
    'a payload that is gone in the name of another’s erasure',
    `update tallystick.records set payload = null, salt = null, metadata = null, payload_erased_seq = 5
     where first_seq = 4;
     update tallystick.idempotency_keys set fingerprint = null, salt = null where seq = 4`,
    /seq 5 is said to have erased/,
  ],
  [
    'an erasure whose row names another record',
    'update tallystick.erasures set subject_id = gen_random_uuid() where seq = 5',
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
