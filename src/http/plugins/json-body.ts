import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { verifyContentDigest } from '../../federation/http-signature.ts'
import { JSON_DEPTH_MAX } from '../../limits.ts'
import { PEER_DOCUMENT_DEPTH } from '../../peer-limits.ts'
import { ProofError, type ProofErrorCode } from '../../proof/error.ts'
import { type JsonValue, parseJsonText } from '../../proof/json-text.ts'

/**
 * Bodies are checked on their text (docs/formats/documents.md): what a JavaScript value could not hold
 * exactly as it was sent is refused, never silently changed.
 */
export function useJsonBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const encoding = request.headers['content-encoding'] ?? 'identity'
      if (encoding !== 'identity') {
        throw new ApiError('unsupported_media_type', 'the body must not be compressed')
      }
      const { peerSignature } = request
      if (peerSignature && !verifyContentDigest(peerSignature, body)) {
        throw new ApiError('content_digest_mismatch', 'the body has another digest', { retryable: true })
      }
      if (body.length === 0 && request.routeOptions.config.mayOmitBody) return undefined
      return parseBody(body, peerSignature ? JSON_DEPTH_MAX + PEER_DOCUMENT_DEPTH : JSON_DEPTH_MAX)
    },
  )
}

const CODES: Partial<Record<ProofErrorCode, ErrorCode>> = {
  json_syntax: 'bad_json',
  json_duplicate_member: 'lossy_json',
  json_surrogate: 'lossy_json',
  json_nul: 'lossy_json',
  json_number_lossy: 'lossy_json',
  json_depth: 'json_too_deep',
}

function parseBody(body: Buffer, depthMax: number): JsonValue {
  if (!isUtf8(body)) throw new ApiError('bad_encoding', 'the body holds bytes that are not UTF-8')
  try {
    return parseJsonText(body.toString('utf8'), { depthMax })
  } catch (error) {
    const code = error instanceof ProofError ? CODES[error.code] : undefined
    if (!code) throw error
    throw new ApiError(code, (error as ProofError).detail)
  }
}
