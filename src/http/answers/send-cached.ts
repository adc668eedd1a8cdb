import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { noneMatchHits } from '../../proof/http-fields.ts'

export type Tagged = { readonly bytes: Buffer; readonly etag: string }

export function tag(bytes: Buffer): Tagged {
  return { bytes, etag: `"${hash('sha256', bytes, 'hex').slice(0, 32)}"` }
}

/** Sends the whole file, or status 304 if the client already has the file. `cacheControl`: value of Cache-Control. */
export function sendCached(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, etag }: Tagged,
  cacheControl: string,
): FastifyReply {
  reply.header('etag', etag).header('cache-control', cacheControl)
  if (noneMatchHits(request.headers['if-none-match'], etag.slice(1, -1))) return reply.code(304).send()
  return reply.send(bytes)
}
