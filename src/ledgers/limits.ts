// Rate limits
export const RATE_LIMIT_PER_SECOND_MIN = 0.001
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000
export const RATE_LIMIT_BURST_MAX = 1_000_000
/**
 * Maximum number of rate limit buckets of one kind in a process. The kinds are keys, ledgers, peers and public ledgers.
 */
export const RATE_LIMIT_BUCKETS_MAX = 20_000
/** Number of records in a batch that cost as much as one request, because they take as much CPU time. */
export const RATE_LIMIT_RECORDS_PER_REQUEST = 100
/**
 * Number of body bytes that cost as much as one request. The cost of a batch is by records or by bytes, whichever is
 * higher.
 */
export const RATE_LIMIT_BYTES_PER_REQUEST = 64 * 1024

// Public ledgers (src/ledgers/public-ledgers.ts)
/** Maximum age in ms of the list of public ledgers. */
export const PUBLIC_LEDGERS_AGE_MS_MAX = 5_000
/**
 * Maximum number of public ledgers of a deployment. Each server reads all of them. Concurrent calls may exceed the
 * limit by one ledger each.
 */
export const PUBLIC_LEDGERS_MAX = 5_000

// Registered statements
/**
 * Maximum size in bytes of a registration policy as canonical JSON. The policy must fit into one envelope of 32,768
 * bytes.
 */
export const POLICY_BYTES_MAX = 24_576
/**
 * Maximum number of retries of a registration. A retry is needed if another request has registered the statement or
 * changed the policy. Each try looks the statement up again and uses the newest policy.
 */
export const STATEMENT_RETRIES_MAX = 2

// Keys
/** Maximum time in ms for which a server uses what the database returned about a key. */
export const KEY_CACHE_AGE_MS_MAX = 5_000
/**
 * Age in ms after which a key is read from the database again when it is used. Until the database has answered,
 * requests use what was read before.
 */
export const KEY_REFRESH_AGE_MS = 4_000
export const KEY_CACHE_KEYS_MAX = 20_000
/** Maximum number of cached texts that look like keys but are unknown. */
export const UNKNOWN_KEYS_MAX = 20_000
/**
 * KEY_REFRESHES_PER_QUERY_MAX: maximum number of cached keys that one query reads again. KEY_REFRESH_QUERIES_MAX:
 * maximum number of such queries at the same time.
 */
export const KEY_REFRESHES_PER_QUERY_MAX = 64
export const KEY_REFRESH_QUERIES_MAX = 2
/**
 * KEY_LOOKUPS_PER_QUERY_MAX: maximum number of new keys that one query looks up. KEY_LOOKUP_QUERIES_MAX: maximum number
 * of such queries at the same time.
 *
 * Anybody can invent keys. So these queries use only one of READ_CONNECTIONS_MAX connections, and return few keys in
 * each slice of the event loop. With 2 queries of 256 keys, a flood from 800 connections made a record of a ledger wait
 * for 7 s.
 */
export const KEY_LOOKUPS_PER_QUERY_MAX = 32
export const KEY_LOOKUP_QUERIES_MAX = 1
/** Maximum number of new keys that wait for a query. Requests with further new keys are answered with 503. */
export const KEY_LOOKUPS_WAITING_MAX = 4_096
/**
 * Maximum number of valid secrets of a key: the newest secret, and older secrets that a rotation has replaced. The
 * database enforces this limit too.
 */
export const KEY_SECRETS_MAX = 3
/**
 * Maximum number of further keys that are revoked together with a key. These are the keys that were created with the
 * revoked key, directly or indirectly. The request signs one entry for each key.
 */
export const KEYS_REVOKED_PER_REQUEST_MAX = 100
/**
 * Maximum number of a ledger's keys that one query reads, when the keys that were created with a given key are
 * searched.
 */
export const KEY_MAKERS_PER_QUERY = 10_000
