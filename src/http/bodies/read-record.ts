import type { z } from 'zod'
import { canonicalTolerances } from '../../ledgers/types/rules/tolerances.ts'
import { JSON_TOKENS_MAX } from '../../load/limits.ts'
import { JSON_DEPTH_MAX } from '../../proof/request-limits.ts'
import { canonicalMetadata, type SaltedDocument, saltDocument } from '../../records/documents.ts'
import { hashRequest } from '../../records/write/idempotency.ts'
import { makeEntropy } from '../../signing/entropy.ts'
import { notarizeBody } from '../schemas/records.ts'
import { validate } from '../zod-validation.ts'
import { parseBody } from './json-refusals.ts'
import { orRefused, type RefusedBody } from './refused-body.ts'

/**
 * The request for a record, without the value of its payload. Transferring the value between threads would block the
 * event loop longer than any other step.
 */
export type ReadRecord = {
  readonly members: Omit<z.output<typeof notarizeBody>, 'payload'>
  readonly payload: SaltedDocument
  /** H(method, path, JCS(body)). null if the request has no Idempotency-Key. */
  readonly requestHash: Uint8Array | null
}

const entropy = makeEntropy()

/**
 * Reads the body of POST /v1/records, and computes the digest that the record's entry will sign. `request`: is hashed
 * for the Idempotency-Key. null if the request has no such key.
 */
export function readRecord(given: {
  readonly bytes: Uint8Array
  readonly request: { readonly method: string; readonly path: string } | null
}): ReadRecord | RefusedBody {
  return orRefused(() => {
    const { bytes, request } = given
    const parsed = parseBody(bytes, { depthMax: JSON_DEPTH_MAX, tokensMax: JSON_TOKENS_MAX })
    const body = validate(notarizeBody, 'body', parsed) as z.output<typeof notarizeBody>
    const { payload: value, ...members } = body
    const { canonical, salt, digest } = saltDocument(entropy, value, body.salt)
    // Metadata and tolerances that are too large are refused here, because only their values are passed on to the event
    // loop.
    canonicalMetadata(members.metadata)
    if (members.tolerances !== undefined) canonicalTolerances(members.tolerances)
    const requestHash = request && hashRequest({ ...request, body })
    // Salt and digest are copied into buffers of their own. Transferring a view would copy the whole buffer that the
    // view is part of.
    const payload = { canonical, salt: Uint8Array.from(salt), digest: Uint8Array.from(digest) }
    return { members, payload, requestHash }
  })
}
