import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { ArchiveContent } from '../../../src/db/connect/archive.ts'
import { archiveUnavailable } from '../../../src/db/connect/archive.ts'
import { LOOKUP_QUERIES_MAX } from '../../../src/db/limits.ts'
import { Lookups } from '../../../src/db/records/lookups.ts'
import { parseId, type Uuid } from '../../../src/proof/ids.ts'
import { expectStatus, genericBody, type TestApp } from '../../helpers/app.ts'
import { postBatch } from '../../helpers/personal-records.ts'
import { lendReleasedApp } from '../../helpers/released-app.ts'
import { until } from '../../helpers/wait.ts'

const UNHURRIED_MS = 10_000

test('a slow archive delays only requests for content in the archive', async (t) => {
  const released = await lendReleasedApp(t)
  const { app, deps } = released
  const ids = await notarizeBatch(app, 70)
  await released.leave()
  assert.deepEqual(await released.chunks(), [0, 2])
  const other = await app.newLedger()
  const { id } = await app.notarize(genericBody(), { key: other.key.key })

  const archive = Promise.withResolvers<void>()
  let asked = 0
  const slow: ArchiveContent = {
    async read(chunk) {
      asked++
      await archive.promise
      return deps.openContent().read(chunk)
    },
    readEnvelopes: (wanted) => deps.openContent().readEnvelopes(wanted),
  }
  const pool = app.deps.readPool
  const lookups = new Lookups({ query: pool.query.bind(pool), archive: slow })
  const waiting: Promise<unknown>[] = []
  for (let i = 0; i <= LOOKUP_QUERIES_MAX; i++) {
    waiting.push(lookups.findRecord(app.ledgerId, ids[i]!))
    // Each lookup has its own query. The query ends before the archive answers.
    await until(async () => asked === i + 1)
  }
  const late = Symbol()
  const found = await Promise.race([
    lookups.findRecord(parseId('led', other.ledger.id), parseId('rec', id)),
    setTimeout(UNHURRIED_MS, late, { ref: false }),
  ])
  assert.equal((found as { recordId: Uuid }).recordId, parseId('rec', id))
  archive.resolve()
  const rows = (await Promise.all(waiting)) as { recordId: Uuid; payload: Buffer }[]
  assert.deepEqual(
    rows.map((row) => row.recordId),
    ids.slice(0, waiting.length),
  )
  assert.ok(rows.every(({ payload }) => payload !== null))
})

test('look-ups that share a query fail each by themselves', async (t) => {
  const released = await lendReleasedApp(t)
  const { app } = released
  const ids = await notarizeBatch(app, 2)
  await released.leave()
  const [here] = await notarizeBatch(app, 1)
  const pool = app.deps.readPool
  const refuse = async () => {
    throw archiveUnavailable('it is away')
  }
  const away: ArchiveContent = { read: refuse, readEnvelopes: refuse }
  const lookups = new Lookups({ query: pool.query.bind(pool), archive: away })
  const answers = await Promise.allSettled(
    [ids[0]!, here!, ids[1]!].map((id) => lookups.findRecord(app.ledgerId, id)),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected'],
  )
  assert.equal(lookups.figures.records.queries, 1)
})

async function notarizeBatch(app: TestApp, count: number): Promise<Uuid[]> {
  const { records }: { records: { id: string }[] } = expectStatus(201, await postBatch(app, count)).json()
  return records.map(({ id }) => parseId('rec', id))
}
