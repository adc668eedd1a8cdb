import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { entityTagsOf, noneMatchHits } from '../../proof/http-fields.ts'

/** Returns the ETag of a record: its version in quotes. Clients use the ETag in conditions (RFC 9110 §13.1). */
export function etagOf(version: number): string {
  return `"${version}"`
}

/**
 * Returns the versions that If-Match allows (RFC 9110 §13.1.1). Returns null if every version is allowed. A weak tag
 * matches no version. Throws `invalid_request` if the header contains no tag: the server must not write if it cannot
 * read the condition of the write.
 */
export function ifVersionsOf(request: FastifyRequest): readonly number[] | null {
  const tags = entityTagsOf(request.headers['if-match'])
  if (tags === null || tags === 'any') return null
  if (tags.length === 0)
    throw new ApiError(
      'invalid_request',
      'If-Match must be a version in quotes, like the ETag of the record',
      {
        members: { path: '/if-match' },
      },
    )
  return tags.flatMap(({ weak, opaque }) => (!weak && VERSION.test(opaque) ? [Number(opaque)] : []))
}

/**
 * Returns a function that says whether the client already has a given version, according to If-None-Match (RFC 9110
 * §13.1.2, weak comparison). Returns null if the header is absent or contains no tag.
 */
export function knownVersionsOf(request: FastifyRequest): ((version: number) => boolean) | null {
  const value = request.headers['if-none-match']
  const tags = entityTagsOf(value)
  if (tags === null || tags.length === 0) return null
  return (version) => noneMatchHits(value, `${version}`)
}

const VERSION = /^[1-9]\d{0,8}$/
