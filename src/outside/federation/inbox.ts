import { ApiError } from '../../errors.ts'
import type { PeeringIds } from './authenticate.ts'
import {
  PEER_REQUESTS_AT_ONCE,
  PEER_REQUESTS_OF_LEDGER_WAITING_MAX,
  PEER_REQUESTS_OF_ONE_MAX,
  PEER_REQUESTS_WAITING_MAX,
} from './limits.ts'

/**
 * Requests of peers that append, a few at once, the others in the order in which they came; beyond a number they are refused, and of
 * one peer beyond a few, or it would have all the places to itself. The peers of a ledger have half of them together: a tenant can have
 * a thousand, all of them its own.
 */
export class Inbox {
  readonly #waiting: (() => void)[] = []
  /** By ledger and peer, under way and waiting. */
  readonly #ofPeering = new Map<string, number>()
  /** By ledger, waiting. */
  readonly #ofLedger = new Map<string, number>()
  #underWay = 0

  /**
   * `prepare` runs before it is this request's turn, so that slow work for one peer holds up no other. Throws
   * `overloaded`, `rate_limited`, or what `prepare` and `work` throw.
   */
  async run<T, Prepared = undefined>(
    { ledger, peer }: Pick<PeeringIds, 'ledger' | 'peer'>,
    work: (prepared: Prepared) => Promise<T>,
    prepare?: () => Promise<Prepared>,
  ): Promise<T> {
    const peering = `${ledger} ${peer}`
    this.#enter(peering)
    try {
      const prepared = (prepare && (await prepare())) as Prepared
      return await this.#inTurn(ledger, () => work(prepared))
    } finally {
      this.#leave(peering)
    }
  }

  get waiting(): number {
    return this.#waiting.length
  }

  #enter(peering: string): void {
    const count = this.#ofPeering.get(peering) ?? 0
    if (count === PEER_REQUESTS_OF_ONE_MAX) {
      throw new ApiError('rate_limited', `${count} requests of this peer have no answer yet`, {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    this.#ofPeering.set(peering, count + 1)
  }

  #leave(peering: string): void {
    const count = this.#ofPeering.get(peering)!
    if (count === 1) this.#ofPeering.delete(peering)
    else this.#ofPeering.set(peering, count - 1)
  }

  async #inTurn<T>(ledger: string, work: () => Promise<T>): Promise<T> {
    if (this.#underWay < PEER_REQUESTS_AT_ONCE) this.#underWay++
    else await this.#wait(ledger)
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#underWay--
    }
  }

  async #wait(ledger: string): Promise<void> {
    const own = this.#ofLedger.get(ledger) ?? 0
    if (this.#waiting.length >= PEER_REQUESTS_WAITING_MAX || own >= PEER_REQUESTS_OF_LEDGER_WAITING_MAX) {
      throw new ApiError('overloaded', 'too many peers send at once: nothing was done', {
        retryable: true,
        retryAfterMs: 1_000,
      })
    }
    this.#ofLedger.set(ledger, own + 1)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
    const left = this.#ofLedger.get(ledger)! - 1
    if (left === 0) this.#ofLedger.delete(ledger)
    else this.#ofLedger.set(ledger, left)
  }
}
