import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../ledgers/caller.ts'

/** Size of the ledger that an answer rests on, a bare integer. For a write: the size right after its newest entry. */
export const LEDGER_SIZE_HEADER = 'tallystick-ledger-size'

/**
 * Sets headers of every answer. `nosniff`: browsers must use the declared type. `no-store`: no cache, shared or
 * private, may store an answer that needs a key, because erased documents must be gone.
 */
export function useAnswerHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (request.routeOptions.config.access !== 'public' && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'no-store')
    const size = (request.caller as Caller | null)?.written.size ?? null
    if (size !== null && reply.statusCode < 400) reply.header(LEDGER_SIZE_HEADER, size)
    done(null, payload)
  })
}
