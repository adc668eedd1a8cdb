// Requests to addresses that a tenant or a peer has named (src/outside/connector)
export const OUTBOUND_URL_CHARS_MAX = 2_048
/** Whole exchange: DNS, connection, request, answer and one repetition. */
export const OUTBOUND_REQUEST_MS_MAX = 15_000
export const OUTBOUND_CONNECT_MS_MAX = 5_000
/** c-ares doubles it for the second try. Both together leave time to connect. */
export const OUTBOUND_NAME_QUERY_MS = 1_000
export const OUTBOUND_NAME_QUERY_TRIES = 2
export const OUTBOUND_ADDRESSES_MAX = 6
/** Attempt at each address but the last. Longer than a round trip around the world. */
export const OUTBOUND_ADDRESS_ATTEMPT_MS = 500
export const OUTBOUND_HEADER_BYTES_MAX = 16 * 1024
/** Answers with a status below 200, of which a peer can send any number before the final one. */
export const OUTBOUND_INTERIM_ANSWERS_MAX = 8
export const OUTBOUND_BODY_BYTES_MAX = 16 * 1024
/** Counted from the status, which is used even without a body. */
export const OUTBOUND_BODY_MS_MAX = 1_000
export const OUTBOUND_EXCERPT_BYTES_MAX = 1_024
/** Less than the 5 s of a Node server, so that we mostly close first. */
export const OUTBOUND_IDLE_MS_MAX = 4_000
export const OUTBOUND_IDLE_CONNECTIONS_MAX = 500
