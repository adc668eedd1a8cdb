import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../ledgers/caller.ts'

/** Size of the ledger that an answer rests on: of a write, right after its newest entry. A bare integer. */
export const LEDGER_SIZE_HEADER = 'tallystick-ledger-size'

/**
 * Headers of every answer. The declared type holds, whatever a browser would make of the bytes. No cache, shared or the
 * reader's own, keeps an answer that needs a key: a document that is erased must be gone.
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
