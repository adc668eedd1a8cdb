import type { FastifyInstance } from 'fastify'

/**
 * Headers of every answer. What was sent is what it says it is, whatever a browser makes of its bytes. And what only a key may see
 * is kept by no cache, a shared one or the reader's own: a document that is erased must be gone.
 */
export function useAnswerHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff')
    if (request.routeOptions.config.access !== 'public' && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'no-store')
    done(null, payload)
  })
}
