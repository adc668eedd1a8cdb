import { JSON_DEPTH_MAX, JSON_TOKENS_MAX } from '../append/limits.ts'
import { ApiError } from '../errors.ts'
import {
  type BatchAbout,
  type BatchRequestItem,
  type BuiltBatch,
  buildBatch,
} from '../records/build-batch.ts'
import { makeEntropy } from '../signing/entropy.ts'
import { parseBody } from './json-refusals.ts'
import { batchBody } from './schemas/records.ts'
import { validate } from './zod-validation.ts'

/** Refusal as a value, because an error does not pass between threads as it is. */
type RefusedBatch = { readonly refused: Pick<ApiError, 'code' | 'message' | 'members'> }

const entropy = makeEntropy()

/** The body of POST /v1/records/batch, from its bytes to what is appended. */
export function readBatch(given: {
  readonly bytes: Uint8Array
  readonly about: BatchAbout
}): BuiltBatch | RefusedBatch {
  try {
    const { bytes, about } = given
    const body = parseBody(bytes, { depthMax: JSON_DEPTH_MAX, tokensMax: JSON_TOKENS_MAX })
    const { records } = validate(batchBody, 'body', body) as { records: BatchRequestItem[] }
    return buildBatch(entropy, records, about)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return { refused: { code: error.code, message: error.message, members: error.members } }
  }
}
