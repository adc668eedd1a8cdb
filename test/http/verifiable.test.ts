import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { exportFile } from '../../src/verify/export-file.ts'
import { verifyLedger } from '../../src/verify/verify-ledger.ts'
import { expectStatus, genericBody, OPERATOR_KEY, type TestApp } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { sharedApp } from '../helpers/shared-app.ts'

test('the export of every accepted write verifies', async (t) => {
  const app = await sharedApp()

  await t.test('names of 200 characters outside the Basic Multilingual Plane', async () => {
    const name = '😂'.repeat(200)
    const made = await app.send('POST', '/v1/ledgers', { key: OPERATOR_KEY, body: { name, agent: name } })
    expectStatus(201, made)
    assert.equal(await failureOf(app, made.json().key.key), null)
  })

  await t.test('a batch with the earliest and the latest times of occurrence', async () => {
    const times = ['0001-01-01T00:00:00Z', '0004-02-29T12:00:00.1Z', '9999-12-31T23:59:59.999Z']
    const records = times.map((occurredAt) => ({ ...genericBody(), occurredAt }))
    expectStatus(201, await app.send('POST', '/v1/records/batch', { body: { records } }))
    assert.equal(await failureOf(app), null)
  })

  await t.test('refuses times of the year 0, whose leap day the Postgres driver misreads', async () => {
    for (const occurredAt of ['0000-02-29T12:00:00Z', '0000-01-01T00:00:00Z']) {
      const item = { ...genericBody(), occurredAt }
      assertProblem(await app.send('POST', '/v1/records', { body: item }), 422, 'invalid_request')
      const batch = await app.send('POST', '/v1/records/batch', { body: { records: [item] } })
      assertProblem(batch, 422, 'invalid_request')
    }
  })
})

async function failureOf(app: TestApp, key?: string): Promise<unknown> {
  const response = await app.send('GET', '/v1/export', key === undefined ? {} : { key })
  expectStatus(200, response)
  const file = join(temporaryDir(), 'export.ndjson')
  writeFileSync(file, response.body)
  return (await verifyLedger(exportFile(file), { threads: 0 })).failure
}
