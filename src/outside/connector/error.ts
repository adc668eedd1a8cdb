import { type TlsReason, tlsReasonOf } from './tls-reasons.ts'

/** Why a request has no answer. The peer may have done what a request asks whose last bytes were sent. */
export type OutboundErrorCode =
  /** The URL is none that is delivered to; see checkOutboundUrl. */
  | 'url_refused'
  /** The address, or each one that the name resolves to, is neither public nor allowed; or a local name has none. */
  | 'address_refused'
  /** Plain HTTP, or the port of another protocol, to an address that is not allowed. */
  | 'insecure'
  | 'dns_failed'
  | 'connect_failed'
  | 'connect_timeout'
  | 'tls_failed'
  | 'timeout'
  | 'reset'
  | 'malformed_answer'
  | 'aborted'

const SENTENCES: Readonly<Record<OutboundErrorCode, string>> = {
  url_refused: 'the URL cannot be delivered to',
  address_refused: 'the host has no public address, and no address that the operator allows',
  insecure: 'http:, or the port of another protocol, is only for addresses that the operator allows',
  dns_failed: 'the host name could not be resolved',
  connect_failed: 'no connection could be made',
  connect_timeout: 'no connection was made in time',
  tls_failed: 'the TLS handshake failed',
  timeout: 'no answer came in time',
  reset: 'the connection was cut before an answer came',
  malformed_answer: 'the answer is not HTTP/1.1 within the limits',
  aborted: 'the request was given up',
}

export const OUTBOUND_ERROR_CODES = Object.keys(SENTENCES) as readonly OutboundErrorCode[]

/**
 * Tenants read its message: it MUST NOT hold an address or what the peer sent, which tell of the network behind us. So
 * it is made from the code, and `cause` is not kept.
 */
export class OutboundError extends Error {
  readonly code: OutboundErrorCode

  /** Why the handshake failed. null: it did not. */
  readonly reason: TlsReason | null

  /** `detail`: the code of a system (`ECONNREFUSED`), or a sentence of ours. */
  constructor(
    code: OutboundErrorCode,
    detail: string | null = null,
    { reason = null }: { readonly reason?: TlsReason | null } = {},
  ) {
    super(detail === null ? SENTENCES[code] : `${SENTENCES[code]} (${detail})`)
    this.name = 'OutboundError'
    this.code = code
    this.reason = reason
  }
}

/** `code`: of Node's error. */
export function tlsFailed(code: string | undefined): OutboundError {
  const reason = tlsReasonOf(code)
  return new OutboundError('tls_failed', reason, { reason })
}
