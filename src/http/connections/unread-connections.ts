import type { Socket } from 'node:net'
import {
  REFUSALS_BURST_MS_MAX,
  REFUSALS_PER_SECOND,
  REFUSED_UNREAD_MS_MAX,
  UNREAD_LOOK_EVERY_MS,
} from '../limits.ts'

/** The named limits, unless a test has others. */
const LIMITS = {
  perSecond: REFUSALS_PER_SECOND,
  burstMsMax: REFUSALS_BURST_MS_MAX,
  unreadMsMax: REFUSED_UNREAD_MS_MAX,
}

type Unread = { readonly socket: Socket; readonly untilMs: number }

/** A request that was refused; `complete`: all of it has arrived. */
type Refused = { readonly socket: Socket; readonly complete: boolean }

/**
 * Connections that are left unread for a while, because something was refused on them. So many refusals a second are free; beyond them a
 * connection is read again when its refusal is paid for, in its turn. Its client was told to come back in a second: one that sends at
 * once waits in the kernel, and TCP holds it back. So refusing can't take the time of those who were let in.
 */
export class UnreadConnections {
  readonly #now: () => number
  readonly #isHeld: (socket: Socket) => boolean
  readonly #limits: typeof LIMITS
  /** Refusals of this turn. */
  #refused: Refused[] = []
  /** The one that is read again first comes first. */
  readonly #unread: Unread[] = []
  /** When all refusals so far are paid for. */
  #paidAtMs = 0

  /** `isHeld`: whether somebody else keeps it unread, and will have it read again. */
  constructor(now: () => number, isHeld: (socket: Socket) => boolean, limits = LIMITS) {
    this.#now = now
    this.#isHeld = isHeld
    this.#limits = limits
  }

  /** Counts a refusal. */
  add(request: Refused): void {
    if (this.#refused.push(request) === 1) setImmediate(this.#endTurn)
  }

  /** Connections that are not read. */
  get count(): number {
    return this.#unread.length
  }

  /** Now it is known whether each has arrived whole: a client that is still sending may read nothing until it has done so. */
  readonly #endTurn = (): void => {
    const refused = this.#refused
    this.#refused = []
    const nowMs = this.#now()
    const isIdle = this.#unread.length === 0
    for (const request of refused) this.#pay(request, nowMs)
    if (isIdle && this.#unread.length > 0) this.#lookLater()
  }

  #pay({ socket, complete }: Refused, nowMs: number): void {
    const { perSecond, burstMsMax, unreadMsMax } = this.#limits
    const paidAtMs = Math.max(this.#paidAtMs, nowMs - burstMsMax) + 1_000 / perSecond
    this.#paidAtMs = Math.min(paidAtMs, nowMs + unreadMsMax)
    if (this.#paidAtMs <= nowMs || !complete || socket.destroyed) return
    socket.pause()
    this.#unread.push({ socket, untilMs: this.#paidAtMs })
  }

  #lookLater(): void {
    setTimeout(() => {
      const nowMs = this.#now()
      const later = this.#unread.findIndex(({ untilMs }) => untilMs > nowMs)
      for (const { socket } of this.#unread.splice(0, later < 0 ? this.#unread.length : later))
        if (!this.#isHeld(socket)) socket.resume()
      if (this.#unread.length > 0) this.#lookLater()
    }, UNREAD_LOOK_EVERY_MS).unref()
  }
}
