import { METHODS as NODE_METHODS } from 'node:http'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { ApiError } from '../../errors.ts'

/** Every method that Node's parser knows; CONNECT never reaches a route. */
const METHODS = NODE_METHODS.filter((method) => method !== 'CONNECT') as HTTPMethods[]

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
      for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
      for (const [url, methods] of [...taken]) {
        const others = METHODS.filter((method) => !methods.has(method))
        const allow = [...methods].sort().join(', ')
        app.route({
          method: others,
          url,
          config: { access: 'public' },
          schema: { hide: true },
          // Before the body is looked at.
          onRequest: async (request, reply) => {
            // A slash at the end reads as an empty id.
            if (Object.values(request.params as object).includes('')) {
              throw new ApiError('not_found', `there is nothing at ${request.url.split('?')[0]}`)
            }
            reply.header('allow', allow)
            throw new ApiError('method_not_allowed', `this address takes ${allow}`)
          },
          handler: () => {},
        })
      }
    },
  }
}
