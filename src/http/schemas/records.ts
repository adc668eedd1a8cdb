import { z } from 'zod'
import { BATCH_ITEMS_MAX } from '../../limits.ts'

const typeName = z
  .string()
  .regex(/^[a-z][a-z0-9.-]{0,62}\/[1-9][0-9]{0,8}$/)
  .describe('name/version of a type of the ledger')

/**
 * Checked for being a real time of day, and brought to milliseconds, by `parseTime`. Not of the year 0: the Postgres
 * driver reads its 29 February as 1 March, and a batch's items would no longer be the ones that were signed.
 */
const time = z
  .string()
  .regex(/^(?!0000)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/)
  .describe('RFC 3339, UTC, at most milliseconds')

const salt = z
  .string()
  .regex(/^[A-Za-z0-9_-]{21}[AQgw]$/)
  .describe('16 bytes, base64url without padding')

const document = z
  .looseObject({})
  .describe('any JSON object, kept beside the chain and signed by salted digest')
const agentId = z.string().regex(/^agt_[0-7][0-9a-hjkmnp-tv-z]{25}$/)

const item = {
  type: typeName,
  payload: document,
  metadata: z.looseObject({}).describe('free, unsigned').optional(),
  occurredAt: time.optional(),
  onBehalfOf: agentId.optional(),
}

export const notarizeBody = z.strictObject({ ...item, salt: salt.optional() })
export const batchBody = z.strictObject({
  records: z.array(z.strictObject(item)).min(1).max(BATCH_ITEMS_MAX),
})

export const recordParams = z.strictObject({ id: z.string() })
