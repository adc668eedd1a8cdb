import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { withMetrics } from '../../src/run/listen-metrics.ts'
import type { Service } from '../../src/run/run-process.ts'

test('a starting process is live, and becomes ready once it has started', async (t) => {
  const port = await findFreePort()
  const starting = Promise.withResolvers<Service>()
  const service = withMetrics({ host: '127.0.0.1', metricsPort: port }, () => starting.promise)
  t.after(async () => (await service).close())
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    const text = await answer.text()
    if (method !== 'GET') assert.equal(text, '')
    return answer.status
  }
  await waitUntilListening(ask)
  assert.deepEqual([await ask('/livez'), await ask('/readyz'), await ask('/other')], [200, 503, 404])
  assert.deepEqual([await ask('/readyz?verbose', 'HEAD'), await ask('/readyz', 'OPTIONS')], [503, 503])
  starting.resolve({ close: async () => {} })
  await service
  assert.deepEqual([await ask('/livez'), await ask('/readyz'), await ask('/metrics')], [200, 200, 200])
  for (const path of ['/livez', '/readyz?verbose', '/metrics?x=1&y']) {
    assert.deepEqual([await ask(path), await ask(path, 'HEAD'), await ask(path, 'OPTIONS')], [200, 200, 204])
    assert.equal(await ask(path, 'POST'), 405)
  }
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
