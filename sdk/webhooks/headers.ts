import { UsageError } from '../errors.ts'
import { WebhookVerificationError } from './errors.ts'

/**
 * Headers of a request: `Headers`, node:http's `request.headers`, or any object that maps names to values. Names may be
 * in upper or lower case.
 */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export type Signature = { readonly version: string; readonly value: string }

/** The signed headers as received, and the parsed signatures. */
export type WebhookHead = {
  readonly id: string
  /** Seconds since 1970, as decimal digits. */
  readonly timestamp: string
  readonly signatures: readonly Signature[]
}

/**
 * Maximum number of signatures. It is larger than any rotation needs. Without a limit, the sender could make the
 * receiver check any number of signatures.
 */
const SIGNATURES_MAX = 32

/*
 * If a header occurs more than once, its values arrive joined by commas. So the patterns of all headers except the
 * signatures exclude commas.
 */
/** Pattern of an id. It excludes dots, because the signed text is `id.timestamp.body` and must be unambiguous. */
const ID = /^[!-+\-/-~]{1,255}$/
const TIMESTAMP = /^(?:0|[1-9]\d{0,11})$/
const SIGNATURE = /^([^\s,]+),([^\s,]+)$/

/** Reads the three headers. Throws WebhookVerificationError `header_missing` or `header_invalid`. */
export function readHead(headers: WebhookHeaders): WebhookHead {
  if (typeof headers !== 'object' || headers === null)
    throw new UsageError(
      '`headers` must be the headers of the request, as Headers or as an object of names and values',
    )
  const id = readHeader(headers, 'webhook-id', ID)
  const timestamp = readHeader(headers, 'webhook-timestamp', TIMESTAMP)
  const list = readHeader(headers, 'webhook-signature', /./).split(' ', SIGNATURES_MAX + 1)
  if (list.length > SIGNATURES_MAX)
    throw new WebhookVerificationError('header_invalid', `there are more than ${SIGNATURES_MAX} signatures`)
  return { id, timestamp, signatures: list.map(parseSignature) }
}

function readHeader(headers: WebhookHeaders, name: string, format: RegExp): string {
  const [value, ...others] = valuesOf(headers, name)
  if (value === undefined) throw new WebhookVerificationError('header_missing', `there is no ${name}`)
  if (others.length > 0) throw new WebhookVerificationError('header_invalid', `${name} is there twice`)
  if (typeof value !== 'string' || !format.test(value))
    throw new WebhookVerificationError('header_invalid', `${name} has the wrong format, or is there twice`)
  return value
}

function valuesOf(headers: WebhookHeaders, name: string): unknown[] {
  const values = isHeaders(headers)
    ? [headers.get(name)]
    : Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []))
  return values.filter((value) => value !== undefined && value !== null)
}

function isHeaders(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function'
}

function parseSignature(text: string): Signature {
  const [, version, value] = SIGNATURE.exec(text) ?? []
  if (version === undefined || value === undefined)
    throw new WebhookVerificationError('header_invalid', 'webhook-signature is not a list of signatures')
  return { version, value }
}
