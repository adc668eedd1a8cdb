import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Slots } from '../../load/slots.ts'
import { kindOf, ownerOf } from '../connections/owner.ts'
import { reservationOf } from '../connections/reservation.ts'
import type { Deps } from '../deps.ts'
import { isStillAdmitted } from '../plugins/authenticate.ts'
import { whenHalfClosed } from './half-closed.ts'

export type WaitDeps = Pick<Deps, 'admission' | 'callers' | 'now'>

/**
 * Lets requests wait. While a request waits, it does not count towards the limit of requests under way. It counts again
 * before it continues.
 */
export class Waits {
  readonly slots: Slots
  readonly #deps: WaitDeps
  readonly #closing = new AbortController()

  constructor(deps: WaitDeps, slots: Slots) {
    this.#deps = deps
    this.slots = slots
  }

  /** Ends all waits. Later waits end at once. */
  close(): void {
    this.#closing.abort()
  }

  /**
   * Returns the result of `wait`, or null if the client has disconnected. `wait` MUST end when its signal aborts. The
   * signal aborts when the client has stopped sending or has disconnected, and when the server closes. Throws ApiError
   * `overloaded` if too many requests wait. Throws `unauthenticated` if the API key has become invalid during the wait.
   */
  async during<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    const reservation = reservationOf(request, reply)
    if (reservation.isOver) return null
    const release = this.slots.take(request.caller.ledger)
    const gone = new AbortController()
    const end = () => gone.abort()
    reply.raw.once('close', end)
    const stay = whenHalfClosed(request.raw.socket, end)
    reservation.leave()
    try {
      const waited = await wait(AbortSignal.any([gone.signal, this.#closing.signal]))
      // Many waits may end at the same time. As with new requests, only a few of them continue in each slice.
      await new Promise<void>((resolve) =>
        this.#deps.admission.begin(kindOf(request.method), 0, ownerOf(request), resolve),
      )
      if (reservation.isOver) return null
      reservation.enter(this.#deps.admission)
      if (await isStillAdmitted(request, this.#deps)) return waited
      throw new ApiError('unauthenticated', 'the API key expired or was revoked while the request waited')
    } finally {
      reply.raw.off('close', end)
      stay()
      release()
    }
  }
}
