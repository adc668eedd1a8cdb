import type { FastifyInstance } from 'fastify'

/**
 * Headers of every answer. The declared type holds, whatever a browser would make of the bytes. No cache, shared or the
 * reader's own, keeps an answer that needs a key: a document that is erased must be gone.
 */
export function useAnswerHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (request.routeOptions.config.access !== 'public' && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'no-store')
    done(null, payload)
  })
}
