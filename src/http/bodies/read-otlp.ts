import { gunzipSync } from 'node:zlib'
import { ApiError } from '../../errors.ts'
import { JSON_TOKENS_MAX } from '../../load/limits.ts'
import { ProofError } from '../../proof/error.ts'
import type { Uuid } from '../../proof/ids.ts'
import { refuseCost } from '../../proof/json/json-text.ts'
import { OtlpError } from '../../records/otlp/error.ts'
import { itemsOf, type OtlpContext, type OtlpItem, type OtlpSignal } from '../../records/otlp/items.ts'
import type { Grouped } from '../../records/otlp/known-items.ts'
import { OTLP_BATCH_RECORDS_MAX, OTLP_PLAIN_BYTES_MAX } from '../../records/otlp/limits.ts'
import { LOGS, TRACES } from '../../records/otlp/messages.ts'
import type { OtlpRead } from '../../records/otlp/notarize-otlp.ts'
import { readJson } from '../../records/otlp/read-json.ts'
import { readProtobuf } from '../../records/otlp/read-protobuf.ts'
import { textOfBytes } from '../../records/otlp/text.ts'
import { buildBatch } from '../../records/write/build-batch.ts'
import { makeEntropy } from '../../signing/entropy.ts'
import { refusedFor } from './json-refusals.ts'
import { orRefused, type RefusedBody } from './refused-body.ts'

const entropy = makeEntropy()

export type OtlpRequest = OtlpContext & {
  readonly bytes: Uint8Array
  readonly signal: OtlpSignal
  readonly isJson: boolean
  readonly isCompressed: boolean
  readonly actor: Uuid
}

/** Reads the body of an OTLP request, and builds the batches to append. A refusal is returned, not thrown. */
export function readOtlp(request: OtlpRequest): OtlpRead | RefusedBody {
  return orRefused(() => {
    const plain = request.isCompressed ? decompress(request.bytes) : request.bytes
    const { actor, subjectSalt } = request
    const { items, bytes, rejected, message } = read(plain, request)
    const batches: OtlpRead['batches'][number][] = []
    for (let start = 0; start < items.length; start += OTLP_BATCH_RECORDS_MAX) {
      const part = items.slice(start, start + OTLP_BATCH_RECORDS_MAX)
      const about = { actor, subjectSalt, traceparent: null, request: null }
      const built = buildBatch(
        entropy,
        part.map(({ record }) => record),
        about,
      )
      // The answer text of the batch is dropped, because an OTLP answer does not show the records.
      batches.push({ built: { ...built, answer: '' }, items: grouped(part) })
    }
    return { batches, rejected, message, bytes: Math.max(plain.length, bytes) }
  })
}

function read(plain: Uint8Array, { signal, isJson, ...about }: OtlpRequest) {
  const message = signal === 'traces' ? TRACES : LOGS
  try {
    const request = isJson ? readJson(jsonText(plain), message) : readProtobuf(plain, message)
    return itemsOf(signal, request, about)
  } catch (error) {
    if (error instanceof ProofError) throw refusedFor(error)
    if (!(error instanceof OtlpError)) throw error
    throw new ApiError('bad_otlp', error.message)
  }
}

/**
 * Decodes a JSON text. Checks only the number of tokens. Other checks are made for each span (src/records/otlp), so
 * that an invalid span does not make the whole request fail.
 */
function jsonText({ buffer, byteOffset, byteLength }: Uint8Array): string {
  const text = textOfBytes(Buffer.from(buffer, byteOffset, byteLength))
  refuseCost(text, { depthMax: Number.POSITIVE_INFINITY, tokensMax: JSON_TOKENS_MAX })
  return text
}

/**
 * Decompresses the bytes. The result is limited to OTLP_PLAIN_BYTES_MAX, because a few bytes can decompress to
 * gigabytes.
 */
function decompress(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: OTLP_PLAIN_BYTES_MAX })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new ApiError(
        'body_too_large',
        `the body must have at most ${OTLP_PLAIN_BYTES_MAX} bytes when it is decompressed`,
      )
    throw new ApiError('bad_otlp', 'content-encoding says gzip, but the body is not gzip')
  }
}

function grouped(items: readonly OtlpItem[]): Grouped {
  const groups = Map.groupBy(items, ({ group }) => group)
  return new Map(Array.from(groups, ([group, of]) => [group, of.map(({ identity }) => identity)]))
}
