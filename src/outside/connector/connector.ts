import type { Allowances } from './allowances.ts'
import { checkOutboundUrl, type Target, type UrlRefusal } from './check-url.ts'
import { Connection } from './connection.ts'
import { OutboundError, type OutboundErrorCode } from './error.ts'
import { Exchange, type OutboundAnswer } from './exchange.ts'
import { IdleConnections } from './idle-connections.ts'
import { OUTBOUND_IDLE_MS_MAX, OUTBOUND_REQUEST_MS_MAX } from './limits.ts'
import { makeResolveName, type ResolveName } from './resolve-name.ts'

export type OutboundRequest = {
  readonly url: string
  /** Headers to send, without `host` and `content-length`. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | string
  readonly signal: AbortSignal
  /** Maximum size in bytes of the answer's body that the caller reads. Absent: an excerpt is enough. */
  readonly answerBytesMax?: number
  /** Called before each chunk of a body is stored. Returns false if no memory is left; the request is then aborted. */
  readonly takeMemory?: (bytes: number) => boolean
}

/**
 * Sends requests to addresses that a tenant or a peer has named. No other code may send such requests.
 *
 * Assume that the address and its host are hostile: they try to reach what only we can reach, to use up our
 * resources, or to read internal data from an answer.
 *
 * There is no queue: a caller MUST bound its posts under way, in total and for each tenant. A post that hangs takes a
 * socket and 27 KiB (100 KiB with TLS) until its deadline.
 *
 * A post on an open connection costs 42 µs of CPU (loopback, 1 kB, 32 at a time). With an agent of `node:http` it
 * costs 108 µs. A post that has to connect first costs 420 µs. After one call to each of 100,000 origins, only the
 * idle connections remain in memory.
 */
export class Connector {
  readonly #allowances: Allowances
  readonly #resolveName: ResolveName
  readonly #now: () => number
  readonly #idleMsMax: number
  readonly #idle = new IdleConnections()
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
    /** The clock with which the Date headers of answers are compared. */
    readonly now?: () => number
    readonly idleMsMax?: number
  }) {
    this.#allowances = allowances
    this.#resolveName = resolveName
    this.#now = now
    this.#idleMsMax = idleMsMax
  }

  /**
   * Sends a request and returns any answer that has a status. Throws an OutboundError if there is none.
   *
   * After `timeout`, `reset`, `aborted` or `malformed_answer` the peer may have done what the request asks. The
   * request may be sent twice: if a reused connection ends before any byte of an answer, the peer most likely closed
   * it while it was idle.
   */
  async post(request: OutboundRequest): Promise<OutboundAnswer> {
    const target = checkOutboundUrl(request.url, this.#allowances)
    if (!target.ok) throw new OutboundError(codeOf(target.reason), target.detail)
    const startedAtMs = performance.now()
    const idle = this.#idle.take(target.url.origin)
    if (idle !== null) {
      const exchange = this.#exchange(idle, target, request, startedAtMs)
      try {
        return await exchange.run()
      } catch (error) {
        const stale = error instanceof OutboundError && error.code === 'reset' && !exchange.hasAnswerBegun
        if (!stale) throw error
      }
    }
    return await this.#exchange(this.#connect(target), target, request, startedAtMs).run()
  }

  /** Counts open connections: idle ones, and ones with a post under way. */
  get connections(): { readonly idle: number; readonly used: number } {
    return { idle: this.#idle.size, used: this.#open.size - this.#idle.size }
  }

  /** Cuts all connections. Posts under way fail with `aborted`, and so do later ones. */
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
        const done = reusable ? this.#idle.add(connection) : connection
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
      // Only idle connections are removed here. Any other has an exchange under way, which gets the error and
      // releases it.
      if (this.#idle.remove(connection)) this.#destroy(connection)
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
