import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Slots } from '../../load/slots.ts'
import { heldBy } from '../connections/held.ts'
import { kindOf, ownerOf } from '../connections/owner.ts'
import type { Deps } from '../deps.ts'
import { isStillLetIn } from '../plugins/authenticate.ts'
import { whenHalfClosed } from './half-closed.ts'

export type WaitDeps = Pick<Deps, 'admission' | 'callers' | 'now'>

/** Requests that wait. One that does has no place among those under way, and takes one again before it goes on. */
export class Waits {
  readonly slots: Slots
  readonly #deps: WaitDeps
  readonly #closing = new AbortController()

  constructor(deps: WaitDeps, slots: Slots) {
    this.#deps = deps
    this.slots = slots
  }

  /** Ends all of them, and each that begins from now on. */
  close(): void {
    this.#closing.abort()
  }

  /**
   * The result of `wait`, which MUST end when its signal says that the client sends no more, has gone or the server closes; null where
   * the client has gone. Throws ApiError `overloaded` where too many wait, and `unauthenticated` where the key has ended meanwhile.
   */
  async during<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    const held = heldBy(request, reply)
    if (held.isOver) return null
    const release = this.slots.take(request.caller.ledger)
    const gone = new AbortController()
    const end = () => gone.abort()
    reply.raw.once('close', end)
    const stay = whenHalfClosed(request.raw.socket, end)
    held.leave()
    try {
      const waited = await wait(AbortSignal.any([gone.signal, this.#closing.signal]))
      // Many may be told at once: they go on a few in a turn, as requests begin.
      await new Promise<void>((resolve) =>
        this.#deps.admission.begin(kindOf(request.method), 0, ownerOf(request), resolve),
      )
      if (held.isOver) return null
      held.enter(this.#deps.admission)
      if (await isStillLetIn(request, this.#deps)) return waited
      throw new ApiError('unauthenticated', 'the key has ended while the request waited')
    } finally {
      reply.raw.off('close', end)
      stay()
      release()
    }
  }
}
