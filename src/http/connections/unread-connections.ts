import type { Socket } from 'node:net'
import {
  REFUSALS_BURST_MS_MAX,
  REFUSALS_PER_SECOND,
  REFUSED_UNREAD_MS_MAX,
  UNREAD_CHECK_EVERY_MS,
} from '../limits.ts'

const LIMITS = {
  perSecond: REFUSALS_PER_SECOND,
  burstMsMax: REFUSALS_BURST_MS_MAX,
  unreadMsMax: REFUSED_UNREAD_MS_MAX,
}

type Unread = { readonly socket: Socket; readonly untilMs: number }

/** A refused request. `complete`: true if the whole request has arrived. */
type Refused = { readonly socket: Socket; readonly complete: boolean }

/**
 * Leaves connections unread for a while after refusals, so that refusals cannot take the CPU time of accepted requests.
 *
 * The first `perSecond` refusals of a second cause no delay. After each further refusal, the server waits before it
 * reads from that connection again. Connections are read again in the order of their refusals. A refusal asks the
 * client to retry after a second. If the client sends earlier, its bytes wait in the kernel, and TCP slows the client
 * down. There is one exception: on a connection that RefusedConnections watches, up to 64 KiB of these bytes wait in
 * the socket's buffer. Node's HTTP server stops reading a paused socket only if no other listener takes its bytes.
 */
export class UnreadConnections {
  readonly #now: () => number
  readonly #isPausedElsewhere: (socket: Socket) => boolean
  readonly #limits: typeof LIMITS
  /** Refusals in this iteration of the event loop. */
  #refused: Refused[] = []
  /** Unread connections, in the order in which they will be read again. */
  readonly #unread: Unread[] = []
  /**
   * Time up to which the refusals so far have used up the rate `perSecond`. Each refusal adds 1/`perSecond` seconds.
   */
  #paidAtMs = 0

  /** `isPausedElsewhere`: returns whether other code has paused the connection and will resume it. */
  constructor(now: () => number, isPausedElsewhere: (socket: Socket) => boolean, limits = LIMITS) {
    this.#now = now
    this.#isPausedElsewhere = isPausedElsewhere
    this.#limits = limits
  }

  add(request: Refused): void {
    if (this.#refused.push(request) === 1) setImmediate(this.#endSlice)
  }

  get count(): number {
    return this.#unread.length
  }

  /**
   * Runs at the end of an iteration of the event loop. At this time it is known for each refused request whether the
   * whole request has arrived. Until a request has arrived, its connection must be read, because some clients read no
   * answer before they have sent everything.
   */
  readonly #endSlice = (): void => {
    const refused = this.#refused
    this.#refused = []
    const nowMs = this.#now()
    const isIdle = this.#unread.length === 0
    for (const request of refused) this.#pay(request, nowMs)
    if (isIdle && this.#unread.length > 0) this.#resumeLater()
  }

  #pay({ socket, complete }: Refused, nowMs: number): void {
    const { perSecond, burstMsMax, unreadMsMax } = this.#limits
    const paidAtMs = Math.max(this.#paidAtMs, nowMs - burstMsMax) + 1_000 / perSecond
    this.#paidAtMs = Math.min(paidAtMs, nowMs + unreadMsMax)
    if (this.#paidAtMs <= nowMs || !complete || socket.destroyed) return
    socket.pause()
    this.#unread.push({ socket, untilMs: this.#paidAtMs })
  }

  #resumeLater(): void {
    setTimeout(() => {
      const nowMs = this.#now()
      const later = this.#unread.findIndex(({ untilMs }) => untilMs > nowMs)
      for (const { socket } of this.#unread.splice(0, later < 0 ? this.#unread.length : later))
        if (!this.#isPausedElsewhere(socket)) socket.resume()
      if (this.#unread.length > 0) this.#resumeLater()
    }, UNREAD_CHECK_EVERY_MS).unref()
  }
}
