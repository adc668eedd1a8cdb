import { concat, utf8Decode, utf8Encode } from '../../src/proof/bytes.ts'
import { asBytes, type Bytes } from '../bytes.ts'
import { nowMs } from '../clock.ts'
import { UsageError } from '../errors.ts'
import { WebhookVerificationError } from './errors.ts'
import type { VerifiedWebhook } from './events.ts'
import { readHead, type WebhookHeaders } from './headers.ts'
import { type OneOrMore, parseKeys } from './keys.ts'
import { verifySignatures } from './signatures.ts'

/** Keys of one endpoint: `secret`, `publicKey`, or both. With both, both signatures must be valid. */
export type WebhookOptions = {
  /** `whsec_…`. Whoever has the secret can also sign. During a rotation pass the old and the new secret. */
  readonly secret?: OneOrMore | undefined
  /** `whpk_…`. Only the ledger can sign for this key. */
  readonly publicKey?: OneOrMore | undefined
  /** Maximum accepted difference between `webhook-timestamp` and `now`, in either direction. Default: 300. */
  readonly toleranceSeconds?: number | undefined
  /** Time at which a stored webhook arrived. Default: the current time. */
  readonly now?: Date | undefined
}

const TOLERANCE_SECONDS = 300

/**
 * Verifies that the ledger sent this webhook within the tolerance (Standard Webhooks). Returns the event. Throws
 * WebhookVerificationError, or UsageError for invalid options.
 *
 * `body` is the text or bytes as received, before any parsing. A webhook may arrive more than once, so act only once
 * for each `id`. For a settlement signal use `verify.signal`.
 */
export async function verify(
  body: string | Bytes,
  headers: WebhookHeaders,
  options: WebhookOptions,
): Promise<VerifiedWebhook> {
  const received = receivedBytes(body)
  const keys = parseKeys(options)
  const { id, timestamp, signatures } = readHead(headers)
  const head = utf8Encode(`${id}.${timestamp}.`)
  // Copies the body and later parses only the copy. Other code may overwrite a pooled Buffer while a signature is
  // checked.
  const message = concat([head, received])
  const sentAt = verifyTime(Number(timestamp), options)
  await verifySignatures(signatures, message, keys)
  return { id, sentAt, ...parseEvent(message.subarray(head.length)) } as VerifiedWebhook
}

/** Returns the bytes of the body. Only these bytes are verified and parsed. */
function receivedBytes(body: string | Bytes): Uint8Array {
  const bytes = typeof body === 'string' ? utf8Encode(body) : asBytes(body)
  if (bytes !== null) return bytes
  throw new UsageError(
    'body must be the text or the bytes as received: the signature is over them, and JSON.stringify of a parsed body is not ' +
      'the same. What to do: read the body before the parser (await request.text() or .arrayBuffer(), express.raw(), a content type parser of Fastify)',
  )
}

function verifyTime(
  seconds: number,
  { now, toleranceSeconds = TOLERANCE_SECONDS }: Pick<WebhookOptions, 'now' | 'toleranceSeconds'>,
): Date {
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0)
    throw new UsageError('the option `toleranceSeconds` must be a number, 0 or more')
  const ageSeconds = Math.floor(nowMs(now) / 1000) - seconds
  if (ageSeconds > toleranceSeconds)
    throw new WebhookVerificationError('timestamp_too_old', `it was sent ${ageSeconds} s ago by this clock`)
  if (-ageSeconds > toleranceSeconds)
    throw new WebhookVerificationError(
      'timestamp_in_future',
      `it was sent ${-ageSeconds} s in the future by this clock`,
    )
  return new Date(seconds * 1000)
}

function parseEvent(bytes: Uint8Array): { type: string; timestamp: string; data: unknown } {
  const { type, timestamp, data } = parseObject(bytes)
  if (typeof type !== 'string' || typeof timestamp !== 'string' || data === undefined)
    throw new WebhookVerificationError('body_invalid', 'it is signed, but has no type, timestamp and data')
  return { type, timestamp, data }
}

function parseObject(bytes: Uint8Array): { type?: unknown; timestamp?: unknown; data?: unknown } {
  try {
    const value: unknown = JSON.parse(utf8Decode(bytes))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // The parser's error is ignored, because its message quotes the body.
  }
  throw new WebhookVerificationError('body_invalid', 'it is signed, but not a JSON object')
}
