import { z } from 'zod'
import { HOLDS_NAMED_MAX } from '../../db/limits.ts'
import { ERROR_CODES, type ErrorCode } from '../../errors.ts'
import { SCOPES } from '../../ledgers/scopes.ts'
import { RECORD_STATES } from '../../proof/statement/kinds.ts'
import { STEP_ROLES } from '../../records/lifecycle.ts'
import { entryKind, idOf, instant, seq, typeName } from './common.ts'
import { remaining } from './erasures.ts'

const codes = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]

/**
 * A problem document of RFC 9457. Optional members are present only if they apply. Every member that `members` of an
 * ApiError may contain is listed here.
 */
export const problem = z
  .strictObject({
    type: z.string().describe('a URI that names the code; not an address to fetch'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().describe('what is wrong, for people; the text may change'),
    code: z.enum(codes).describe('the error, for programs; stable'),
    requestId: z.string().regex(/^req_[0-9a-f]{32}$/),
    retryable: z.boolean().describe('whether the same request may succeed later'),
    reason: z
      .string()
      .describe(
        'why an envelope is not accepted: a code of docs/formats/envelopes.md or docs/formats/statements.md',
      )
      .optional(),
    path: z
      .string()
      .describe(
        'JSON Pointer to the invalid member, or to the object in which a member is missing or unknown',
      )
      .optional(),
    index: z.int().min(0).describe('index of the item in the batch').optional(),
    scope: z
      .enum(SCOPES)
      .describe('the first of the scopes that would do: `detail` names all of them')
      .optional(),
    scopes: z.array(z.enum(SCOPES)).describe('the scopes that the key lacks').optional(),
    expiresAt: instant.describe('when the secret that was sent expires').optional(),
    recordType: typeName.optional(),
    seq: seq
      .describe('seq of the entry that ended the target, or of the offer that must be decided first')
      .optional(),
    remaining: remaining.optional(),
    holds: z
      .array(z.strictObject({ seq, case: z.string() }))
      .max(HOLDS_NAMED_MAX)
      .describe('holds that prevent the erasure, oldest first')
      .optional(),
    state: z.enum(RECORD_STATES).describe('state of the record, which does not allow the request').optional(),
    version: z.int().min(1).describe('version of the record').optional(),
    nextEvents: z
      .array(entryKind)
      .describe('kinds of entries that the record’s state allows next')
      .optional(),
    webhook: idOf('whk').describe('the existing webhook that is identical').optional(),
    role: z.enum(STEP_ROLES).describe('the party that may take the step').optional(),
    ledger: idOf('led').describe('the home of the record').optional(),
    resetsAt: instant.describe('when the day of the peering’s budget ends').optional(),
  })
  .meta({ id: 'Problem' })
