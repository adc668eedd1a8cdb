import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, ERROR_CODES, type ErrorCode } from '../../errors.ts'

/** Errors as RFC 9457 problem documents. */
export function useProblems(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError | ApiError, request, reply) =>
    sendProblem(request, reply, translate(error)),
  )
  app.setNotFoundHandler((request, reply) =>
    sendProblem(
      request,
      reply,
      new ApiError('not_found', `there is nothing at ${request.url.split('?')[0]}`),
    ),
  )
}

export function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  const known =
    error instanceof ApiError ? error : new ApiError('internal_error', 'this is a fault of the server')
  if (known.status >= 500) request.log.error({ err: error, code: known.code }, 'request failed')
  if (known.retryAfterMs !== null)
    reply.header('retry-after', Math.max(1, Math.ceil(known.retryAfterMs / 1000)))
  if (known.status === 401) reply.header('www-authenticate', 'Bearer')
  const [status, title] = ERROR_CODES[known.code]
  return reply
    .code(status)
    .header('content-type', 'application/problem+json')
    .send(
      JSON.stringify({
        type: typeOf(known.code),
        title,
        status,
        detail: known.message,
        code: known.code,
        requestId: request.id,
        retryable: known.retryable,
        ...known.members,
      }),
    )
}

/** For what is not HTTP enough to become a request. */
export function refuseMalformedHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const code: ErrorCode = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'bad_request'
  const [status, title] = ERROR_CODES[code]
  const body = JSON.stringify({
    type: typeOf(code),
    title,
    status,
    detail: title,
    code,
    requestId: null,
    retryable: false,
  })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/problem+json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

function typeOf(code: ErrorCode): string {
  return `https://tallystick.dev/errors/${code}`
}

const FASTIFY_CODES: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'bad_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_BAD_URL: 'bad_request',
}

/** Fastify's own errors get a code of the table; whatever else is not an ApiError is a bug and stays one. */
function translate(error: FastifyError | ApiError): unknown {
  if (error instanceof ApiError) return error
  const code = FASTIFY_CODES[error.code]
  if (code) return new ApiError(code, ERROR_CODES[code][1])
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return new ApiError('bad_request', STATUS_CODES[error.statusCode] ?? 'the request is not well-formed')
  }
  return error
}
