import { randomBytes } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ApiError, ERROR_CODES, type ErrorCode } from '../../errors.ts'
import { listOf } from '../../proof/http-fields.ts'
import { Connections } from '../connections/connections.ts'
import { PROBLEM_TYPE, renderProblem } from './problems.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly connections: Connections
  }
}

/**
 * Sends problem documents for requests that Node would otherwise answer itself. `useMalformed` handles requests that
 * Node's parser rejects. `refuseMalformedHeaders` handles requests that Node would refuse without a reason, or would
 * wrongly accept.
 */
export function useMalformed(app: FastifyInstance): void {
  app.decorate('connections', new Connections())
  // Keeps the connection open after a client has closed its sending side, because the client can still read (RFC 9112
  // §9.6).
  Object.assign(app.server, { httpAllowHalfOpen: true })
  // 0 means that the number of headers has no limit. With a limit, Node silently drops further headers, for example an
  // Idempotency-Key. The bytes of all headers are limited anyway.
  app.server.maxHeadersCount = 0
  app.server.on('connect', (_request, socket: Socket) => {
    // Node has removed its own listeners from the socket. So an answer that is still being sent would never get the
    // events that it waits for.
    if (app.connections.isAnswering(socket)) return void socket.destroy()
    socket.on('error', () => {})
    refuse(app, socket, 'method_not_allowed', 'this server is not a proxy: it does not accept CONNECT')
  })
}

/**
 * Answers requests that Node's parser refused, or that did not arrive in time. There is no complete request object, so
 * this function writes the bytes of the answer itself.
 */
export function refuseMalformedHttp(
  this: FastifyInstance,
  error: Error & { code?: string },
  socket: Socket,
): void {
  const code = PARSER_CODES[error.code ?? ''] ?? 'bad_request'
  refuse(this, socket, code, ERROR_CODES[code][1])
}

const PARSER_CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

function refuse(app: FastifyInstance, socket: Socket, code: ErrorCode, detail: string): void {
  app.connections.refuse(socket, () => {
    app.countProblem(code)
    const [status] = ERROR_CODES[code]
    const body = renderProblem(new ApiError(code, detail), `req_${randomBytes(16).toString('hex')}`)
    return (
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: ${PROBLEM_TYPE}\r\n` +
      // RFC 9110 §15.5.6 requires Allow in a 405.
      `${status === 405 ? 'Allow: \r\n' : ''}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    )
  })
}

/**
 * Refuses requests whose headers are ambiguous or require an unsupported feature. MUST be registered before code that
 * relies on headers.
 */
export function refuseMalformedHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers, httpVersion, method } = request.raw
    const { host, expect, 'transfer-encoding': coding, 'content-length': length = '0' } = headers
    // Node joins two Host lines with a comma and a space. The joined text is not a valid host.
    if (host === undefined ? httpVersion === '1.1' : !HOST.test(host))
      return done(
        new ApiError('bad_request', 'send one `Host`: a name or an address, and a port if there is one'),
      )
    if (expect !== undefined && !listOf(expect).every((one) => /^100-continue$/i.test(one)))
      return done(new ApiError('expectation_failed', 'the only `Expect` that is supported is 100-continue'))
    if (coding !== undefined && !/^chunked$/i.test(coding))
      return done(
        new ApiError('transfer_coding_unknown', 'the only transfer coding that is supported is chunked'),
      )
    // OPTIONS requests are accepted under any load, so the server must not have to read a body for them.
    if (method === 'OPTIONS' && (coding !== undefined || Number(length) > 0))
      return done(new ApiError('bad_request', 'OPTIONS must have no body here'))
    done()
  })
}

/**
 * The form of a Host header is `uri-host [":" port]` (RFC 9112 §3.2). It may be empty, if the address has no authority.
 */
const HOST = /^(?:\[[\w.:%~-]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/
