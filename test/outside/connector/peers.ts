import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { parseAllowances } from '../../../src/outside/connector/allowances.ts'
import { Connector, type OutboundRequest } from '../../../src/outside/connector/connector.ts'
import type { ResolveName } from '../../../src/outside/connector/resolve-name.ts'

export const LOOPBACK = parseAllowances('127.0.0.0/8,::1')

/**
 * Timeout in ms for `waitFor`, whose default of one second is too short on a busy machine. The timeout is shorter than
 * OUTBOUND_IDLE_MS_MAX. So a connection that closes before the timeout was not closed for being idle.
 */
export const PATIENT = { timeout: 3_500 }

export type Peer = {
  readonly url: string
  readonly port: number
  readonly connections: number
  readonly open: ReadonlySet<Socket>
}

/** Starts a peer that sends raw bytes. `onRequest` is called with each chunk that arrives. */
export async function startBytePeer(
  t: TestContext,
  onRequest: (socket: Socket, chunk: Buffer) => void,
  host = '127.0.0.1',
): Promise<Peer> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('data', (chunk) => onRequest(socket, chunk))
  })
  return await listen(t, server, host)
}

export async function startHttpPeer(
  t: TestContext,
  onRequest: RequestListener,
  host = '127.0.0.1',
): Promise<Peer> {
  // The server announces no keep-alive time, so that the connector's own time applies.
  return await listen(t, createHttpServer({ keepAliveTimeout: 0 }, onRequest), host)
}

export async function listen(t: TestContext, server: Server, host: string, wantedPort = 0): Promise<Peer> {
  const open = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket) => {
    connections++
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  server.listen(wantedPort, host)
  await once(server, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    open,
    get connections() {
      return connections
    },
  }
}

/** Makes a connector that may post to this machine. */
export function startConnector(
  t: TestContext,
  resolveName?: ResolveName,
  options: { readonly idleMsMax?: number } = {},
): Connector {
  const connector = new Connector({ allowances: LOOPBACK, ...(resolveName && { resolveName }), ...options })
  t.after(() => connector.close())
  return connector
}

export function request(url: string, changes: Partial<OutboundRequest> = {}): OutboundRequest {
  return {
    url,
    headers: { 'content-type': 'application/json' },
    body: '{}',
    signal: new AbortController().signal,
    ...changes,
  }
}

export function resolver(names: Readonly<Record<string, readonly string[]>>): ResolveName {
  return async (name) => {
    const ips = names[name]
    if (!ips) throw new Error('ENOTFOUND')
    return ips.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}
