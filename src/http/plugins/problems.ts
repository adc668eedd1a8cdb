import { STATUS_CODES } from 'node:http'
import { encode, rfc8949EncodeOptions } from 'cborg'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ledgerMoving } from '../../append/append-one.ts'
import { isUnavailable, isUnstorable } from '../../db/connect/failures.ts'
import { isRefusedWhileMoving } from '../../db/ledgers/moving.ts'
import { ApiError, ERROR_CODES, type ErrorCode } from '../../errors.ts'
import { JSON_RPC_CODES } from '../../json-rpc-codes.ts'
import { describeError } from '../../observe/log.ts'
import { namedMembers } from '../../proof/named-members.ts'
import { asksForJson, EVENT_STREAM } from '../answers/accept.ts'
import { sendStatus } from '../answers/otlp-answers.ts'
import { FailureLog } from '../failure-log.ts'
import { unsupportedType } from './json-body.ts'

/** Answers errors as problem documents of RFC 9457. */
declare module 'fastify' {
  interface FastifyInstance {
    readonly failures: FailureLog
  }
  interface FastifyContextConfig {
    /** True if problems are answered as JSON-RPC errors, because clients of MCP show only these to their users. */
    mcp?: true
  }
}

export function useProblems(app: FastifyInstance): void {
  app.decorate('failures', new FailureLog())
  app.setErrorHandler((error, request, reply) => sendProblem(request, reply, error))
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const known = translate(error as FastifyError, request)
  reply.problem = known.code
  if (!isProbeWhileDraining(request)) {
    request.server.countProblem(known.code)
    if (known.status >= 500 && known.status !== NOT_IMPLEMENTED) logFailure(request, known.code, error)
  }
  if (known.retryAfterMs !== null)
    reply.header('retry-after', Math.max(1, Math.ceil(known.retryAfterMs / 1000)))
  if (known.status === 401) reply.header('www-authenticate', 'Bearer')
  keepOpen(request, reply)
  // No hook runs for a malformed address (answer-headers.ts), so the headers are set here.
  reply.header('x-content-type-options', 'nosniff').header('cache-control', 'no-store')
  if (request.routeOptions.config?.otlp) return sendStatus(request, reply, known)
  const isOfScrapi = request.routeOptions.config?.scrapi || request.hasConciseProblems
  if (isOfScrapi && !asksForJson(request.headers.accept))
    return reply
      .code(known.status)
      .header('content-type', CONCISE_PROBLEM_TYPE)
      .send(Buffer.from(renderConciseProblem(known, request.id)))
  if (request.routeOptions.config?.mcp && request.headers.accept?.includes(EVENT_STREAM))
    return reply
      .code(known.status)
      .header('content-type', 'application/json')
      .send(Buffer.from(renderJsonRpcError(known, request.id)))
  return (
    reply
      .code(known.status)
      .header('content-type', PROBLEM_TYPE)
      // The problem is sent as bytes. Fastify would add a charset to a string, but this media type has no charset (RFC
      // 9457 §6.1).
      .send(Buffer.from(renderProblem(known, request.id)))
  )
}

/**
 * Keeps the connection open after a fault in a body that has arrived whole. Fastify would close the connection, because
 * the rest of a body might follow. The header is replaced, not removed. If it were removed, Node would forget that the
 * client has closed its half, and the connection would stay open for ever.
 */
function keepOpen({ raw, server }: FastifyRequest, reply: FastifyReply): void {
  const isClosing = reply.getHeader('connection') === 'close'
  if (isClosing && raw.complete && reply.raw.shouldKeepAlive && !server.isDraining)
    reply.header('connection', 'keep-alive')
}

/** 501 means that the request is at fault. Other statuses from 500 on mean that the server is at fault. */
const NOT_IMPLEMENTED = 501

/**
 * Logs a failed request. Logs the pattern of the route, not the address, because an address may contain private values.
 */
function logFailure(
  { server, log, method, routeOptions }: FastifyRequest,
  code: ErrorCode,
  error: unknown,
): void {
  server.failures.log(log, code, { method, route: routeOptions.url ?? null, error: describeError(error) })
}

/**
 * Returns true if the request is a probe of a server that is stopping. Its refusal is no failure. If the refusal were
 * logged, each restart would raise an alert.
 */
function isProbeWhileDraining({ server, routeOptions }: FastifyRequest): boolean {
  return server.isDraining && routeOptions.url === '/readyz'
}

export const PROBLEM_TYPE = 'application/problem+json'

export function renderProblem(error: ApiError, requestId: string): string {
  const [status, title] = ERROR_CODES[error.code]
  return JSON.stringify({
    ...error.members,
    type: `https://tallystick.dev/errors/${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    requestId,
    retryable: error.retryable,
  })
}

export const CONCISE_PROBLEM_TYPE = 'application/concise-problem-details+cbor'

/**
 * Renders a problem in the form of RFC 9290, which SCRAPI requires. The labels are -1 for the title, -2 for the detail
 * and -4 for the status. Tallystick's own members are in a map, whose label is a URL of the project.
 */
function renderConciseProblem(error: ApiError, requestId: string): Uint8Array {
  const [status, title] = ERROR_CODES[error.code]
  const { code, retryable, message } = error
  const problem = new Map<number | string, unknown>([
    [-1, title],
    [-2, message],
    [-4, status],
    [
      'https://tallystick.dev/errors',
      new Map<string, unknown>(Object.entries({ code, requestId, retryable })),
    ],
  ])
  return encode(problem, rfc8949EncodeOptions)
}

/** Renders a JSON-RPC error. Its id is null, because the message was not parsed. */
function renderJsonRpcError(error: ApiError, requestId: string): string {
  const [status, , , advice] = ERROR_CODES[error.code]
  const members = namedMembers(advice, error.members)
  const message = `${status} ${error.code}: ${error.message}. What to do: ${advice}${members}`
  const data = JSON.parse(renderProblem(error, requestId)) as object
  return JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: JSON_RPC_CODES.refusedByHttp, message, data },
  })
}

const FASTIFY_CODES: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'bad_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_BAD_URL: 'bad_request',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found', // a parameter of this length is longer than any valid id
}

/**
 * Converts any error to an ApiError. Fastify's own errors and an unavailable database get a code of ERROR_CODES. Any
 * other error is a bug of the server, and the client gets only `internal_error`.
 */
function translate(error: FastifyError | ApiError, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error
  const { routeOptions } = request
  const code = FASTIFY_CODES[error.code]
  if (code === 'body_too_large')
    return new ApiError(code, `the body must have at most ${routeOptions.bodyLimit} bytes here`)
  if (code === 'unsupported_media_type') return unsupportedType(request)
  if (code) return new ApiError(code, ERROR_CODES[code][1])
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new ApiError('bad_request', STATUS_CODES[error.statusCode] ?? 'the request is not well-formed')
  }
  if (isRefusedWhileMoving(error)) return ledgerMoving()
  if (isUnavailable(error)) {
    return new ApiError('unavailable', 'the database does not answer: try again later', {
      retryable: true,
      retryAfterMs: 1000,
    })
  }
  if (isUnstorable(error))
    return new ApiError('bad_request', 'the request contains a character that the database cannot store')
  return new ApiError('internal_error', 'this is a fault of the server')
}
