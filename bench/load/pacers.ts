import { performance } from 'node:perf_hooks'
import type { LoadConnection } from './connection.ts'

/**
 * Decides when the next request is sent, and on which connection. All times are milliseconds of `performance.now()`.
 */
export type Pacer = {
  start(send: Send, connections: readonly LoadConnection[]): void
  /** Called when a request on the connection was answered, or when a lost connection is open again. */
  onFree(connection: LoadConnection): void
  onLost(connection: LoadConnection): void
  resetCounts(): void
  /** Ends the schedule: no more requests become due. Requests that are due already are still sent. */
  stop(): void
  readonly stopped: boolean
  readonly offered: number
  readonly dropped: number
  readonly backlog: number
  readonly backlogHighest: number
}

type Send = (connection: LoadConnection, dueAt: number) => void

/**
 * Interval in ms at which the clock is checked. Node's timers cannot be shorter. Under load, each answer also causes a
 * check.
 */
const TICK_MS = 1

export function makeClosedLoop(): Pacer {
  let send: Send = () => {}
  let stopped = false
  let offered = 0
  const next = (connection: LoadConnection) => {
    if (stopped) return
    offered++
    send(connection, performance.now())
  }
  return {
    start(given, connections) {
      send = given
      for (const connection of connections) next(connection)
    },
    onFree: next,
    onLost() {},
    resetCounts() {
      offered = 0
    },
    stop() {
      stopped = true
    },
    get stopped() {
      return stopped
    },
    get offered() {
      return offered
    },
    dropped: 0,
    backlog: 0,
    backlogHighest: 0,
  }
}

/** Makes a pacer with a constant rate: request n is due at n / rate, however the server behaves. */
export function makeArrivals(options: { perSecond: number; backlogMax: number }): Pacer {
  const intervalMs = 1000 / options.perSecond
  const backlog = new DueTimes(options.backlogMax)
  const free: LoadConnection[] = []
  let send: Send = () => {}
  let timer: NodeJS.Timeout | null = null
  let startedAt = 0
  let made = 0
  let offered = 0
  let dropped = 0
  let highest = 0

  const makeDue = () => {
    const due = Math.floor((performance.now() - startedAt) / intervalMs) + 1
    for (; made < due; made++) {
      const dueAt = startedAt + made * intervalMs
      offered++
      const connection = free.pop()
      if (connection) send(connection, dueAt)
      else if (!backlog.push(dueAt)) dropped++
    }
    if (backlog.size > highest) highest = backlog.size
  }
  return {
    start(given, connections) {
      send = given
      free.push(...connections)
      startedAt = performance.now()
      timer = setInterval(makeDue, TICK_MS)
    },
    onFree(connection) {
      if (timer !== null) makeDue()
      if (backlog.size > 0) send(connection, backlog.shift())
      else free.push(connection)
    },
    onLost(connection) {
      const at = free.indexOf(connection)
      if (at >= 0) free.splice(at, 1)
    },
    resetCounts() {
      offered = 0
      dropped = 0
      highest = 0
    },
    stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
    get stopped() {
      return timer === null
    },
    get offered() {
      return offered
    },
    get dropped() {
      return dropped
    },
    get backlog() {
      return backlog.size
    },
    get backlogHighest() {
      return highest
    },
  }
}

/** A bounded first-in-first-out ring buffer. */
class DueTimes {
  readonly #times: Float64Array
  #first = 0
  size = 0

  constructor(max: number) {
    this.#times = new Float64Array(max)
  }

  push(dueAt: number): boolean {
    if (this.size === this.#times.length) return false
    this.#times[(this.#first + this.size++) % this.#times.length] = dueAt
    return true
  }

  shift(): number {
    const dueAt = this.#times[this.#first]!
    this.#first = (this.#first + 1) % this.#times.length
    this.size--
    return dueAt
  }
}
