import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildApp } from '../../../src/http/app.ts'
import { WriteDeadlines } from '../../../src/http/connections/write-deadlines.ts'
import { ANSWER_STALL_MS_MAX } from '../../../src/http/limits.ts'
import { Metrics } from '../../../src/observe/metrics/metrics.ts'
import { buildTestApp, expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { openSocket, requestText } from '../../helpers/raw-http.ts'
import { ServerProcess } from '../../helpers/server-process.ts'
import { until } from '../../helpers/wait.ts'

/*
 * Finding M5: each reader that exported full batches without reading the answer occupied 58 to 72 MiB. The memory was
 * occupied for 120 s, or for longer if the reader read a byte now and then. An export line can be much longer than its
 * batch of 4 MiB, because the export writes all digits of numbers.
 */
const READERS = 8
/**
 * Maximum growth of memory in MiB. Before the fix, four readers occupied 119 MiB. Up to 60 MiB are normal for a heap
 * before garbage collection, with any number of readers.
 */
const GROWTH_MIB_MAX = 112

test('unread exports of long lines cost bounded memory', async (t) => {
  const app = await buildTestApp(t)
  await writeLongBatch(app)
  await ServerProcess.use(app, async (server) => {
    const readWhole = async () => {
      const headers = { authorization: `Bearer ${app.ledger.key.key}` }
      const text = await (await fetch(`${server.url}/v1/export`, { headers })).text()
      return Math.max(...text.split('\n').map((line) => line.length))
    }
    const lineMiB = (await readWhole()) / 1024 / 1024
    const before = server.memoryMiB
    for (let i = 0; i < READERS; i++)
      server.open(t).write(requestText('GET', '/v1/export', app.ledger.key.key))
    let most = before
    for (let i = 0; i < 15; i++) {
      await sleep(100)
      most = Math.max(most, server.memoryMiB)
    }
    t.diagnostic(
      `a line of ${lineMiB.toFixed(0)} MiB: ${before.toFixed(0)} MiB before, ${(most - before).toFixed(0)} more for ${READERS} readers`,
    )
    assert.ok(most - before < GROWTH_MIB_MAX, `${most - before} MiB`)
  })
})

for (const [how, drips] of [
  ['reads nothing', false],
  ['reads a byte now and then', true],
] as const)
  test(`a reader that ${how} is cut off`, async (t) => {
    const app = await buildTestApp(t)
    await writeLongBatch(app)
    let nowMs = 0
    const writeDeadlines = new WriteDeadlines(() => nowMs)
    const server = buildApp({ ...app.deps, metrics: new Metrics(), writeDeadlines })
    await server.listen({ host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    const reader = openSocket(t, (server.server.address() as AddressInfo).port)
    reader.write(requestText('GET', '/v1/export', app.ledger.key.key))
    await until(() => [...writeDeadlines.open].some((one) => one.writableLength > 0))
    writeDeadlines.check()
    const stepMs = ANSWER_STALL_MS_MAX / 10
    for (let i = 0; i < 9; i++) {
      nowMs += stepMs
      if (drips) reader.read(1)
      writeDeadlines.check()
      assert.equal(writeDeadlines.cutOff, 0)
    }
    nowMs += 2 * stepMs
    writeDeadlines.check()
    assert.equal(writeDeadlines.cutOff, 1)
    await until(() => writeDeadlines.open.size === 0)
  })

/** Writes a batch whose records have nearly 64 KiB each in canonical form, but 15 KB as they are sent. */
async function writeLongBatch(app: TestApp): Promise<void> {
  const numbers = Array.from({ length: 2_900 }, () => '1e20').join(',')
  const record = JSON.stringify(genericBody({ n: 0 })).replace('"n":0', `"n":[${numbers}]`)
  const text = `{"records":[${Array.from({ length: 175 }, () => record).join(',')}]}`
  expectStatus(201, await app.send('POST', '/v1/records/batch', { text }))
}
