import type { FastifyRequest } from 'fastify'
import { JSON_THREAD_MS_MAX } from '../../load/limits.ts'
import { ownBuffer } from '../../load/threads/parse-json.ts'
import type { ThreadPool } from '../../load/threads/pool.ts'
import { isCheap } from '../../proof/json/json-text.ts'
import { JSON_DEPTH_MAX } from '../../proof/request-limits.ts'
import type { BatchContext, BuiltBatch } from '../../records/write/build-batch.ts'
import { sendersOf } from '../connections/owner.ts'
import { requestOf } from '../idempotency.ts'
import { BATCH_LOOP_TOKENS_MAX, BATCH_THREAD_BYTES_MIN } from '../limits.ts'
import { traceparentOf } from '../traceparent.ts'
import { ValidatedBody } from '../zod-validation.ts'
import { readBatch } from './read-batch.ts'
import { requireRead } from './refused-body.ts'

export class BatchBody extends ValidatedBody {
  readonly built: BuiltBatch

  constructor(built: BuiltBatch) {
    super()
    this.built = built
  }
}

/**
 * Reads the body of a batch. A small body is read on the event loop, any other body in a thread. Throws ApiError and
 * ThreadError.
 */
export async function readBatchBody(
  threads: ThreadPool<{ readBatch: typeof readBatch }>,
  request: FastifyRequest,
  body: Buffer,
): Promise<BatchBody> {
  const { caller, headers } = request
  const about: BatchContext = {
    actor: caller.agentId,
    subjectSalt: caller.subjectSalt,
    traceparent: traceparentOf(request),
    request: headers['idempotency-key'] === undefined ? null : requestOf(request),
  }
  const read = isSmall(body) ? readBatch({ bytes: body, about }) : await inThread(ownBuffer(body))
  return new BatchBody(requireRead(read))

  function inThread(bytes: Uint8Array<ArrayBuffer>) {
    const options = { ...sendersOf(request), bytes: bytes.length, msMax: JSON_THREAD_MS_MAX }
    return threads.run('readBatch', { bytes, about }, { ...options, transfer: [bytes.buffer] })
  }
}

/**
 * Returns true if the body has few bytes and few names and values. 16 KiB of the smallest items take 3 ms, 16 KiB of
 * usual records 0.4 ms.
 */
function isSmall(body: Buffer): boolean {
  if (body.length >= BATCH_THREAD_BYTES_MIN) return false
  return isCheap(body.toString('latin1'), { depthMax: JSON_DEPTH_MAX, tokensMax: BATCH_LOOP_TOKENS_MAX })
}
