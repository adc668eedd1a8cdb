import assert from 'node:assert/strict'
import { rename, rm, writeFile } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ArchiveContent } from '../../../src/db/connect/archive.ts'
import { ARCHIVE_RETRY_AFTER_MS } from '../../../src/db/limits.ts'
import { EVENTS_TAIL_QUERIES_AT_ONCE_MAX, EVENTS_TAIL_WARN_EVERY_MS } from '../../../src/http/limits.ts'
import { genericBody } from '../../helpers/app.ts'
import { buildReleasedApp } from '../../helpers/released-app.ts'
import { openTail, type TestTail } from '../../helpers/tail.ts'
import { until } from '../../helpers/wait.ts'

/** Makes a ledger of three records whose envelopes are only in the archive. */
async function setUp(t: TestContext) {
  const released = await buildReleasedApp(t)
  const { app } = released
  for (let n = 0; n < 3; n++) await app.notarize(genericBody({ n }))
  await released.leave()
  assert.deepEqual(await released.leftEnvelopes(), { 'record-notarized': 3 })
  const origin = await app.app.listen({ port: 0, host: '127.0.0.1' })
  const tail = (query: string, key = app.ledger.key.key) => openTail(t, origin, key, { query })
  return { ...released, tail }
}

const recordsOf = ({ events }: TestTail) =>
  events.filter(({ event }) => event.type === 'record.recorded').length

test('streams of events that wait for the archive do not hold up those of other ledgers', async (t) => {
  const { app, tail } = await setUp(t)
  const other = await app.newLedger()
  await app.notarize(genericBody({ here: true }), { key: other.key.key })
  const pool = app.deps.readPool as unknown as { archive: ArchiveContent }
  const { archive } = pool
  let asked = 0
  let answer = () => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  pool.archive = {
    read: (chunk) => archive.read(chunk),
    async readEnvelopes(wanted) {
      asked++
      await answered
      return archive.readEnvelopes(wanted)
    },
  }
  const filters = [
    'record.recorded',
    'record.recorded,batch.recorded',
    'record.recorded,checkpoint.published',
  ]
  const waiting = filters.map((events) => tail(`?from=beginning&events=${events}`))
  await until(() => asked >= EVENTS_TAIL_QUERIES_AT_ONCE_MAX)
  let told = 0
  const elsewhere = tail('?from=beginning', other.key.key).then(async (open) => {
    await until(() => recordsOf(open) === 1)
    told = recordsOf(open)
  })
  await Promise.race([elsewhere, sleep(3_000)])
  answer()
  assert.equal(told, 1, 'its page waits for the archive of another ledger')
  for (const one of await Promise.all(waiting)) await until(() => recordsOf(one) === 3)
})

test('an event stream opens while the archive is away, and continues when it is back', async (t) => {
  const { app, directory, tail } = await setUp(t)
  const warned = t.mock.method(app.deps.log, 'warn', () => {}).mock
  await rename(directory, `${directory}.away`)
  await writeFile(directory, 'no directory')
  const open = await tail('?from=beginning')
  assert.equal(open.response.statusCode, 200)
  await until(() => open.text().includes('retry:'))
  await sleep(300)
  const later = await app.notarize(genericBody({ later: true }))
  assert.equal(recordsOf(open), 0)
  const another = await tail('?from=beginning')
  assert.deepEqual(
    warned.calls.map(({ arguments: [, message] }) => message),
    ['event streams are waiting for the archive'],
  )
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + EVENTS_TAIL_WARN_EVERY_MS)
  await until(() => warned.callCount() === 2, ARCHIVE_RETRY_AFTER_MS + 3_000)
  another.close()
  await rm(directory)
  await rename(`${directory}.away`, directory)
  await until(() => recordsOf(open) === 4, ARCHIVE_RETRY_AFTER_MS + 3_000)
  assert.equal(open.events.at(-1)!.event.data.record.id, later.id)
  open.close()
})
