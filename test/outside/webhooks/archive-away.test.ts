import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { test } from 'node:test'
import { openReleased } from '../../helpers/released-app.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage } from '../../helpers/webhook-stage.ts'

test('deliveries whose events lie in an archive that is away', async (t) => {
  const root = temporaryFiles({ after: (cleanup) => t.after(async () => cleanup()) }).directory
  const stage = await buildStage(t, { environment: { TALLYSTICK_ARCHIVE: `file://${root}` } })
  const released = await openReleased(t, stage, root)

  await t.test('wait until it is back, and nothing else waits for them', async (t) => {
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

    await rename(`${released.directory}.away`, released.directory)
    // Its pause is over.
    await endpoint.sql(
      'update tallystick.webhook_deliveries set due_at = now() where webhook_id = $1 and due_at is not null',
    )
    await endpoint.sql('update tallystick.webhook_cursors set due_at = now() where webhook_id = $1')
    await until(
      () =>
        recordsHeard()
          .slice(5)
          .filter((id) => id === recent.id).length === 1,
    )
    await until(() => recordsHeard().slice(5).includes(old.id))
    await until(async () => (await pending()).length === 0)
  })
})
