import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Appender } from '../../src/append/appender.ts'
import { APPEND_GATHER_MS_MAX, APPEND_GATHER_RECORDS_MAX } from '../../src/append/limits.ts'
import { openWritePool } from '../../src/db/connect/pools.ts'
import { connect, testDatabase } from '../helpers/connect.ts'
import { createTestDatabase } from '../helpers/database.ts'
import { createTestLedger, makeEntry } from '../helpers/test-ledger.ts'

test('a batch waits for requests that have arrived but not yet appended', async (t) => {
  const { coming, batches, append } = await open(t)

  await t.test('not at all when no requests are coming', async () => {
    await append()
    await append()
    assert.deepEqual(batches.splice(0), [1, 1])
  })

  await t.test('only until it holds APPEND_GATHER_RECORDS_MAX records', async () => {
    coming.count = 10_000
    let looks = 0
    coming.look = () => {
      looks++
    }
    await Promise.all(Array.from({ length: APPEND_GATHER_RECORDS_MAX }, append))
    coming.count = 0
    assert.deepEqual(batches.splice(0), [APPEND_GATHER_RECORDS_MAX])
    assert.ok(looks < 10, `looked ${looks} times whether more are coming`)
  })

  await t.test('only for about APPEND_GATHER_MS_MAX', async () => {
    coming.count = 2
    const startedAt = performance.now()
    await append()
    const tookMs = performance.now() - startedAt
    coming.count = 0
    assert.ok(tookMs >= APPEND_GATHER_MS_MAX && tookMs < 2_000, `${tookMs} ms`)
    assert.deepEqual(batches.splice(0), [1])
  })
})

async function open(t: TestContext) {
  const database = await createTestDatabase(t)
  const ledger = await createTestLedger(await connect(t, database.apiUrl))
  const pool = openWritePool(testDatabase(database.apiUrl), { warn: () => {} })
  const coming = { count: 0, look: () => {} }
  const batches: number[] = []
  const observer = {
    overloaded() {},
    prepared() {},
    answered() {},
    retried() {},
    committed: ({ entries }: { entries: readonly unknown[] }) => void batches.push(entries.length),
  }
  const appender = new Appender(pool, observer, () => {
    coming.look()
    return coming.count
  })
  t.after(async () => {
    await appender.close()
    await pool.end()
  })
  return { coming, batches, append: () => appender.append(makeEntry(ledger)) }
}
