import { z } from 'zod'
import {
  RATE_LIMIT_BURST_MAX,
  RATE_LIMIT_PER_SECOND_MAX,
  RATE_LIMIT_PER_SECOND_MIN,
} from '../../ledgers/limits.ts'

/** A rate limit. Its numbers are stored as 4-byte floats, and the answer shows the stored numbers. */
export const rateLimit = z.strictObject({
  requestsPerSecond: z.number().min(RATE_LIMIT_PER_SECOND_MIN).max(RATE_LIMIT_PER_SECOND_MAX),
  burst: z
    .int()
    .min(1)
    .max(RATE_LIMIT_BURST_MAX)
    .describe('number of requests that are accepted at once after a pause'),
})

/**
 * The limit is a member of the body, because a missing body is read as null. If null alone meant "no limit", a missing
 * body would remove the limit.
 */
export const rateLimitBody = z
  .strictObject({ rateLimit: rateLimit.nullable().describe('null: no limit') })
  .meta({ examples: [{ rateLimit: { requestsPerSecond: 100, burst: 200 } }, { rateLimit: null }] })
export const rateLimitAnswer = z.strictObject({ rateLimit: rateLimit.nullable() })
