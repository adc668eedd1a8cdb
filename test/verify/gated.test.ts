import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { serverLedger } from '../../cli/server-ledger.ts'
import { Tallystick } from '../../sdk/client.ts'
import { database } from '../../src/verify/database.ts'
import { exportFile } from '../../src/verify/export-file.ts'
import { formatReport } from '../../src/verify/report.ts'
import type { LedgerSource } from '../../src/verify/source.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { openEraser } from '../helpers/eraser.ts'
import { type GatedApp, lendGatedApp } from '../helpers/gated-app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

/* Fills a ledger with gated records in every state. Each state is reached in every possible way. */

async function fill(app: GatedApp): Promise<void> {
  for (const state of ['CREATED', 'ACTIVE', 'DISCREPANT', 'REJECTED', 'CANCELLED']) await app.reach(state)
  await app.notarize()
  const deadline = new Date(Date.now() + 3_600_000).toISOString()
  const terms = { deadline, maxRevisions: 2, tolerances: { quantity: { percent: '7' } } }
  await app.reach('ACCEPTED', { ...terms, performer: undefined, parent: (await app.notarize()).id })
  await app.reach('CANCELLED', { performer: undefined })
  const revised = await app.reach('VERIFIED', terms)
  await app.take(revised.id, 'revision')
  await app.take(revised.id, 'completions')
  await app.verify(revised.id)
  await app.take(revised.id, 'verdict', { body: { verdict: 'accept', reason: 'well done' } })
  const rejected = await app.reach('REJECTED')
  await app.take(rejected.id, 'overturn')
  for (const evidence of [{ quantity: 100, currency: 'EUR' }, { quantity: 1 }]) {
    const { id } = await app.reach('ACTIVE', { gate: 'auto' })
    await app.take(id, 'completions', { body: { evidence } })
    await app.verify(id)
  }
  const { id } = await app.create({ deadline: new Date(Date.now() + 300).toISOString() })
  await app.expire(id)
  await app.reach('SUBMITTED')
}

const STATES = [
  'ACCEPTED 5',
  'ACCEPTED 5',
  'ACCEPTED 6',
  'ACCEPTED 8',
  'ACTIVE 2',
  'CANCELLED 2',
  'CANCELLED 2',
  'CREATED 1',
  'DISCREPANT 4',
  'EXPIRED 2',
  'REJECTED 5',
  'REJECTED 5',
  'SUBMITTED 3',
]

test('every state is rebuilt from the statements of a database, an export and a server', async (t) => {
  const app = await lendGatedApp(t)
  const eraser = openEraser(t, app)
  await fill(app)
  const rows = await app.sql<{ stands: string }>(
    `select state || ' ' || version as stands from tallystick.gated_records order by 1`,
  )
  assert.deepEqual(
    rows.map(({ stands }) => stands),
    STATES,
  )
  await assertAllVerify(t, app, 0)
  const accepted = await app.reach('ACCEPTED')
  const { completion } = accepted.gated
  const { statusCode, body } = await app.send(
    'DELETE',
    `/v1/records/${accepted.id}/completions/${completion.id}/evidence`,
    { body: { code: 'expired' } },
  )
  assert.equal(statusCode, 202, body)
  await assertAllVerify(t, app, 1)
  await eraser.run()
  await assertAllVerify(t, app, 1)
})

async function assertAllVerify(t: TestContext, app: GatedApp, erased: number): Promise<void> {
  if (!app.app.server.listening) await app.app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`
  const path = temporaryFiles(t).write('ledger.ndjson', (await app.send('GET', '/v1/export')).body)
  const sources: [LedgerSource, number][] = [
    [database(app.database.superuserUrl, null), 1],
    [database(app.database.apiUrl, null), 2],
    [exportFile(path), 1],
    [serverLedger(new Tallystick({ baseUrl: url, apiKey: app.ledger.key.key }), url), 1],
  ]
  for (const [source, threads] of sources) {
    const report = await verifyLedger(source, { threads })
    assert.equal(report.failure, null, `${source.name}: ${JSON.stringify(report.failure)}`)
    assert.equal(report.erasures.length, erased)
    const [{ entries, records }] = (await app.sql(
      'select (select count(*)::int from tallystick.entries) as entries, (select count(*)::int from tallystick.records) as records',
    )) as [{ entries: number; records: number }]
    assert.deepEqual([report.entries, report.records], [entries, records])
  }
  const auditor = await addKey(app, { scopes: ['audit:read'] })
  const withheld = await verifyLedger(serverLedger(new Tallystick({ baseUrl: url, apiKey: auditor }), url))
  assert.match(formatReport(withheld), /^INTEGRITY_OK .* documents=withheld/)
}
