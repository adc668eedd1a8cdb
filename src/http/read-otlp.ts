import { gunzipSync } from 'node:zlib'
import { JSON_TOKENS_MAX } from '../append/limits.ts'
import { ApiError } from '../errors.ts'
import type { OtlpSettings } from '../ledgers/otlp-settings.ts'
import type { Uuid } from '../proof/ids.ts'
import { buildBatch } from '../records/build-batch.ts'
import { OtlpError } from '../records/otlp/error.ts'
import { itemsOf, type OtlpItem, type OtlpSignal } from '../records/otlp/items.ts'
import type { Grouped } from '../records/otlp/known-items.ts'
import { OTLP_BATCH_RECORDS_MAX, OTLP_JSON_DEPTH_MAX, OTLP_PLAIN_BYTES_MAX } from '../records/otlp/limits.ts'
import { LOGS, TRACES } from '../records/otlp/messages.ts'
import type { OtlpRead } from '../records/otlp/notarize-otlp.ts'
import { readJson } from '../records/otlp/read-json.ts'
import { readProtobuf } from '../records/otlp/read-protobuf.ts'
import { makeEntropy } from '../signing/entropy.ts'
import { parseBody } from './json-refusals.ts'
import { orRefused, type RefusedBody } from './refused-body.ts'

const entropy = makeEntropy()

export type OtlpRequest = {
  readonly bytes: Uint8Array
  readonly signal: OtlpSignal
  readonly isJson: boolean
  readonly isCompressed: boolean
  readonly settings: OtlpSettings
  /** The agent that notarizes. */
  readonly actor: Uuid
  readonly subjectSalt: Uint8Array
  /** Spans and logs to leave out. */
  readonly known: Grouped
}

/** The body of a request of OTLP, from its bytes to the batches that are appended. */
export function readOtlp({ actor, subjectSalt, known, ...request }: OtlpRequest): OtlpRead | RefusedBody {
  return orRefused(() => {
    const plain = request.isCompressed ? decompress(request.bytes) : request.bytes
    const { items, rejected, message } = read(plain, request)
    const left = known.size === 0 ? items : withoutKnown(items, known)
    const batches: OtlpRead['batches'][number][] = []
    for (let start = 0; start < left.length; start += OTLP_BATCH_RECORDS_MAX) {
      const part = left.slice(start, start + OTLP_BATCH_RECORDS_MAX)
      const about = { actor, subjectSalt, traceparent: null, request: null }
      const built = buildBatch(
        entropy,
        part.map(({ record }) => record),
        about,
      )
      // No answer of OTLP shows the records.
      batches.push({ built: { ...built, answer: '' }, items: grouped(part) })
    }
    return { batches, rejected, message, bytes: plain.length }
  })
}

type About = Pick<OtlpRequest, 'signal' | 'isJson' | 'settings'>

function read(plain: Uint8Array, { signal, isJson, settings }: About) {
  const message = signal === 'traces' ? TRACES : LOGS
  try {
    const limits = { depthMax: OTLP_JSON_DEPTH_MAX, tokensMax: JSON_TOKENS_MAX }
    const request = isJson ? readJson(parseBody(plain, limits), message) : readProtobuf(plain, message)
    return itemsOf(signal, request, settings)
  } catch (error) {
    if (!(error instanceof OtlpError)) throw error
    throw new ApiError('bad_otlp', error.message)
  }
}

/** A few bytes may say that they become gigabytes: they are decompressed as far as a body may be. */
function decompress(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: OTLP_PLAIN_BYTES_MAX })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new ApiError(
        'body_too_large',
        `the body must have at most ${OTLP_PLAIN_BYTES_MAX} bytes when it is decompressed`,
      )
    throw new ApiError('bad_otlp', 'the body is not gzip, as content-encoding says')
  }
}

function withoutKnown(items: readonly OtlpItem[], known: Grouped): OtlpItem[] {
  const sets = new Map(Array.from(known, ([group, identities]) => [group, new Set(identities)]))
  return items.filter(({ group, identity }) => !sets.get(group)?.has(identity))
}

function grouped(items: readonly OtlpItem[]): Grouped {
  const groups = Map.groupBy(items, ({ group }) => group)
  return new Map(Array.from(groups, ([group, of]) => [group, of.map(({ identity }) => identity)]))
}
