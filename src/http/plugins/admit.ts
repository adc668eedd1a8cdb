import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Admission } from '../../append/admission.ts'
import type { ByteBudgets } from '../../append/byte-budget.ts'
import { ApiError } from '../../errors.ts'
import { heldBy } from '../held.ts'
import { REFUSED_RETRY_AFTER_SECONDS_MAX } from '../limits.ts'
import { claimedLedger } from '../owner.ts'
import { PipelinedRequests } from '../pipelined-requests.ts'
import { PROBLEM_TYPE, renderProblem } from './problems.ts'

type AdmissionDeps = { readonly admission: Admission; readonly budgets: ByteBudgets }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * From now on each answer ends its connection, so that the client's next one goes to another server; nothing is refused.
     */
    drain(): void
    readonly isDraining: boolean
  }
}

/** Probes: a server that has too much to do is neither dead nor of no use. */
const ALWAYS_ADMITTED = new Set(['/livez', '/readyz'])

/**
 * Refuses what is too much, before anything else is done for it. A request counts from when it is authenticated and has arrived
 * whole, until its answer begins: nobody can fill the places by sending slowly or without a key. Answers that are not read count as
 * bytes (unread-answers.ts), and streams have slots of their own.
 *
 * One that is pipelined waits until the answer before it was taken.
 */
export function useAdmission(app: FastifyInstance, { admission, budgets }: AdmissionDeps): void {
  let isDraining = false
  app.decorate('drain', () => {
    isDraining = true
  })
  app.decorate('isDraining', { getter: () => isDraining })

  const [handle] = app.server.listeners('request') as [RequestListener]
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    if (ALWAYS_ADMITTED.has(request.url!)) return handle(request, response)
    const ledger = claimedLedger(request.headers.authorization)
    const unread = request.method === 'GET' ? budgets.reads : budgets.writes
    if (!unread.hasRoom(ledger, 1)) return refuse(response, UNREAD)
    if (!admission.admits(ledger)) return refuse(response, TOO_MANY)
    admission.begin(Number(request.headers['content-length'] ?? 0), ledger, () => {
      // A client that has gone meanwhile would not hear of it.
      if (!request.socket.destroyed) handle(request, response)
    })
  }
  const waiting = new PipelinedRequests(begin)
  app.server.removeListener('request', handle)
  app.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // The connection is given to one answer after another.
    if (response.socket === null) waiting.add(request, response)
    else begin(request, response)
  })

  app.decorateRequest('held', null)
  app.addHook('preHandler', (request, reply, done) => {
    heldBy(request, reply).enter(admission)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    request.held?.leave()
    // With pipelining only the last answer says so: requests behind it would be answered by nobody.
    if (isDraining && !waiting.has(request.raw.socket)) reply.raw.shouldKeepAlive = false
    done(null, payload)
  })
}

/** Made once: an error of its own for each, with its stack, and rendering it took a third of what refusing costs. */
const TOO_MANY = prepareRefusal('too many requests are under way: nothing was done')
const UNREAD = prepareRefusal('too much that was answered was not taken yet: nothing was done')

type Refusal = { readonly around: readonly [string, string]; readonly bytes: number }

function prepareRefusal(detail: string): Refusal {
  const error = new ApiError('overloaded', detail, { retryable: true })
  const around = renderProblem(error, 'REQUEST_ID').split('REQUEST_ID') as [string, string]
  return { around, bytes: Buffer.byteLength(around.join(`req_${'0'.repeat(32)}`)) }
}

function refuse(response: ServerResponse, { around, bytes }: Refusal): void {
  response
    .writeHead(503, {
      'content-type': PROBLEM_TYPE,
      'content-length': bytes,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      // Jittered, so that refused clients do not come back all at once.
      'retry-after': String(1 + Math.floor(Math.random() * REFUSED_RETRY_AFTER_SECONDS_MAX)),
    })
    .end(around.join(`req_${randomUUID().replaceAll('-', '')}`))
}
