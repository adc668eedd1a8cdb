import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiError } from '../../errors.ts'
import { mediaTypeOf } from '../../proof/http-fields.ts'
import type { OtlpSignal } from '../../records/otlp/items.ts'
import type { Rejected } from '../../records/otlp/notarize-otlp.ts'
import { sendJson } from './send-json.ts'

/*
 * Sends answers of OTLP in the encoding of the request. The messages are small and flat, so this file encodes
 * protobuf itself.
 */

export const PROTOBUF_TYPE = 'application/x-protobuf'

export function isProtobuf({ headers }: FastifyRequest): boolean {
  return mediaTypeOf(headers['content-type']) === PROTOBUF_TYPE
}

/** Sends an Export…ServiceResponse. The response is empty if everything was accepted without a warning. */
export function sendExported(
  request: FastifyRequest,
  reply: FastifyReply,
  signal: OtlpSignal,
  { rejected, message }: Rejected,
): FastifyReply {
  if (isProtobuf(request)) {
    const partial = Buffer.concat([varintField(1, rejected), bytesField(2, Buffer.from(message))])
    return reply.header('content-type', PROTOBUF_TYPE).send(bytesField(1, partial))
  }
  const name = signal === 'traces' ? 'rejectedSpans' : 'rejectedLogRecords'
  // Protobuf's JSON writes 64-bit integers as text.
  const partialSuccess = { [name]: String(rejected), errorMessage: message }
  return sendJson(reply, JSON.stringify(message === '' ? {} : { partialSuccess }))
}

/**
 * Sends an error as google.rpc.Status, which OTLP requires instead of a problem document. An exporter tries again
 * only after the statuses 429, 502, 503 and 504.
 */
export function sendStatus(request: FastifyRequest, reply: FastifyReply, error: ApiError): FastifyReply {
  const status = otlpStatus(error.status)
  const code = RPC_CODES[status] ?? UNKNOWN
  const message = `${error.code}: ${error.message}`
  reply.code(status)
  if (isProtobuf(request))
    return reply
      .header('content-type', PROTOBUF_TYPE)
      .send(Buffer.concat([varintField(1, code), bytesField(2, Buffer.from(message))]))
  return sendJson(reply, JSON.stringify({ code, message }))
}

/** Returns the status for an OTLP answer. OTLP uses only 400 for requests that a server cannot process. */
export function otlpStatus(status: number): number {
  return status === 422 ? 400 : status
}

const UNKNOWN = 2
/** Maps an HTTP status to a google.rpc.Code. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  403: 7,
  404: 5,
  409: 10,
  413: 3,
  415: 3,
  429: 8,
  500: 13,
  503: 14,
}

function varintField(field: number, value: number): Buffer {
  return value === 0 ? Buffer.alloc(0) : Buffer.from([field << 3, ...varint(value)])
}

function bytesField(field: number, bytes: Buffer): Buffer {
  return bytes.length === 0
    ? Buffer.alloc(0)
    : Buffer.concat([Buffer.from([(field << 3) | 2, ...varint(bytes.length)]), bytes])
}

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]
}
