import type { FastifyRequest } from 'fastify'
import { isTraceparent } from '../proof/statement/fields.ts'

/** Returns the request's traceparent. Ignores an invalid header, as W3C Trace Context demands. */
export function traceparentOf(request: FastifyRequest): string | null {
  const value = request.headers['traceparent']
  return typeof value === 'string' && isTraceparent(value) ? value : null
}
