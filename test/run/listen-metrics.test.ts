import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { withMetrics } from '../../src/run/listen-metrics.ts'
import type { Service } from '../../src/run/run-process.ts'

test('a process that starts lives, and is ready once it has started', async (t) => {
  const port = await findFreePort()
  const starting = Promise.withResolvers<Service>()
  const service = withMetrics({ host: '127.0.0.1', metricsPort: port }, () => starting.promise)
  t.after(async () => (await service).close())
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    await answer.arrayBuffer()
    return answer.status
  }
  await waitUntilListening(ask)
  assert.deepEqual([await ask('/livez'), await ask('/readyz'), await ask('/other')], [200, 503, 404])
  starting.resolve({ close: async () => {} })
  await service
  assert.deepEqual([await ask('/livez'), await ask('/readyz'), await ask('/metrics')], [200, 200, 200])
})

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function waitUntilListening(ask: (path: string) => Promise<number>): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const status = await ask('/livez').catch(() => null)
    if (status !== null) return
    await new Promise((done) => setTimeout(done, 10))
  }
}
