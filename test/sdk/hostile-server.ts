import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { inspect } from 'node:util'
import { Tallystick } from '../../sdk/client.ts'
import type { TallystickError } from '../../sdk/errors.ts'
import type { TransportOptions } from '../../sdk/http/transport.ts'
import { QUICK_RETRIES } from './quick-retries.ts'

export const API_KEY = 'tly_hostile0secret'

export type Hostile = {
  readonly baseUrl: string
  /** Complete requests that have arrived so far. */
  readonly requests: {
    readonly method: string
    readonly url: string
    readonly headers: IncomingMessage['headers']
  }[]
  client(options?: Partial<TransportOptions>): Tallystick
}

type Answer = (response: ServerResponse, attempt: number) => void

export async function startHostile(t: TestContext, answer: Answer): Promise<Hostile> {
  const requests: Hostile['requests'] = []
  const server = createServer((request, response) => {
    response.on('error', () => {})
    request.resume().on('end', () => {
      requests.push({ method: request.method!, url: request.url!, headers: request.headers })
      answer(response, requests.length)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
  })
  return { requests, ...clientsOf((server.address() as AddressInfo).port) }
}

/** Starts a server like `startHostile`, but the test writes the bytes itself. `sockets` are the open connections. */
export async function startRaw(
  t: TestContext,
  connected: (socket: Socket) => void,
): Promise<Pick<Hostile, 'baseUrl' | 'client'> & { readonly sockets: Set<Socket> }> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    connected(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((closed) => server.close(closed))
  })
  return { sockets, ...clientsOf((server.address() as AddressInfo).port) }
}

export function clientsOf(port: number): Pick<Hostile, 'baseUrl' | 'client'> {
  const baseUrl = `http://127.0.0.1:${port}`
  return {
    baseUrl,
    client: (options) =>
      new Tallystick({ baseUrl, apiKey: API_KEY, timeoutMs: 5_000, retries: QUICK_RETRIES, ...options }),
  }
}

export function sendProblem(
  response: ServerResponse,
  status: number,
  code: string,
  { headers = {}, ...members }: { headers?: Record<string, string>; [member: string]: unknown } = {},
): void {
  const problem = {
    type: `https://tallystick.dev/errors/${code}`,
    title: 'The title',
    status,
    detail: 'the detail',
    code,
    requestId: `req_${'0'.repeat(32)}`,
    retryable: status === 503 || status === 429,
    ...members,
  }
  response
    .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
    .end(JSON.stringify(problem))
}

export function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value))
}

/** Returns the error of the call. Asserts that the error is of this library, matches `says` and contains no API key. */
export async function failureOf<Kind extends TallystickError>(
  call: Promise<unknown>,
  Kind: abstract new (...args: never[]) => Kind,
  says: RegExp,
): Promise<Kind> {
  const error = await call.then(
    () => assert.fail('it should fail'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Kind, inspect(error))
  assert.match(error.message, says)
  assert.ok(!inspect(error, { depth: 10, showHidden: true }).includes(API_KEY), 'an error shows the API key')
  return error
}
