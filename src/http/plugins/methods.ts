import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ApiError } from '../../errors.ts'

const METHODS: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Collects the methods of each address; `refuseOtherMethods`, called after the last route, answers 405 to the rest. */
export function trackMethods(app: FastifyInstance): { refuseOtherMethods(): void } {
  const taken = new Map<string, Set<HTTPMethods>>()
  app.addHook('onRoute', (route) => {
    const methods = taken.get(route.url) ?? new Set()
    for (const method of [route.method].flat()) methods.add(method as HTTPMethods)
    taken.set(route.url, methods)
  })
  return {
    refuseOtherMethods() {
      for (const [url, methods] of [...taken]) {
        const others = METHODS.filter((method) => !methods.has(method))
        const allow = [...methods].sort().join(', ')
        app.route({
          method: others,
          url,
          config: { access: 'public' },
          // Before the body is looked at.
          onRequest: async (_request, reply) => {
            reply.header('allow', allow)
            throw new ApiError('method_not_allowed', `this address takes ${allow}`)
          },
          handler: () => {},
        })
      }
    },
  }
}
