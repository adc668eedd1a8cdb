import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { randomFrom } from '../../bench/load/random.ts'
import type { Ends } from './tcp-proxy.ts'

/**
 * Fault of one request.
 *
 * - `drop`: the request is dropped, and its connection is closed after `ms`.
 * - `reset`: the connection is reset before the request is forwarded.
 * - `delay`: the request is delayed by `ms`.
 * - `cut`: the connection is cut after `bytes` in one direction. With 0 bytes `toClient`, the whole answer is lost.
 * - `duplicate`: the server gets the same bytes twice. The second copy comes on another connection, `before` the
 *   request or `after` its answer.
 * - `reorder`: the sender's connection is cut. The request arrives after the next request that passes, or after `ms`.
 */
export type Fault =
  | { readonly kind: 'pass' | 'reset' }
  | { readonly kind: 'drop' | 'delay' | 'reorder'; readonly ms: number }
  | { readonly kind: 'cut'; readonly direction: 'toServer' | 'toClient'; readonly bytes: number }
  | { readonly kind: 'duplicate'; readonly order: 'before' | 'after' }

export type FaultKind = Fault['kind']

/** Returns the fault of a request. `request`: number of the request at this proxy, counted from 0. */
export type FaultPlan = (request: number) => Fault

export type FaultProxy = {
  /** The target's URL with the proxy's address, without a trailing slash. */
  readonly url: string
  readonly met: Readonly<Record<FaultKind, number>>
  readonly underWay: number
  /** Forwards everything from now on, including delayed requests. */
  heal(): void
}

const KINDS: readonly FaultKind[] = ['pass', 'drop', 'reset', 'delay', 'cut', 'duplicate', 'reorder']
const PASS: Fault = { kind: 'pass' }
const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * Returns a deterministic plan: a fault depends on the seed and the request's number. `share`: part of the requests
 * that have a fault. All kinds of faults are equally frequent. `msMax`: maximum time in ms for drops, delays and
 * reorders.
 */
export function seededPlan(
  seed: number,
  { share, msMax, kinds = KINDS.slice(1) }: { share: number; msMax: number; kinds?: readonly FaultKind[] },
): FaultPlan {
  return (request) => {
    const random = randomFrom(seed * 1_000_003 + request)
    if (random.integer(1, 1_000) > share * 1_000) return PASS
    const kind = random.pick(kinds)
    if (kind === 'pass' || kind === 'reset') return { kind }
    if (kind === 'duplicate') return { kind, order: random.pick(['before', 'after']) }
    if (kind !== 'cut') return { kind, ms: random.integer(1, msMax) }
    // The connection is cut before the first byte, within the head, within the body, or after the last byte.
    const bytes = random.integer(0, random.pick([0, 300, 4_000]))
    return { kind, direction: random.pick(['toServer', 'toClient']), bytes }
  }
}

/** Starts a proxy between HTTP/1.1 clients and a server. The proxy injects the planned faults. */
export async function startFaultProxy(t: Ends, targetUrl: string, plan: FaultPlan): Promise<FaultProxy> {
  const proxy = new FaultingProxy(new URL(targetUrl), plan)
  await proxy.listen()
  t.after(() => proxy.close())
  return proxy
}

class FaultingProxy implements FaultProxy {
  readonly met: Record<FaultKind, number> = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as never
  readonly #target: URL
  readonly #sockets = new Set<Socket>()
  readonly #asking = new Set<Socket>()
  readonly #held = new Set<() => void>()
  readonly #listener = createServer((client) => this.#serve(client))
  #plan: FaultPlan
  #requests = 0
  #closed = false

  constructor(target: URL, plan: FaultPlan) {
    this.#target = target
    this.#plan = plan
  }

  get url(): string {
    const { port } = this.#listener.address() as AddressInfo
    return Object.assign(new URL(this.#target), { port }).href.replace(/\/$/, '')
  }

  get underWay(): number {
    return this.#asking.size
  }

  async listen(): Promise<void> {
    this.#listener.listen(0, '127.0.0.1')
    await once(this.#listener, 'listening')
  }

  heal(): void {
    this.#plan = () => PASS
    this.#release()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#listener.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#release()
    if (this.#listener.listening) await once(this.#listener, 'close')
  }

  #release(): void {
    for (const release of this.#held) release()
  }

  /** Serves one client, whose requests must come one at a time, because the proxy does not support pipelining. */
  #serve(client: Socket): void {
    this.#keep(client)
    const server = this.#connect()
    server.on('close', () => client.end())
    client.on('close', () => {
      this.#asking.delete(client)
      server.destroy()
    })
    const answers = { left: Number.POSITIVE_INFINITY }
    server.on('data', (chunk) => {
      this.#asking.delete(client)
      const passed = chunk.subarray(0, answers.left)
      answers.left -= passed.length
      // The reset waits until the bytes are flushed. Otherwise it would overtake the bytes that were just written.
      client.write(passed, () => {
        if (answers.left <= 0) reset(client, server)
      })
    })
    let waiting = Buffer.alloc(0)
    client.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk])
      for (let bytes = requestBytes(waiting); bytes !== null; bytes = requestBytes(waiting)) {
        const request = waiting.subarray(0, bytes)
        waiting = waiting.subarray(bytes)
        this.#handle(request, { client, server, answers }).catch(() => reset(client, server))
      }
    })
  }

  async #handle(
    request: Buffer,
    { client, server, answers }: { client: Socket; server: Socket; answers: { left: number } },
  ): Promise<void> {
    const fault = this.#plan(this.#requests++)
    this.met[fault.kind]++
    this.#asking.add(client)
    answers.left = Number.POSITIVE_INFINITY
    switch (fault.kind) {
      case 'drop':
        return void later(fault.ms, () => reset(client, server))
      case 'reset':
        return reset(client, server)
      case 'reorder':
        this.#hold(request, fault.ms)
        return reset(client, server)
      case 'cut':
        if (fault.direction === 'toClient') answers.left = fault.bytes
        return void server.write(
          fault.direction === 'toServer' ? request.subarray(0, fault.bytes) : request,
          () => fault.direction === 'toServer' && later(1, () => reset(client, server)),
        )
      case 'delay':
        return void later(fault.ms, () => server.write(request))
      case 'duplicate':
        if (fault.order === 'before') await this.#deliver(request)
        else server.once('data', () => void this.#deliver(request))
        return void server.write(request)
      default:
        server.write(request)
        server.once('data', () => this.#release())
    }
  }

  /** Delays the request until the next request is answered, or for `ms`. */
  #hold(request: Buffer, ms: number): void {
    const release = () => {
      clearTimeout(timer)
      if (this.#held.delete(release) && !this.#closed) void this.#deliver(request)
    }
    const timer = setTimeout(release, ms)
    this.#held.add(release)
  }

  /** Delivers the request on a separate connection and discards the answer. Resolves when the answer begins. */
  async #deliver(request: Buffer): Promise<void> {
    const server = this.#connect()
    server.write(request)
    await Promise.race([once(server, 'data'), once(server, 'close')]).catch(() => {})
    server.end()
  }

  #connect(): Socket {
    const { port, hostname } = this.#target
    return this.#keep(connect({ port: Number(port), host: hostname }))
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket)
    // An error means that the other side was killed or reset the connection.
    socket.on('error', () => {})
    return socket.on('close', () => this.#sockets.delete(socket))
  }
}

function reset(...sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.resetAndDestroy()
}

function later(ms: number, act: () => void): void {
  setTimeout(act, ms).unref()
}

/**
 * Returns the length of the first request in `bytes`, including its body. Returns null if the request is incomplete.
 */
function requestBytes(bytes: Buffer): number | null {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return null
  const head = bytes.toString('latin1', 0, end)
  if (/^transfer-encoding:/im.test(head)) throw new Error('a body of unknown length')
  const length = /^content-length: *(\d+)/im.exec(head)?.[1] ?? '0'
  const size = end + HEAD_END.length + Number(length)
  return size <= bytes.length ? size : null
}
