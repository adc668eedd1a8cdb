// Rate limits
export const RATE_LIMIT_PER_SECOND_MIN = 0.001
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000
export const RATE_LIMIT_BURST_MAX = 1_000_000
/** Rate limit buckets of one process, for each kind of owner: keys, ledgers, peers and public ledgers. */
export const RATE_LIMIT_BUCKETS_MAX = 20_000
/** Records of a batch that cost as much as one request: both take the same CPU time. */
export const RATE_LIMIT_RECORDS_PER_REQUEST = 100
/** Bytes of a body that cost as much as one request. A batch costs the larger of the two. */
export const RATE_LIMIT_BYTES_PER_REQUEST = 64 * 1024

// Public ledgers (src/ledgers/public-ledgers.ts)
/** Maximum age of the list of public ledgers. */
export const PUBLIC_LEDGERS_AGE_MS_MAX = 5_000
/**
 * Public ledgers of a deployment. Each server reads all of them. Concurrent calls may exceed the limit by their
 * number.
 */
export const PUBLIC_LEDGERS_MAX = 5_000

// Registered statements
/** Canonical JSON of a registration policy. It must fit into one envelope of 32,768 bytes. */
export const POLICY_BYTES_MAX = 24_576
/**
 * Retries of a registration that another request has overtaken. Each looks the statement up again, and uses the new
 * policy.
 */
export const STATEMENT_RETRIES_MAX = 2

// Keys
/** Longest time for which the database's answer about a key is used. */
export const KEY_CACHE_AGE_MS_MAX = 5_000
/** A key in use is read again from this age on. Its requests meanwhile use the old answer. */
export const KEY_REFRESH_AGE_MS = 4_000
export const KEY_CACHE_KEYS_MAX = 20_000
/** Cached texts that look like keys but are unknown. */
export const UNKNOWN_KEYS_MAX = 20_000
/** Cached keys that one query reads again, and the number of such queries at a time. */
export const KEY_REFRESHES_PER_QUERY_MAX = 64
export const KEY_REFRESH_QUERIES_MAX = 2
/**
 * New keys that one query looks up, and the number of such queries at a time. Anybody can invent keys, so these
 * queries have only one of READ_CONNECTIONS_MAX connections, and answer few keys in a slice of the event loop. With 2
 * queries of 256 keys, a flood of 800 connections made a record of a ledger wait for 7 s.
 */
export const KEY_LOOKUPS_PER_QUERY_MAX = 32
export const KEY_LOOKUP_QUERIES_MAX = 1
/** New keys that wait for their query. Further requests are answered 503. */
export const KEY_LOOKUPS_WAITING_MAX = 4_096
/** Valid secrets of a key at a time: the newest, and those from before rotations. The database refuses more. */
export const KEY_SECRETS_MAX = 3
/**
 * Further keys that are revoked with a key: those that it made, directly or indirectly. A request signs as many
 * entries.
 */
export const KEYS_REVOKED_PER_REQUEST_MAX = 100
/** Keys of a ledger that one query reads to find those that a key made. */
export const KEY_MAKERS_PER_QUERY = 10_000
