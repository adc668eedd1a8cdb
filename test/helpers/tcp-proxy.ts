import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type TcpProxy = {
  readonly url: string
  cut(): void
  /** Forwards this many more bytes, counted over all connections together. Then cuts all connections. */
  cutAfter(bytes: { readonly toServer: number } | { readonly toClient: number }): void
  /** Buffers the server's answers until `resume`. */
  hold(): void
  resume(): void
  /** Silently stops all traffic on open connections, in both directions. New connections work. */
  strand(): void
  /** Works like `strand`, but new connections get no traffic either until `accept` is called. */
  isolate(): void
  refuse(): void
  accept(): void
  leadTo(targetUrl: string): void
  readonly connections: number
  readonly toServerBytes: number
  readonly toClientBytes: number
}

export type Ends = { after(cleanup: () => Promise<void>): void }

type Direction = 'toServer' | 'toClient'
type Pair = { readonly client: Socket; readonly server: Socket; held: Buffer[]; isStranded: boolean }

/** Starts a proxy between a client and a server. The proxy simulates network failures. */
export async function startTcpProxy(t: Ends, targetUrl: string): Promise<TcpProxy> {
  const proxy = new CuttingProxy(targetUrl)
  await proxy.listen()
  t.after(() => proxy.close())
  return proxy
}

class CuttingProxy implements TcpProxy {
  #target: URL
  readonly #pairs = new Set<Pair>()
  readonly #listener = createServer({ allowHalfOpen: false }, (client) => this.#forward(client))
  readonly #bytes = { toServer: 0, toClient: 0 }
  readonly #left = { toServer: Number.POSITIVE_INFINITY, toClient: Number.POSITIVE_INFINITY }
  #holding = false
  #refusing = false
  #isolating = false

  constructor(targetUrl: string) {
    this.#target = new URL(targetUrl)
  }

  async listen(): Promise<void> {
    this.#listener.listen(0, '127.0.0.1')
    await once(this.#listener, 'listening')
  }

  async close(): Promise<void> {
    this.cut()
    this.#listener.close()
    await once(this.#listener, 'close')
  }

  get url(): string {
    const url = new URL(this.#target)
    url.port = `${(this.#listener.address() as AddressInfo).port}`
    return url.href
  }

  get connections(): number {
    return this.#pairs.size
  }

  get toServerBytes(): number {
    return this.#bytes.toServer
  }

  get toClientBytes(): number {
    return this.#bytes.toClient
  }

  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy()
      server.resetAndDestroy()
    }
    this.#pairs.clear()
    this.#left.toServer = this.#left.toClient = Number.POSITIVE_INFINITY
  }

  cutAfter(bytes: { readonly toServer: number } | { readonly toClient: number }): void {
    Object.assign(this.#left, bytes)
    if (Math.min(this.#left.toServer, this.#left.toClient) <= 0) this.cut()
  }

  hold(): void {
    this.#holding = true
  }

  resume(): void {
    this.#holding = false
    for (const pair of this.#pairs) {
      for (const chunk of pair.held.splice(0)) this.#pass(pair, 'toClient', chunk)
    }
  }

  strand(): void {
    for (const pair of this.#pairs) pair.isStranded = true
  }

  isolate(): void {
    this.#isolating = true
    this.strand()
  }

  refuse(): void {
    this.#refusing = true
    this.cut()
  }

  accept(): void {
    this.#refusing = false
    if (!this.#isolating) return
    this.#isolating = false
    this.cut()
  }

  leadTo(targetUrl: string): void {
    this.#target = new URL(targetUrl)
  }

  #forward(client: Socket): void {
    client.on('error', () => {})
    if (this.#refusing) return void client.resetAndDestroy()
    const server = connect(Number(this.#target.port), this.#target.hostname)
    const pair: Pair = { client, server, held: [], isStranded: this.#isolating }
    this.#pairs.add(pair)
    server.on('error', () => {})
    client.on('data', (chunk) => this.#pass(pair, 'toServer', chunk))
    server.on('data', (chunk) => {
      if (this.#holding) pair.held.push(chunk)
      else this.#pass(pair, 'toClient', chunk)
    })
    client.on('close', () => {
      server.destroy()
      this.#pairs.delete(pair)
    })
    server.on('close', () => {
      if (!pair.isStranded) client.end()
    })
  }

  #pass(pair: Pair, direction: Direction, chunk: Buffer): void {
    if (!this.#pairs.has(pair) || pair.isStranded) return
    const passed = chunk.subarray(0, this.#left[direction])
    this.#left[direction] -= passed.length
    this.#bytes[direction] += passed.length
    const socket = direction === 'toServer' ? pair.server : pair.client
    // The reset waits until the bytes are flushed. Otherwise it would overtake the bytes that were just written.
    const last = this.#left[direction] <= 0
    socket.write(passed, () => {
      if (last) setImmediate(() => this.cut())
    })
  }
}
