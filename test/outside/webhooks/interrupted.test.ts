import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WEBHOOK_STOP_MS_MAX } from '../../../src/outside/webhooks/limits.ts'
import { genericBody } from '../../helpers/app.ts'
import { startTcpProxy } from '../../helpers/tcp-proxy.ts'
import { until } from '../../helpers/wait.ts'
import { buildStage, type Endpoint } from '../../helpers/webhook-stage.ts'

const RECORDED = { events: ['record.recorded'] }
const AWAY_MS = 2_000

test('a delivery interrupted', async (t) => {
  let proxy: Awaited<ReturnType<typeof startTcpProxy>> | undefined
  let answerMs = 0
  const slowly = (_: unknown, response: ServerResponse) =>
    void setTimeout(() => response.writeHead(204).end(), answerMs)
  const stage = await buildStage(t, {
    workerUrl: async (url) => {
      proxy = await startTcpProxy(t, url)
      return proxy.url
    },
  })
  const notarizeMany = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, n) => stage.notarize(genericBody({ n }))))
  const distinct = (endpoint: Endpoint) => new Set(endpoint.received().map(({ id }) => id)).size

  await t.test(
    'by the end of a worker continues in the next, and repeats no answered delivery',
    async (t) => {
      // Only the first eight requests are answered. The others stay open, so that the worker sends no further request
      // before it stops.
      const waiting: ServerResponse[] = []
      const endpoint = await stage.subscribe(t, RECORDED, (_, response) => {
        if (endpoint.received().length <= 8) response.writeHead(204).end()
        else waiting.push(response)
      })
      await endpoint.ask('POST', '/pause')
      await notarizeMany(60)
      await endpoint.ask('POST', '/resume')
      await endpoint.hears(9)
      const closed = stage.worker.end('SIGTERM')
      await sleep(WEBHOOK_STOP_MS_MAX / 2)
      endpoint.receiver.answer = slowly
      for (const response of waiting) response.writeHead(204).end()
      await closed
      const heard = endpoint.received().length
      await sleep(300)
      assert.equal(endpoint.received().length, heard)
      assert.ok(heard < 60)
      answerMs = 20
      await stage.restartWorker()
      await endpoint.hears(60)
      assert.deepEqual([distinct(endpoint), endpoint.received().length], [60, 60])
    },
  )

  await t.test('by an outage of the database continues when it is back, and loses no event', async (t) => {
    const endpoint = await stage.subscribe(t, RECORDED, slowly)
    answerMs = 100
    await notarizeMany(60)
    await endpoint.hears(8)
    proxy!.refuse()
    await sleep(AWAY_MS)
    proxy!.accept()
    // The deliveries continue once the lease of the interrupted worker has ended.
    await until(() => distinct(endpoint) === 60)
    assert.ok(endpoint.received().length < 120, `${endpoint.received().length} requests`)
  })
})
