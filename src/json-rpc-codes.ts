/**
 * Our own codes in JSON-RPC errors. They are outside of the range -32768 to -32000, because all codes of this range are
 * reserved or closed. MCP 2026-07-28 ("Error Codes") reserves -32020 to -32099 and closes -32000 to -32019. JSON-RPC
 * reserves the rest.
 */
export const JSON_RPC_CODES = {
  /** HTTP refused the request before its body was parsed as a JSON-RPC message. */
  refusedByHttp: -31_000,
  /** The proxy does not forward a message, because it cannot record the message. */
  notForwarded: -31_001,
  /** The server behind the proxy gave no answer. */
  noAnswer: -31_002,
} as const

/** Timeout code of MCP's official SDK for TypeScript. The proxy recognizes this code but never sends it. */
export const SDK_TIMEOUT_CODE = -32_001
