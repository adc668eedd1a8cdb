/**
 * Reasons why a TLS handshake failed: codes of Node and OpenSSL that name a cause. docs/guides/webhooks.md says what to
 * do about each.
 *
 * The list is closed because tenants read the reason. Neither a peer nor a new version of OpenSSL can add text to it.
 */
export const TLS_REASONS = [
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_ALERT_PROTOCOL_VERSION',
  'ERR_SSL_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_ALERT_NO_APPLICATION_PROTOCOL',
  'ERR_SSL_ALERT_UNRECOGNIZED_NAME',
  'ERR_SSL_ALERT_INTERNAL_ERROR',
  'ERR_SSL_ALERT_BAD_CERTIFICATE',
  'ECONNRESET',
  'OTHER',
] as const
export type TlsReason = (typeof TLS_REASONS)[number]

/**
 * Maps the `code` of a Node error to a reason. Codes of TLS alerts are normalised first, because versions of OpenSSL
 * put different TLS versions into them.
 */
export function tlsReasonOf(code: string | undefined): TlsReason {
  const known = code?.replace(/^ERR_SSL_(?:SSL\/TLS|SSLV3|TLSV1|TLSV13)_(?:ALERT_)?/, 'ERR_SSL_ALERT_')
  return TLS_REASONS.find((reason) => reason === known) ?? 'OTHER'
}
