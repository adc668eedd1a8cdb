import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from '../../admission.ts'
import { ApiError } from '../../errors.ts'
import { REFUSED_RETRY_AFTER_SECONDS_MAX, REQUEST_ABANDONED_MS_MAX } from '../../limits.ts'
import { PROBLEM_TYPE, renderProblem } from './problems.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * From now on each answer ends its connection, so that the client's next one goes to another server; nothing is refused.
     */
    drain(): void
    readonly isDraining: boolean
  }
  interface FastifyRequest {
    /** Whether it counts among those under way. */
    isUnderWay: boolean
  }
}

/** Probes: a server that has too much to do is neither dead nor of no use. */
const ALWAYS_ADMITTED = new Set(['/livez', '/readyz'])

/**
 * Refuses what is too much, before anything else is done for it. A request counts from when it is authenticated and has arrived
 * whole, until its answer begins: nobody can fill the places by sending slowly or without a key, and streams have slots of their
 * own.
 */
export function useAdmission(app: FastifyInstance, { admission }: { admission: Admission }): void {
  let isDraining = false
  app.decorate('drain', () => {
    isDraining = true
  })
  app.decorate('isDraining', { getter: () => isDraining })

  const newest = new WeakMap<Socket, ServerResponse>()
  const [handle] = app.server.listeners('request') as [RequestListener]
  app.server.removeListener('request', handle)
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (isDraining) newest.set(request.socket, response)
    if (ALWAYS_ADMITTED.has(request.url!)) return handle(request, response)
    const ledger = claimedLedger(request.headers.authorization)
    if (!admission.admits(ledger)) return refuse(response)
    admission.begin(Number(request.headers['content-length'] ?? 0), ledger, () => {
      // Whoever has gone meanwhile: nothing was done, and nobody would hear of it.
      if (!request.socket.destroyed) handle(request, response)
    })
  })

  app.decorateRequest('isUnderWay', false)
  const leave = (request: FastifyRequest) => {
    if (!request.isUnderWay) return
    request.isUnderWay = false
    admission.leave(ledgerOf(request))
  }
  app.addHook('preHandler', (request, reply, done) => {
    request.isUnderWay = true
    admission.enter(ledgerOf(request))
    // Whoever goes away leaves the work behind: it has its place until it is done, or clients that give up and try again would
    // begin more and more of it. A handler that then sends nothing keeps the place for a while.
    reply.raw.once('close', () => {
      if (request.isUnderWay) setTimeout(leave, REQUEST_ABANDONED_MS_MAX, request).unref()
    })
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    leave(request)
    // Of what a client has sent at once (pipelining) only the last answer: what is behind the one that says so is answered by nobody.
    if (isDraining && newest.get(request.raw.socket) === reply.raw) reply.raw.shouldKeepAlive = false
    done(null, payload)
  })
}

/** Has a share as a ledger has: who has to hold one back must not be refused because of it. */
const OPERATOR = 'operator'

/** What a key names (src/tenancy/api-keys.ts), right or not: whoever names another's ledger is refused for its key later. */
function claimedLedger(authorization: string | undefined): string | null {
  if (authorization === undefined || authorization.length < 37) return null
  return authorization.startsWith('tlo_', 7) ? OPERATOR : authorization.slice(11, 37)
}

/** As keys name it. null: nobody calls. */
function ledgerOf({ caller, routeOptions }: FastifyRequest): string | null {
  if (caller !== null) return caller.ledger.slice(4)
  return routeOptions.config.access === 'operator' ? OPERATOR : null
}

/** Made once: an error of its own for each, with its stack, and rendering it took a third of what refusing costs. */
const REFUSAL = renderProblem(
  new ApiError('overloaded', 'too many requests are under way: nothing was done', { retryable: true }),
  'REQUEST_ID',
).split('REQUEST_ID') as [string, string]
const REFUSAL_BYTES = Buffer.byteLength(REFUSAL.join(`req_${'0'.repeat(32)}`))

function refuse(response: ServerResponse): void {
  response
    .writeHead(503, {
      'content-type': PROBLEM_TYPE,
      'content-length': REFUSAL_BYTES,
      // Jittered, so that refused clients do not come back all at once.
      'retry-after': String(1 + Math.floor(Math.random() * REFUSED_RETRY_AFTER_SECONDS_MAX)),
    })
    .end(REFUSAL.join(`req_${randomUUID().replaceAll('-', '')}`))
}
