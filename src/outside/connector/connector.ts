import type { Allowances } from './allowances.ts'
import { checkOutboundUrl, type Target, type UrlRefusal } from './check-url.ts'
import { Connection } from './connection.ts'
import { OutboundError, type OutboundErrorCode } from './error.ts'
import { Exchange, type OutboundAnswer } from './exchange.ts'
import { KeptConnections } from './kept-connections.ts'
import { OUTBOUND_IDLE_MS_MAX, OUTBOUND_REQUEST_MS_MAX } from './limits.ts'
import { makeResolveName, type ResolveName } from './resolve-name.ts'

export type OutboundRequest = {
  readonly url: string
  /** Our headers, without `host` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
  readonly signal: AbortSignal
  /** Bytes of the answer that the caller takes; absent: an excerpt is enough. */
  readonly answerBytesMax?: number
  /** Asked before a piece of such an answer is kept; false: there is no room, and the request is given up. */
  readonly takeMemory?: (bytes: number) => boolean
}

/**
 * The one way to an address that a tenant or a peer has named. It MUST be assumed that both the address and the host that
 * answers there mean harm: to reach what only we can reach, to hold what we have little of, or to read it in an answer.
 *
 * It holds no queue: a caller MUST bound how many posts are under way, in all and for each tenant. One that hangs takes
 * a socket and 27 KiB, with TLS 100 KiB, until its deadline.
 *
 * A post costs 42 µs of CPU (loopback, 1 kB, 32 at a time; with an agent of `node:http` 108 µs), one that has to connect
 * first 420 µs. After 100,000 origins were called once each, nothing is left but the connections that are kept.
 */
export class Connector {
  readonly #allowances: Allowances
  readonly #resolveName: ResolveName
  readonly #now: () => number
  readonly #idleMsMax: number
  readonly #kept = new KeptConnections()
  readonly #open = new Set<Connection>()
  #closed = false

  constructor({
    allowances,
    resolveName = makeResolveName(),
    now = Date.now,
    idleMsMax = OUTBOUND_IDLE_MS_MAX,
  }: {
    readonly allowances: Allowances
    readonly resolveName?: ResolveName
    /** Time that dates in answers are compared with. */
    readonly now?: () => number
    readonly idleMsMax?: number
  }) {
    this.#allowances = allowances
    this.#resolveName = resolveName
    this.#now = now
    this.#idleMsMax = idleMsMax
  }

  /**
   * Resolves with any answer that has a status; throws an OutboundError where there is none. After a `timeout`,
   * `reset`, `aborted` or `malformed_answer` the peer may have done what the request asks.
   *
   * It may send the request twice: where a kept connection ends before any byte of an answer, the peer had most likely
   * closed it while it was idle.
   */
  async post(request: OutboundRequest): Promise<OutboundAnswer> {
    const target = checkOutboundUrl(request.url, this.#allowances)
    if (!target.ok) throw new OutboundError(codeOf(target.reason), target.detail)
    const startedAtMs = performance.now()
    const kept = this.#kept.take(target.url.origin)
    if (kept !== null) {
      const exchange = this.#exchange(kept, target, request, startedAtMs)
      try {
        return await exchange.run()
      } catch (error) {
        const stale = error instanceof OutboundError && error.code === 'reset' && !exchange.begun
        if (!stale) throw error
      }
    }
    return await this.#exchange(this.#connect(target), target, request, startedAtMs).run()
  }

  /** Those that are kept for a next post, and those that one has. */
  get connections(): { readonly idle: number; readonly used: number } {
    return { idle: this.#kept.size, used: this.#open.size - this.#kept.size }
  }

  /** Cuts all connections: posts under way fail with `aborted`, and so does each later one. */
  close(): void {
    this.#closed = true
    for (const connection of this.#open) this.#destroy(connection)
  }

  #exchange(
    connection: Connection,
    { url }: Target,
    request: OutboundRequest,
    startedAtMs: number,
  ): Exchange {
    return new Exchange({
      connection,
      request: {
        method: 'POST',
        path: url.pathname + url.search,
        headers: request.headers,
        body: request.body,
      },
      now: this.#now,
      startedAtMs,
      deadlineMs: startedAtMs + OUTBOUND_REQUEST_MS_MAX,
      signal: request.signal,
      answerBytesMax: request.answerBytesMax ?? 0,
      takeMemory: request.takeMemory ?? (() => true),
      release: (reusable) => {
        const done = reusable ? this.#kept.keep(connection) : connection
        if (done !== null) this.#destroy(done)
      },
    })
  }

  #connect({ url, allowedOnly }: Target): Connection {
    if (this.#closed) throw new OutboundError('aborted')
    const connection = new Connection(
      { url, allowedOnly, allowances: this.#allowances, resolveName: this.#resolveName },
      this.#idleMsMax,
    )
    this.#open.add(connection)
    connection.onClosed(() => {
      // A connection that is not kept has an exchange under way, which hears of it too.
      if (this.#kept.drop(connection)) this.#destroy(connection)
    })
    return connection
  }

  #destroy(connection: Connection): void {
    this.#open.delete(connection)
    connection.destroy()
  }
}

function codeOf(reason: UrlRefusal): OutboundErrorCode {
  if (reason === 'address') return 'address_refused'
  return reason === 'insecure' ? 'insecure' : 'url_refused'
}
