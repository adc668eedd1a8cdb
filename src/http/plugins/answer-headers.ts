import type { FastifyInstance } from 'fastify'
import type { Caller } from '../../ledgers/caller.ts'

/**
 * Name of the header with the size of the ledger that the answer shows, as a plain integer. For a write, the size is
 * the one right after the newest entry that the request wrote.
 */
export const LEDGER_SIZE_HEADER = 'tallystick-ledger-size'

/**
 * Sets headers that every answer has. `nosniff`: browsers must use the declared type. `no-store`: no cache may store
 * an answer that needs a key, because a cache could still show documents after their erasure.
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
