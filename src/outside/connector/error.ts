import { type TlsReason, tlsReasonOf } from './tls-reasons.ts'

/** Why a request has no answer. If the whole request was sent, the peer may have acted on it. */
export type OutboundErrorCode =
  /** checkOutboundUrl refuses the URL, so nothing can ever be delivered to it. */
  | 'url_refused'
  /** No resolved address is public or allowed, or a local name does not resolve. */
  | 'address_refused'
  /** The URL is plain HTTP or has another protocol's port, and its address is not allowed. */
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
  url_refused: 'the URL is not allowed',
  address_refused: 'no address of the host is public or allowed by the operator',
  insecure: 'http:, and ports of other protocols, are only for addresses that the operator allows',
  dns_failed: 'the host name could not be resolved',
  connect_failed: 'no connection could be made',
  connect_timeout: 'no connection was made in time',
  tls_failed: 'the TLS handshake failed',
  timeout: 'no answer came in time',
  reset: 'the connection was closed before the answer',
  malformed_answer: 'the answer is not HTTP/1.1 within the limits',
  aborted: 'the request was cancelled',
}

export const OUTBOUND_ERROR_CODES = Object.keys(SENTENCES) as readonly OutboundErrorCode[]

/**
 * Thrown for a request without an answer. Tenants read its message.
 *
 * The message MUST NOT contain an address or bytes of the peer, because they would reveal the internal network. So the
 * message is made from the code, and `cause` is dropped.
 */
export class OutboundError extends Error {
  readonly code: OutboundErrorCode

  /** Why the TLS handshake failed. null for every other error. */
  readonly reason: TlsReason | null

  /** `detail`: a system error code (`ECONNREFUSED`), or a sentence written by us. */
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

export function tlsFailed(code: string | undefined): OutboundError {
  const reason = tlsReasonOf(code)
  return new OutboundError('tls_failed', reason, { reason })
}
