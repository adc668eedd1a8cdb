import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { BODY_BYTES_MAX } from '../../load/limits.ts'
import { orOverloaded } from '../../load/threads/or-overloaded.ts'
import { parseJsonInThread } from '../../load/threads/parse-json.ts'
import { verifyContentDigest } from '../../outside/federation/http-signature.ts'
import { PEER_DOCUMENT_DEPTH } from '../../outside/federation/limits.ts'
import { withoutMark } from '../../proof/bytes.ts'
import { contentCodingsOf } from '../../proof/http-fields.ts'
import { isCheap } from '../../proof/json/json-text.ts'
import type { JsonValue } from '../../proof/json/json-value.ts'
import { quoted } from '../../proof/quoted.ts'
import { JSON_DEPTH_MAX } from '../../proof/request-limits.ts'
import type { OtlpSignal } from '../../records/otlp/items.ts'
import { PROTOBUF_TYPE } from '../answers/otlp-answers.ts'
import { parseBody, refusedFor } from '../bodies/json-refusals.ts'
import { isGzip, readOtlpBody } from '../bodies/otlp-body.ts'
import type { Threads } from '../bodies/threads.ts'
import { sendersOf } from '../connections/owner.ts'
import { JSON_LOOP_BYTES_MAX, JSON_LOOP_TOKENS_MAX } from '../limits.ts'
import { ValidatedBody } from '../zod-validation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Reads, validates and builds a body in a thread, because this takes much work. The result becomes the request's
     * body.
     */
    readBody?: (threads: Threads, request: FastifyRequest, body: Buffer) => Promise<object>
    /**
     * Set if the body is OTLP, in protobuf or JSON, with or without gzip. The request's body then becomes an OtlpBody,
     * and problems are answered in OTLP's form.
     */
    otlp?: OtlpSignal
    /**
     * True if the body is a Signed Statement in COSE. The request's body then becomes a CoseBody, and problems are
     * answered in CBOR.
     */
    scrapi?: true
  }
}

export const COSE_TYPE = 'application/cose'
/** Media types of a Signed Statement: the type of SCRAPI, and the type that RFC 9943 registers. */
export const STATEMENT_TYPES: readonly string[] = [COSE_TYPE, 'application/scitt-statement+cose']

/** The bytes of a COSE body. They are not parsed yet. */
export class CoseBody extends ValidatedBody {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    super()
    this.bytes = bytes
  }
}

const NOT_READ = 'the body was not read'

/**
 * Checks the text of JSON bodies (docs/formats/documents.md). A body is refused if JavaScript values could not
 * represent it exactly. A body is never silently changed. A large body is read in a thread. Before that, its bytes are
 * charged to the sender's rate limit.
 */
export function useJsonBody(app: FastifyInstance, { threads }: { readonly threads: Threads }): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    [...STATEMENT_TYPES],
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      if (!request.routeOptions.config.scrapi) throw unsupportedType(request)
      refuseCompressed(request)
      request.chargeBody(body.length)
      return new CoseBody(body)
    },
  )
  const readOtlp = (request: FastifyRequest, signal: OtlpSignal, body: Buffer) => {
    refuseOtherEncodings(request)
    request.chargeBody(body.length)
    return orOverloaded(readOtlpBody(threads, request, { signal, body }), NOT_READ)
  }
  app.addContentTypeParser(
    PROTOBUF_TYPE,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const { otlp } = request.routeOptions.config
      if (!otlp) throw unsupportedType(request)
      return readOtlp(request, otlp, body)
    },
  )
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, given: Buffer) => {
      const { otlp, mcp } = request.routeOptions.config
      if (otlp) return readOtlp(request, otlp, given)
      // Some clients of MCP on Windows send a byte order mark.
      const body = mcp ? withoutMark(given) : given
      if (request.routeOptions.config.scrapi) throw unsupportedType(request)
      refuseCompressed(request)
      request.chargeBody(body.length)
      const { peerSignature } = request
      if (peerSignature && !verifyContentDigest(peerSignature, body)) {
        throw new ApiError(
          'content_digest_mismatch',
          'the digest of the body differs from the signed digest',
          {
            retryable: true,
          },
        )
      }
      const { readBody } = request.routeOptions.config
      if (readBody) return orOverloaded(readBody(threads, request, body), NOT_READ)
      if (body.length === 0 && request.routeOptions.config.mayOmitBody) return undefined
      const depthMax = peerSignature ? JSON_DEPTH_MAX + PEER_DOCUMENT_DEPTH : JSON_DEPTH_MAX
      if (isForTheLoop(body, depthMax)) return parseBody(body, { depthMax })
      return parseLargeBody(threads, body, { ...sendersOf(request), depthMax })
    },
  )
}

/** Longest part of a Content-Type or Content-Encoding that a refusal repeats. */
const SHOWN_CHARS_MAX = 100

/** Returns the error for a body of another media type. It names the type of the body, and the types of the route. */
export function unsupportedType({ headers, routeOptions }: FastifyRequest): ApiError {
  const { scrapi, otlp } = routeOptions.config
  const accepted = scrapi ? STATEMENT_TYPES : ['application/json', ...(otlp ? [PROTOBUF_TYPE] : [])]
  const type = headers['content-type']
  const fault = type ? `the Content-Type is ${shown(type)}` : 'the body has no Content-Type'
  return new ApiError('unsupported_media_type', `${fault}: it must be ${accepted.join(' or ')}`)
}

function refuseOtherEncodings(request: FastifyRequest): void {
  if (contentCodingsOf(request.headers['content-encoding']).length > 0 && !isGzip(request))
    throw unsupportedEncoding(request, 'the body may be compressed only with gzip')
}

function refuseCompressed(request: FastifyRequest): void {
  if (contentCodingsOf(request.headers['content-encoding']).length > 0)
    throw unsupportedEncoding(request, 'the body must not be compressed')
}

function unsupportedEncoding({ headers }: FastifyRequest, rule: string): ApiError {
  const encoding = shown(String(headers['content-encoding']))
  return new ApiError('unsupported_media_type', `the Content-Encoding is ${encoding}: ${rule}`)
}

function shown(header: string): string {
  return quoted(header.slice(0, SHOWN_CHARS_MAX))
}

/**
 * Returns true if the event loop may parse the body. It parses all small bodies. It also parses larger bodies that are
 * cheap to parse, such as entries from peers and escaped documents.
 */
function isForTheLoop(body: Buffer, depthMax: number): boolean {
  if (body.length <= BODY_BYTES_MAX) return true
  if (body.length > JSON_LOOP_BYTES_MAX) return false
  // Decoding as latin1 copies nothing, and makes one character of each byte. Brackets, quotes and backslashes are the
  // same bytes in UTF-8.
  return isCheap(body.toString('latin1'), { depthMax, tokensMax: JSON_LOOP_TOKENS_MAX })
}

async function parseLargeBody(
  threads: Threads,
  body: Buffer,
  options: ReturnType<typeof sendersOf> & { readonly depthMax: number },
): Promise<JsonValue> {
  const read = await orOverloaded(parseJsonInThread(threads, body, options), NOT_READ)
  if ('value' in read) return read.value
  throw refusedFor(read.refused)
}
