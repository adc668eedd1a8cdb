import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { archiveUnavailable } from '../../../src/db/connect/archive.ts'
import { EVENT_ARCHIVE_MS_MAX } from '../../../src/db/limits.ts'
import { ArchivedContent } from '../../../src/verify/archive/archived-content.ts'
import { expectStatus } from '../../helpers/app.ts'
import { erase, postBatch } from '../../helpers/personal-records.ts'
import { openReleased } from '../../helpers/released-app.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage } from '../../helpers/webhook-stage.ts'

const ERASED = { events: ['record.recorded', 'payload.erased'] }
const GOES_ON = 'update tallystick.webhook_cursors set due_at = now(), resume_at = null where webhook_id = $1'

/**
 * Number of payloads that are erased while the archive works. Their events are requested again while the archive
 * hangs.
 */
const ERASURES = 5

/** Makes the archive unavailable, or makes it hang, until the test ends or calls the returned function. */
function takeAway(t: TestContext, how: 'away' | 'hangs'): () => void {
  const answer = Promise.withResolvers<never>()
  answer.promise.catch(() => {})
  for (const method of ['read', 'readEnvelopes'] as const)
    t.mock.method(ArchivedContent.prototype, method, () => answer.promise)
  const fail = () => answer.reject(archiveUnavailable('the archive is away'))
  if (how === 'away') fail()
  t.after(fail)
  return () => {
    t.mock.restoreAll()
    fail()
  }
}

test('deliveries whose events lie in an archive that is away', async (t) => {
  const root = temporaryFiles({ after: (cleanup) => t.after(async () => cleanup()) }).directory
  const stage = await buildStage(t, { environment: { TALLYSTICK_ARCHIVE: `file://${root}` } })
  const released = await openReleased(t, stage, root)
  const batch = expectStatus(201, await postBatch(stage, 1 + ERASURES)).json()
  const ids: string[] = batch.records.map(({ id }: { id: string }) => id)

  await t.test('wait until it is back, and delay no other delivery', async (t) => {
    const since = new Date().toISOString()
    const endpoint = await stage.subscribe(t, { events: ['record.recorded'] })
    const recordsHeard = () => endpoint.received().map(({ event }) => event.data.record.id)
    const old = await stage.notarize()
    await endpoint.hears(1)
    await endpoint.rests()
    await released.archiver.run()
    await until(async () => {
      await released.release()
      return (await released.leftEnvelopes())['record-notarized'] === 1
    })
    assert.deepEqual(await released.chunks(), [0, 1])
    const recent = await stage.notarize()
    await endpoint.hears(2)
    await endpoint.rests()

    await rename(released.directory, `${released.directory}.away`)
    await endpoint.ask('POST', '/pause')
    const [oldId, recentId] = endpoint.received().map(({ id }) => id)
    for (const id of [oldId, recentId]) await endpoint.ask('POST', `/deliveries/${id}/redeliver`)
    const next = await stage.notarize()
    await endpoint.ask('POST', '/resume')
    await endpoint.hears(4)
    assert.deepEqual(recordsHeard(), [old.id, recent.id, ...recordsHeard().slice(2)])
    assert.deepEqual(new Set(recordsHeard().slice(2)), new Set([recent.id, next.id]))
    const pending = () => endpoint.deliveries('?state=pending')
    await until(async () => (await pending()).length === 1)
    const [waiting] = await pending()
    assert.deepEqual([waiting.id, waiting.attempts], [oldId, 1], 'it was not tried')

    await endpoint.ask('POST', '/recover', { since, delivered: true })
    const last = await stage.notarize()
    await until(() => recordsHeard().includes(last.id))
    assert.equal(recordsHeard().length, 5)

    await endpoint.rests()
    await rename(`${released.directory}.away`, released.directory)
    // Makes the deliveries due, so that their pause ends.
    await endpoint.sql(
      'update tallystick.webhook_deliveries set due_at = now() where webhook_id = $1 and due_at is not null',
    )
    await endpoint.sql(GOES_ON)
    await until(
      () =>
        recordsHeard()
          .slice(5)
          .filter((id) => id === recent.id).length === 1,
    )
    await until(() => recordsHeard().slice(5).includes(old.id))
    await until(async () => (await pending()).length === 0)
  })

  await t.test('do not delay earlier events of the stream', async (t) => {
    const endpoint = await stage.subscribe(t, ERASED)
    const heard = () => endpoint.received().map(({ event }) => event.data.record.id)
    await endpoint.ask('POST', '/pause')
    const before = await stage.notarize()
    expectStatus(202, await erase(stage, ids[0]!))
    const after = await stage.notarize()
    const putBack = takeAway(t, 'away')
    await endpoint.ask('POST', '/resume')
    await endpoint.hears(1)
    await endpoint.rests()
    assert.deepEqual(heard(), [before.id])
    putBack()
    await endpoint.sql(GOES_ON)
    await endpoint.hears(3)
    assert.deepEqual(new Set(heard().slice(1)), new Set([ids[0], after.id]))
  })

  await t.test('try a hanging archive once per lease, and new events are still sent', async (t) => {
    const since = new Date().toISOString()
    const redelivered = await stage.subscribe(t, ERASED)
    for (const id of ids.slice(1)) expectStatus(202, await erase(stage, id))
    await redelivered.hears(ERASURES)
    await redelivered.rests()
    const recovered = await stage.subscribe(t, ERASED)
    const putBack = takeAway(t, 'hangs')
    for (const endpoint of [redelivered, recovered]) await endpoint.ask('POST', '/pause')
    for (const { id } of redelivered.received()) await redelivered.ask('POST', `/deliveries/${id}/redeliver`)
    await recovered.ask('POST', '/recover', { since })
    await stage.notarize()
    for (const endpoint of [redelivered, recovered]) await endpoint.ask('POST', '/resume')
    const msMax = (ERASURES - 1) * EVENT_ARCHIVE_MS_MAX
    await Promise.all([redelivered, recovered].map((endpoint) => endpoint.hears(1, 'record.recorded', msMax)))
    assert.equal(redelivered.received('payload.erased').length, ERASURES)

    putBack()
    for (const endpoint of [redelivered, recovered]) {
      await endpoint.rests()
      await endpoint.sql(
        'update tallystick.webhook_deliveries set due_at = now() where webhook_id = $1 and due_at is not null',
      )
      await endpoint.sql(GOES_ON)
    }
    await redelivered.hears(2 * ERASURES, 'payload.erased')
    await until(() => {
      const heard = recovered.received('payload.erased').map(({ event }) => event.data.record.id)
      return ids.slice(1).every((id) => heard.includes(id))
    })
  })
})
