import type { RunningClients } from '../faults/clients.ts'

const LOOK_EVERY_MS = 10

/** Longest time in which clients had no record acknowledged. */
export class GapWatch {
  readonly #clients: RunningClients
  readonly #timer: NodeJS.Timeout
  #acknowledged = 0
  #movedAtMs = performance.now()
  #longestMs = 0

  constructor(clients: RunningClients) {
    this.#clients = clients
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  begin(): void {
    this.#longestMs = 0
    this.#movedAtMs = performance.now()
  }

  get longestMs(): number {
    this.#look()
    return Math.round(this.#longestMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const nowMs = performance.now()
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#movedAtMs)
    if (this.#clients.acknowledgedRecords === this.#acknowledged) return
    this.#acknowledged = this.#clients.acknowledgedRecords
    this.#movedAtMs = nowMs
  }
}
