import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ends } from './tcp-proxy.ts'

/**
 * Fault of a request. `lose`: a write is answered but not executed. `change`: one bit in the body of the answer is
 * flipped.
 */
export type HttpFault = 'refuse' | 'cut' | 'slow' | 'lose' | 'change'

export type HttpFaults = {
  readonly url: string
  choose: (method: string, path: string) => HttpFault | null
  /** Maps a method to the number of all requests, with or without a fault. */
  readonly requests: Map<string, number>
}

const SLOW_MS = 300

/**
 * Starts an HTTP proxy that injects faults. The proxy does not change a request's header `Host`, because it is signed.
 */
export async function startHttpFaults(t: Ends, target: string): Promise<HttpFaults> {
  const requests = new Map<string, number>()
  const server = createServer((asked, answer) => {
    const { method = 'GET', url = '/' } = asked
    requests.set(method, (requests.get(method) ?? 0) + 1)
    handle(new URL(url, target), faults.choose(method, url), asked, answer).catch(() => answer.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  const faults: HttpFaults = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    choose: () => null,
    requests,
  }
  return faults
}

async function handle(
  url: URL,
  fault: HttpFault | null,
  asked: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  if (fault === 'cut') return void asked.socket.destroy()
  const body = Buffer.concat(await asked.toArray())
  if (fault === 'refuse') return void answer.writeHead(503).end()
  if (fault === 'lose') return void answer.writeHead(200, { etag: '"lost"' }).end()
  if (fault === 'slow') await sleep(SLOW_MS)
  const passed = request(url, { method: asked.method, headers: asked.headers })
  passed.end(body)
  const [got] = (await once(passed, 'response')) as [IncomingMessage]
  const bytes = Buffer.concat(await got.toArray())
  if (fault === 'change' && bytes.length > 0) bytes[bytes.length >> 1]! ^= 1
  answer.writeHead(got.statusCode!, got.headers).end(bytes)
}
