import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openHttp } from '../../../cli/mcp-proxy/http-upstream.ts'
import { until } from '../../helpers/wait.ts'

test('a server that asks for a long wait is not asked again at once', async (t) => {
  let streams = 0
  const server = createServer((request, response) => {
    if (request.method !== 'GET') return void response.writeHead(202).end()
    streams++
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`retry: ${2 ** 31}\n\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const upstream = openHttp({ url, headers: [], receive: async () => {} })
  t.after(() => upstream.stop())
  await upstream.send(Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}\n'))
  await until(() => streams > 0)
  await sleep(50)
  assert.equal(streams, 1)
})
