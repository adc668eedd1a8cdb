import type { FastifyRequest } from 'fastify'
import { JSON_THREAD_MS_MAX } from '../../load/limits.ts'
import { ownBuffer } from '../../load/threads/parse-json.ts'
import type { ThreadPool } from '../../load/threads/pool.ts'
import { JSON_DEPTH_MAX } from '../../proof/request-limits.ts'
import { SaltedText } from '../../records/documents.ts'
import { sendersOf } from '../connections/owner.ts'
import { requestOf } from '../idempotency.ts'
import { RECORD_THREAD_BYTES_MIN } from '../limits.ts'
import { ValidatedBody } from '../zod-validation.ts'
import { parseBody } from './json-refusals.ts'
import type { ReadRecord, readRecord } from './read-record.ts'
import { requireRead } from './refused-body.ts'

export class RecordBody extends ValidatedBody {
  readonly members: ReadRecord['members'] & { readonly payload: SaltedText }
  readonly requestHash: Uint8Array | null

  constructor({ members, payload, requestHash }: ReadRecord) {
    super()
    this.members = { ...members, payload: new SaltedText(payload) }
    this.requestHash = requestHash
  }
}

/**
 * Reads the body of a record. A thread reads a large body. A small body is read here and returned as a plain value.
 * Throws ApiError and ThreadError.
 */
export async function readRecordBody(
  threads: ThreadPool<{ readRecord: typeof readRecord }>,
  request: FastifyRequest,
  body: Buffer,
): Promise<object> {
  if (body.length < RECORD_THREAD_BYTES_MIN) return parseBody(body, { depthMax: JSON_DEPTH_MAX }) as object
  const hashed = request.headers['idempotency-key'] === undefined ? null : requestOf(request)
  const bytes = ownBuffer(body)
  const options = { ...sendersOf(request), bytes: bytes.length, msMax: JSON_THREAD_MS_MAX }
  const given = { bytes, request: hashed }
  const read = await threads.run('readRecord', given, { ...options, transfer: [bytes.buffer] })
  return new RecordBody(requireRead(read))
}
