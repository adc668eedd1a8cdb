import type { FastifyRequest } from 'fastify'
import { RATE_LIMIT_BYTES_PER_REQUEST, RATE_LIMIT_RECORDS_PER_REQUEST } from '../../ledgers/limits.ts'
import { JSON_THREAD_MS_MAX } from '../../load/limits.ts'
import { ownBuffer } from '../../load/threads/parse-json.ts'
import { contentCodingsOf } from '../../proof/http-fields.ts'
import type { OtlpSignal } from '../../records/otlp/items.ts'
import type { Grouped } from '../../records/otlp/known-items.ts'
import type { OtlpRead } from '../../records/otlp/notarize-otlp.ts'
import { isProtobuf } from '../answers/otlp-answers.ts'
import { sendersOf } from '../connections/owner.ts'
import { ValidatedBody } from '../zod-validation.ts'
import { requireRead } from './refused-body.ts'
import type { Threads } from './threads.ts'

export class OtlpBody extends ValidatedBody {
  readonly read: OtlpRead
  readonly #again: (known: Grouped) => Promise<OtlpRead>

  constructor(read: OtlpRead, again: (known: Grouped) => Promise<OtlpRead>) {
    super()
    this.read = read
    this.#again = again
  }

  /** Reads the body again, but leaves out the spans or logs in `known`. */
  readWithout(known: Grouped): Promise<OtlpRead> {
    return this.#again(known)
  }

  /**
   * Cost for rate limits, as a number of requests. The cost is that of a batch with the same number of records or
   * bytes. The number of bytes is that of the body, or that of the records built from the body if it is larger.
   */
  get cost(): number {
    const { batches, bytes } = this.read
    const count = batches.reduce((sum, { built }) => sum + built.count, 0)
    return Math.max(count / RATE_LIMIT_RECORDS_PER_REQUEST, Math.floor(bytes / RATE_LIMIT_BYTES_PER_REQUEST))
  }
}

/** Returns true if gzip is the only content coding of the body. */
export function isGzip({ headers }: FastifyRequest): boolean {
  const codings = contentCodingsOf(headers['content-encoding'])
  return codings.length === 1 && codings[0] === 'gzip'
}

/**
 * Reads a body of OTLP in a thread, because a small compressed body may decompress to a large one. Throws ApiError
 * and ThreadError.
 */
export async function readOtlpBody(
  threads: Threads,
  request: FastifyRequest,
  { signal, body }: { readonly signal: OtlpSignal; readonly body: Buffer },
): Promise<OtlpBody> {
  const { caller } = request
  const about = {
    signal,
    isJson: !isProtobuf(request),
    isCompressed: isGzip(request),
    settings: caller.otlp,
    actor: caller.agentId,
    subjectSalt: caller.subjectSalt,
  }
  const read = async (known: Grouped): Promise<OtlpRead> => {
    // The body is copied, because it may have to be read again without the spans that the ledger already has.
    const bytes = ownBuffer(Buffer.from(body))
    const options = { ...sendersOf(request), bytes: bytes.length, msMax: JSON_THREAD_MS_MAX }
    return requireRead(
      await threads.run('readOtlp', { ...about, bytes, known }, { ...options, transfer: [bytes.buffer] }),
    )
  }
  return new OtlpBody(await read(new Map()), read)
}
