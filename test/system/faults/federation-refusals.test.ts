import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseBetween, startRefused } from '../../helpers/refused-between.ts'

const RECORDS = 3_000
const PATIENCE_MS = 600_000

test('2,998 of 3,000 records pass a proxy that refuses one by size and one by content', async (t) => {
  const startedAt = performance.now()
  const outcome = await refuseBetween(await startRefused(t), { records: RECORDS, patienceMs: PATIENCE_MS })
  const { requests, refusals, requestBytes } = outcome
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(
    `${RECORDS} records: ${requests} requests, ${refusals} refused; ${requestBytes} bytes learnt; ${seconds} s`,
  )
  assert.deepEqual(outcome.missing, outcome.refused)
  assert.deepEqual(outcome.codes, ['request_refused', 'request_too_large'])
  await outcome.mend()
  assert.deepEqual(await outcome.listMissing(), [])
})
