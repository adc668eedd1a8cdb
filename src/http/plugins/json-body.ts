import type { FastifyInstance, FastifyRequest } from 'fastify'
import { BODY_BYTES_MAX, JSON_DEPTH_MAX } from '../../append/limits.ts'
import { ThreadError } from '../../append/threads/error.ts'
import { parseJsonInThread } from '../../append/threads/parse-json.ts'
import { ApiError } from '../../errors.ts'
import { verifyContentDigest } from '../../outside/federation/http-signature.ts'
import { PEER_DOCUMENT_DEPTH } from '../../outside/federation/limits.ts'
import { isCheap } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { parseBody, refusedFor } from '../json-refusals.ts'
import { JSON_LOOP_BYTES_MAX, JSON_LOOP_TOKENS_MAX } from '../limits.ts'
import { sendersOf } from '../owner.ts'
import type { Threads } from '../threads.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Reads, validates and builds all of a body that is large work, in a thread. Its result is the request's body. */
    readBody?: (threads: Threads, request: FastifyRequest, body: Buffer) => Promise<object>
  }
}

/**
 * Bodies are checked on their text (docs/formats/documents.md). Text that a JavaScript value could not hold exactly as
 * it was sent is refused, never silently changed. A large one is read in a thread, and charged to its sender before
 * that.
 */
export function useJsonBody(app: FastifyInstance, { threads }: { readonly threads: Threads }): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const encoding = request.headers['content-encoding'] ?? 'identity'
      if (encoding !== 'identity') {
        throw new ApiError('unsupported_media_type', 'the body must not be compressed')
      }
      request.chargeBody(body.length)
      const { peerSignature } = request
      if (peerSignature && !verifyContentDigest(peerSignature, body)) {
        throw new ApiError('content_digest_mismatch', 'the body has another digest', { retryable: true })
      }
      const { readBody } = request.routeOptions.config
      if (readBody) return inThread(readBody(threads, request, body))
      if (body.length === 0 && request.routeOptions.config.mayOmitBody) return undefined
      const depthMax = peerSignature ? JSON_DEPTH_MAX + PEER_DOCUMENT_DEPTH : JSON_DEPTH_MAX
      if (isForTheLoop(body, depthMax)) return parseBody(body, { depthMax })
      return parseLargeBody(threads, body, { ...sendersOf(request), depthMax })
    },
  )
}

/** Everything small, and what is larger but plain: drains of peers, and escaped documents. */
function isForTheLoop(body: Buffer, depthMax: number): boolean {
  if (body.length <= BODY_BYTES_MAX) return true
  if (body.length > JSON_LOOP_BYTES_MAX) return false
  // Each byte a character: names, brackets and backslashes are the same in UTF-8, and nothing is copied.
  return isCheap(body.toString('latin1'), { depthMax, tokensMax: JSON_LOOP_TOKENS_MAX })
}

async function parseLargeBody(
  threads: Threads,
  body: Buffer,
  options: ReturnType<typeof sendersOf> & { readonly depthMax: number },
): Promise<JsonValue> {
  const read = await inThread(parseJsonInThread(threads, body, options))
  if ('value' in read) return read.value
  throw refusedFor(read.refused)
}

async function inThread<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ThreadError)) throw error
    throw new ApiError('overloaded', `the body was not read: ${error.message}`, {
      retryable: true,
      retryAfterMs: 1_000,
      cause: error,
    })
  }
}
