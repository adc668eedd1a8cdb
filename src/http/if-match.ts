import type { FastifyRequest } from 'fastify'
import { ApiError } from '../errors.ts'

/** `"<version>"`, as the header ETag of a record has it. */
const VERSION_TAG = /^"([1-9]\d{0,8})"$/

/** The version that the request says the record has; null: it does not say, or takes any (RFC 9110 §13.1.1). */
export function ifVersionOf(request: FastifyRequest): number | null {
  const value = request.headers['if-match']
  if (value === undefined || value === '*') return null
  const match = VERSION_TAG.exec(value)
  if (match) return Number(match[1])
  throw new ApiError(
    'invalid_request',
    'If-Match takes one version in quotes, as the ETag of a record has it',
    {
      members: { path: '/if-match' },
    },
  )
}

/** The version that the client has; null: it does not say (RFC 9110 §13.1.2). */
export function knownVersionOf(request: FastifyRequest): number | null {
  const value = request.headers['if-none-match']
  if (value === undefined) return null
  const match = VERSION_TAG.exec(value)
  if (match) return Number(match[1])
  throw new ApiError(
    'invalid_request',
    'If-None-Match takes one version in quotes, as the ETag of a record has it',
    { members: { path: '/if-none-match' } },
  )
}

export function etagOf(version: number): string {
  return `"${version}"`
}
