import { JSON_TOKENS_MAX } from '../../load/limits.ts'
import { JSON_DEPTH_MAX } from '../../proof/request-limits.ts'
import {
  type BatchContext,
  type BatchRequestItem,
  type BuiltBatch,
  buildBatch,
} from '../../records/write/build-batch.ts'
import { makeEntropy } from '../../signing/entropy.ts'
import { batchBody } from '../schemas/records.ts'
import { validate } from '../zod-validation.ts'
import { parseBody } from './json-refusals.ts'
import { orRefused, type RefusedBody } from './refused-body.ts'

const entropy = makeEntropy()

/**
 * Reads the body of POST /v1/records/batch: parses it, validates it, and builds the batch to append. A refusal is
 * returned, not thrown.
 */
export function readBatch(given: {
  readonly bytes: Uint8Array
  readonly about: BatchContext
}): BuiltBatch | RefusedBody {
  return orRefused(() => {
    const { bytes, about } = given
    const body = parseBody(bytes, { depthMax: JSON_DEPTH_MAX, tokensMax: JSON_TOKENS_MAX })
    const { records, envelope } = validate(batchBody, 'body', body) as {
      records: BatchRequestItem[]
      envelope?: string
    }
    return buildBatch(entropy, records, { ...about, envelope })
  })
}
