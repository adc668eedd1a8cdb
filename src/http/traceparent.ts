import type { FastifyRequest } from 'fastify'
import { isTraceparent } from '../proof/statement/fields.ts'

/** Returns the request's traceparent. An invalid header is ignored, as W3C Trace Context requires. */
export function traceparentOf(request: FastifyRequest): string | null {
  const value = request.headers['traceparent']
  return typeof value === 'string' && isTraceparent(value) ? value : null
}
