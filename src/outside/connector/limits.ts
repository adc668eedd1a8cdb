// Limits for requests to addresses that a tenant or a peer has named (src/outside/connector)
export const OUTBOUND_URL_CHARS_MAX = 2_048
/** Maximum time in ms of the whole exchange: DNS, connection, request, answer and one repetition. */
export const OUTBOUND_REQUEST_MS_MAX = 15_000
export const OUTBOUND_CONNECT_MS_MAX = 5_000
/**
 * Timeout in ms of the first DNS query. c-ares doubles the timeout for the second query. After both queries there is
 * still time to connect.
 */
export const OUTBOUND_NAME_QUERY_MS = 1_000
export const OUTBOUND_NAME_QUERY_TRIES = 2
export const OUTBOUND_ADDRESSES_MAX = 6
/**
 * Maximum time in ms for a connection attempt to one address. The last address may take longer. The limit is longer
 * than a round trip around the world.
 */
export const OUTBOUND_ADDRESS_ATTEMPT_MS = 500
export const OUTBOUND_HEADER_BYTES_MAX = 16 * 1024
/**
 * Maximum number of interim answers (status below 200) that are accepted. A peer could send any number of interim
 * answers before the final answer.
 */
export const OUTBOUND_INTERIM_ANSWERS_MAX = 8
export const OUTBOUND_BODY_BYTES_MAX = 16 * 1024
/** Maximum time in ms for the answer's body, counted from its status. If no body comes, the status is still used. */
export const OUTBOUND_BODY_MS_MAX = 1_000
export const OUTBOUND_EXCERPT_BYTES_MAX = 1_024
/**
 * Time in ms after which an idle connection closes. A Node server closes an idle connection after 5 s, so in most cases
 * this side closes first.
 */
export const OUTBOUND_IDLE_MS_MAX = 4_000
export const OUTBOUND_IDLE_CONNECTIONS_MAX = 500
