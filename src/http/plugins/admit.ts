import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Admission } from '../../load/admission.ts'
import type { ByteBudgets } from '../../load/budgets.ts'
import { kindOf } from '../connections/owner.ts'
import { PipelinedRequests } from '../connections/pipelined-requests.ts'
import type { Proof, Prove } from '../connections/prove.ts'
import { RefusedConnections } from '../connections/refused-connections.ts'
import { reservationOf } from '../connections/reservation.ts'
import { UnreadConnections } from '../connections/unread-connections.ts'
import { REFUSED_RETRY_AFTER_SECONDS_MAX } from '../limits.ts'
import { PROBLEM_TYPE, renderProblem } from './problems.ts'

/**
 * What was decided about a request from its bytes. `proof`: proves the owner of the request. `isAdmitted`: true if the
 * request was admitted.
 */
type Claimed = { readonly proof: Proof | Promise<Proof>; readonly isAdmitted: boolean }

type AdmissionDeps = { readonly admission: Admission; readonly budgets: ByteBudgets; readonly prove: Prove }

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * After this call, each answer closes its connection, so that the client sends its next request to another
     * server. No request is refused.
     */
    drain(): void
    readonly isDraining: boolean
  }
}

/**
 * Returns true for probes, and for OPTIONS requests, which load balancers use as probes. They are always admitted,
 * because a busy server must not seem to be down.
 */
function isAlwaysAdmitted(method: string | undefined, url: string): boolean {
  return PROBE.test(url) || method === 'OPTIONS'
}

const PROBE = /^\/(?:livez|readyz)(?:\?|$)/

/**
 * Refuses requests beyond the limits. This happens before any other work, except that the owner is proved. If the key
 * is known, the owner is proved at once, so a whole burst of requests is decided in one slice. Otherwise the request
 * waits for the look-up of its key.
 *
 * A request takes a slot when it is authenticated and has arrived completely, and gives it back when its answer begins.
 * So nobody can use up the slots by sending slowly or without a key. Bytes of unread answers are limited separately
 * (unread-answers.ts), and streams have slots of their own.
 *
 * A pipelined request waits until the kernel has taken the answer to the previous request.
 */
export function useAdmission(app: FastifyInstance, { admission, budgets, prove }: AdmissionDeps): void {
  let isDraining = false
  app.decorate('drain', () => {
    isDraining = true
  })
  app.decorate('isDraining', { getter: () => isDraining })

  const [handle] = app.server.listeners('request') as [RequestListener]
  const unread = new UnreadConnections(
    () => performance.now(),
    (socket) => waiting.has(socket),
  )
  const refused = new RefusedConnections<Claimed>((request, socket) => {
    const { method, url } = request
    if (isDraining || isAlwaysAdmitted(method, url)) return { refusal: null, taken: null }
    const proof = prove(request)
    if (proof instanceof Promise) return { refusal: null, taken: { proof, isAdmitted: false } }
    if (admission.admits(kindOf(method), proof.owner))
      return { refusal: null, taken: { proof, isAdmitted: true } }
    unread.add({ socket, complete: true })
    return { refusal: renderRefusal(TOO_MANY, app.server), taken: null }
  })
  const begin = (request: IncomingMessage, response: ServerResponse) => {
    if (isAlwaysAdmitted(request.method, request.url!)) return handle(request, response)
    const claimed = refused.meet(request, response)
    const proof = claimed ? claimed.proof : prove(request.headers)
    if (!(proof instanceof Promise)) return admit(request, response, proof, claimed?.isAdmitted ?? false)
    void proof.then((proof) => {
      if (!request.socket.destroyed) admit(request, response, proof, false)
    })
  }
  const admit = (request: IncomingMessage, response: ServerResponse, proof: Proof, isAdmitted: boolean) => {
    const { owner } = proof
    const kind = kindOf(request.method)
    if (!budgets[kind].admits(owner)) return refuse(response, UNREAD)
    if (!isAdmitted && !admission.admits(kind, owner)) {
      refused.watch(request.socket)
      unread.add(request)
      return refuse(response, TOO_MANY)
    }
    request.proof = proof
    admission.begin(kind, Number(request.headers['content-length'] ?? 0), owner, () => {
      // If the client has disconnected in the meantime, the request is not handled, because nobody would get the
      // answer.
      if (!request.socket.destroyed) handle(request, response)
    })
  }
  const waiting = new PipelinedRequests(begin)
  app.server.removeListener('request', handle)
  const meet = (request: IncomingMessage, response: ServerResponse) => {
    app.connections.meet(response)
    // Node assigns the connection to one response at a time. A response without a connection belongs to a pipelined
    // request.
    if (response.socket === null) waiting.add(request, response)
    else begin(request, response)
  }
  // Requests with an unknown `Expect` are admitted in the same way, and refused later (malformed.ts).
  app.server.on('request', meet).on('checkExpectation', meet)

  app.decorateRequest('reservation', null)
  app.addHook('preHandler', (request, reply, done) => {
    reservationOf(request, reply).enter(admission)
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    request.reservation?.leave()
    // If pipelined requests are waiting, only the last answer may close the connection. Otherwise the waiting requests
    // would get no answer.
    if (isDraining && !waiting.has(request.raw.socket)) reply.raw.shouldKeepAlive = false
    done(null, payload)
  })
}

/**
 * Refusals are rendered only once. Making an error object with a stack for each refusal and rendering it took a third
 * of the CPU time of a refusal.
 *
 * CPU time of one refusal in an idle server / in a busy server with cold caches:
 *
 * - Node makes a response: 26 µs / 50 µs
 * - the bytes are handled directly (refused-connections.ts): 10 µs / 23 µs. The kernel takes half of this time, for a
 *   read, and for a write that wakes the client.
 */
const TOO_MANY = prepareRefusal('too many requests are under way: nothing was done')
const UNREAD = prepareRefusal('too many bytes of earlier answers are still unread: nothing was done')

type Refusal = {
  readonly around: readonly [string, string]
  /** Lists of headers, in which names and values alternate. There is one list for each possible Retry-After. */
  readonly headers: readonly string[][]
  /** Status line and headers as text. There is one text for each possible Retry-After. */
  readonly heads: readonly string[]
}

function prepareRefusal(detail: string): Refusal {
  const error = new ApiError('overloaded', detail, { retryable: true })
  const around = renderProblem(error, 'REQUEST_ID').split('REQUEST_ID') as [string, string]
  const bytes = around.join(`req_${'0'.repeat(32)}`).length
  const headers = Array.from({ length: REFUSED_RETRY_AFTER_SECONDS_MAX }, (_, i) => [
    ...['content-type', PROBLEM_TYPE, 'content-length', String(bytes)],
    ...['cache-control', 'no-store', 'x-content-type-options', 'nosniff', 'retry-after', String(1 + i)],
  ])
  const heads = headers.map((list) => `HTTP/1.1 503 Service Unavailable\r\n${linesOf(list)}`)
  return { around, headers, heads }
}

/** Sends a refusal. The encoding latin1 is correct, because the text is ASCII only. */
function refuse(response: ServerResponse, refusal: Refusal): void {
  response.writeHead(503, jittered(refusal.headers)).end(bodyOf(refusal), 'latin1')
}

/** Returns a refusal as text. It has the same bytes that Node would write. */
function renderRefusal(refusal: Refusal, { keepAliveTimeout }: Server): string {
  const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeout / 1_000)}\r\n`
  return `${jittered(refusal.heads)}Date: ${new Date().toUTCString()}\r\n${keepAlive}\r\n${bodyOf(refusal)}`
}

function bodyOf({ around: [before, after] }: Refusal): string {
  return `${before}req_${randomUUID().replaceAll('-', '')}${after}`
}

/** Picks one of the possible Retry-After at random, so that refused clients do not all retry at the same time. */
function jittered<T>(ofEachSecond: readonly T[]): T {
  return ofEachSecond[Math.floor(Math.random() * ofEachSecond.length)]!
}

function linesOf(headers: readonly string[]): string {
  return headers.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
}
