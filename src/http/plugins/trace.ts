import type { Attributes, Span } from '@opentelemetry/api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { failSpan } from '../../observe/tracing/fail-span.ts'
import type { Tracing } from '../../observe/tracing/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Span of the request. null if the request is not sampled. Absent if tracing is off. */
    span?: Span | null
  }
}

/** Paths of probes. Probes come every few seconds and nobody needs their traces, so they are not traced. */
const UNTRACED = new Set(['/livez', '/readyz'])
/**
 * Methods that may appear in the name of a span. Clients may send any method that Node knows, but span names must have
 * few different values.
 */
const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/**
 * Makes one span for each request, from its headers to the last byte of its answer. If the request has a `traceparent`,
 * the caller's span becomes the parent. Names and attributes follow OpenTelemetry's stable semantic conventions of
 * HTTP. Client addresses, queries and user agents are left out, because they may be personal. MUST be registered before
 * all other hooks of requests.
 */
export function useTracing(app: FastifyInstance, tracing: Tracing): void {
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, reply, done) => {
    if (!UNTRACED.has(request.routeOptions.url ?? '')) begin(tracing, request, reply)
    done()
  })
  // The context of the span begins only here. Until here the body is read, and that happens in the context of the
  // connection.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.span) tracing.with(request.span, done)
    else done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    end(request, reply, 'answered')
    done()
  })
}

function begin(tracing: Tracing, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.routeOptions.url
  const { traceparent, tracestate } = request.headers
  const span = tracing.start(route === undefined ? methodOf(request) : `${methodOf(request)} ${route}`, {
    kind: 'server',
    parent: tracing.parentOf(traceparent, tracestate),
    attributes: {
      'http.request.method': METHODS.has(request.method) ? request.method : '_OTHER',
      'url.scheme': request.protocol,
      'url.path': request.url.split('?', 1)[0]!,
      'network.protocol.version': request.raw.httpVersion,
      'tallystick.request.id': request.id,
      ...(route !== undefined && { 'http.route': route }),
    },
  })
  if (span === null) return
  request.span = span
  // Fastify does not report a client that disconnects before it gets its answer. So this code listens to the response
  // itself.
  reply.raw.once('close', () => end(request, reply, 'aborted'))
}

function methodOf({ method }: FastifyRequest): string {
  return METHODS.has(method) ? method : 'HTTP'
}

/**
 * Ends the span of a request. May be called twice: after an answer, and when the connection closes. Only the first call
 * counts.
 */
function end(request: FastifyRequest, reply: FastifyReply, how: 'answered' | 'aborted'): void {
  const { span } = request
  if (!span) return
  request.span = null
  span.setAttributes(subjectOf(request))
  if (reply.problem !== null) span.setAttribute('tallystick.error.code', reply.problem)
  if (reply.raw.headersSent) span.setAttribute('http.response.status_code', reply.statusCode)
  if (how === 'aborted') span.setAttribute('error.type', how)
  else if (reply.statusCode >= 500) failSpan(span, reply.problem ?? String(reply.statusCode))
  span.end()
}

function subjectOf(request: FastifyRequest): Attributes {
  const { id } = (request.params ?? {}) as { readonly id?: unknown }
  return {
    ...(request.caller && { 'tallystick.ledger.id': request.caller.ledger }),
    ...(typeof id === 'string' && id.startsWith('rec_') && { 'tallystick.record.id': id }),
  }
}
