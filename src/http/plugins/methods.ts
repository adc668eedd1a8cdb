import type { FastifyInstance, RouteOptions } from 'fastify'
import makeRouter from 'find-my-way'
import { ApiError } from '../../errors.ts'
import { EVENT_STREAM } from '../answers/accept.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** True if no route accepts the request's method, and other routes of the same address answer problems in CBOR. */
    hasConciseProblems: boolean
  }
  interface FastifyContextConfig {
    /** True if OPTIONS is answered like GET, because HAProxy's `option httpchk` sends OPTIONS as its probe. */
    probe?: true
  }
}

/** Media types of answers that have no fixed end. */
const STREAMS = [EVENT_STREAM, 'application/x-ndjson']

/**
 * Adds HEAD to each GET route (RFC 9110 §9.1). Node leaves out the content of the answer. A route whose answer may be a
 * stream gets no HEAD, because the whole stream would be made although nobody reads it. MUST be called after all hooks
 * that read the methods of a route have been added.
 */
export function takeHead(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (takesHead(route)) route.method = ['GET', 'HEAD', ...(route.config?.probe ? ['OPTIONS'] : [])]
  })
}

function takesHead({ method, schema }: RouteOptions): boolean {
  return method === 'GET' && !isStreamed(schema)
}

function isStreamed(schema: RouteOptions['schema']): boolean {
  const { 200: answer } = (schema?.response ?? {}) as { 200?: { content?: Record<string, unknown> } }
  return Object.keys(answer?.content ?? {}).some((type) => STREAMS.includes(type))
}

/**
 * What is known about an address. `methods`: the methods that it accepts. `scrapi`: true if its routes have `scrapi` in
 * their config.
 */
type Address = { readonly methods: Set<string>; readonly scrapi: boolean }

/** Methods in the answer to `OPTIONS *` (RFC 9110 §9.3.7). No address accepts any other method. */
const ALL = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']

/**
 * Answers OPTIONS with 204, a method that the address does not accept with 405, and an unknown address with 404. The
 * answers 204 and 405 have `Allow`. They are sent before authentication, and before the body is read.
 *
 * A separate router finds an address independently of its methods. The alternative is a second route for each address,
 * with all methods that it refuses. That took half of the time to build a server (31 of 52 ms).
 */
export function refuseOtherMethods(
  app: FastifyInstance,
  options: makeRouter.Config<makeRouter.HTTPVersion.V1>,
): void {
  const addresses = makeRouter(options)
  const addressOf = new Map<string, Address>()
  app.decorateRequest('hasConciseProblems', false)
  app.addHook('onRoute', (route: RouteOptions) => {
    const { method, url, config } = route
    const known = addressOf.get(url)
    const address = known ?? { methods: new Set(['OPTIONS']), scrapi: config?.scrapi ?? false }
    for (const one of [method].flat()) address.methods.add(one)
    if (takesHead(route)) address.methods.add('HEAD')
    if (known) return
    addressOf.set(url, address)
    addresses.on('GET', url, () => {}, address)
  })
  app.addHook('onRequest', async (request, reply) => {
    const path = request.url.split('?')[0]!
    // The path itself must accept the method. Otherwise the route /v1/records/:id would also answer GET
    // /v1/records/batch.
    const isTaken = !request.is404 && (addressOf.get(path)?.methods.has(request.method) ?? true)
    if (isTaken && request.method !== 'OPTIONS') return
    const found = addresses.find('GET', path)
    // The router reads a path with a trailing slash as a path with an empty id.
    if (path !== '*' && (!found || Object.values(found.params).includes('')))
      throw new ApiError('not_found', `there is nothing at ${path}`)
    const address = found?.store as Address | undefined
    request.hasConciseProblems = address?.scrapi ?? false
    const methods = new Set(address?.methods ?? ALL)
    const allow = [...methods].sort().join(', ')
    reply.header('allow', allow)
    if (isTaken) return
    if (request.method === 'OPTIONS') return reply.code(204).send()
    const isOfStream = request.method === 'HEAD' && methods.has('GET')
    const why = isOfStream ? ': HEAD does not work for a stream' : ''
    throw new ApiError('method_not_allowed', `this address accepts ${allow}${why}`)
  })
}
