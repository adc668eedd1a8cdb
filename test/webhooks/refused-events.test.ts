import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildStage } from '../helpers/webhook-stage.ts'

test('endpoints that refuse some events', async (t) => {
  const stage = await buildStage(t)

  await t.test('one that refuses one kind of event goes on hearing of the others', async (t) => {
    const endpoint = await stage.subscribe(t, {}, ({ event }, response) => {
      response.writeHead(event.type === 'record.created' ? 500 : 204).end()
    })
    for (let i = 0; i < 12; i++) await stage.create()
    await sleep(20_000)
    for (let i = 0; i < 5; i++) await stage.notarize()
    await endpoint.hears(5, 'record.recorded', 15_000)
  })
})
