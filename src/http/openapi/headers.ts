import { ERROR_CODES, type ErrorCode } from '../../errors.ts'
import type { Operation } from './operations.ts'
import { takesIdempotencyKey } from './possible-problems.ts'

type Header = { readonly description: string; readonly schema: object }

const header = (description: string, schema: object = { type: 'string' }): Header => ({ description, schema })

const RETRY_AFTER = header('seconds to wait before the next attempt', { type: 'integer', minimum: 1 })
const REPLAYED = header('`true`: this answer repeats the first answer to the Idempotency-Key', {
  type: 'string',
  const: 'true',
})
const ETAG = header('the record’s version, in quotes, for If-Match and If-None-Match', {
  type: 'string',
})
const LEDGER_SIZE = header(
  'number of entries that the answer covers at least. After a write: up to the written entry. After a read: only if a replica answered',
  { type: 'integer', minimum: 0 },
)
const CHALLENGE = header('the authentication scheme to use', { type: 'string', const: 'Bearer' })
const RATE_LIMITS = {
  RateLimit: header('what is left of each limit, if any is set: `"key";r=9;t=1`'),
  'RateLimit-Policy': header('each limit, if any is set: `"key";q=10;w=1`'),
}

/**
 * Returns the member `headers` of a response: the headers that an answer with this status may have. Returns an empty
 * object if there are none.
 */
export function makeHeaders(operation: Operation, status: number): { headers?: Record<string, Header> } {
  const retryable = operation.problems.some((code) => statusOf(code) === status && isRetryable(code))
  const success = status < 300
  const sized = operation.reads === 'replica' || (operation.reads === null && operation.access !== 'operator')
  const limited = operation.problems.includes('rate_limited')
  const headers = {
    ...(status === 401 && { 'WWW-Authenticate': CHALLENGE }),
    ...((retryable || status === 202 || status === 303) && { 'Retry-After': RETRY_AFTER }),
    ...(limited && (status < 400 || status === 429) && RATE_LIMITS),
    ...((success || status === 303 || status === 304) && sized && { 'Tallystick-Ledger-Size': LEDGER_SIZE }),
    ...((success || status === 304) && answersRecord(operation, success ? status : 200) && { ETag: ETAG }),
    ...(success && takesIdempotencyKey(operation.problems) && { 'Idempotency-Replayed': REPLAYED }),
  }
  return Object.keys(headers).length > 0 ? { headers } : {}
}

function answersRecord({ answers }: Operation, status: number): boolean {
  return answers.some(
    (answer) => Number(answer.status) === status && answer.content?.schema.meta()?.['id'] === 'Record',
  )
}

function statusOf(code: ErrorCode): number {
  return ERROR_CODES[code][0]
}

function isRetryable(code: ErrorCode): boolean {
  return ERROR_CODES[code][2] !== 'no'
}
