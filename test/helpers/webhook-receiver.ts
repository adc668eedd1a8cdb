import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ReceivedWebhook = {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
  readonly event: any
  readonly atMs: number
}

type Answer = (received: ReceivedWebhook, response: ServerResponse) => void

/**
 * Starts a receiver on loopback that stores all requests in order of arrival. `answer`: answers a request; by default
 * with 204.
 */
export async function startReceiver(answer: Answer = (_, response) => response.writeHead(204).end()) {
  const received: ReceivedWebhook[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const one = {
        id: String(request.headers['webhook-id']),
        headers: request.headers,
        body,
        event: JSON.parse(body),
        atMs: Date.now(),
      }
      received.push(one)
      receiver.answer(one, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    /** A test may replace this function. All later requests then get other answers. */
    answer,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
  return receiver
}
