// Rate limits
export const RATE_LIMIT_PER_SECOND_MIN = 0.001
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000
export const RATE_LIMIT_BURST_MAX = 1_000_000
/**
 * Number of rate limit buckets of one process. There is a separate limit for each kind of owner: keys, ledgers, peers
 * and public ledgers.
 */
export const RATE_LIMIT_BUCKETS_MAX = 20_000
/** Number of records in a batch that take as much CPU time as one request. A batch costs so many requests. */
export const RATE_LIMIT_RECORDS_PER_REQUEST = 100
/** Number of body bytes that cost as much as one request. The cost of a batch is the larger of both numbers. */
export const RATE_LIMIT_BYTES_PER_REQUEST = 64 * 1024

// Public ledgers (src/ledgers/public-ledgers.ts)
/** Maximum age of the list of public ledgers. */
export const PUBLIC_LEDGERS_AGE_MS_MAX = 5_000
/**
 * Public ledgers of a deployment. Each server reads all of them. Concurrent calls may exceed the limit, each by one
 * ledger.
 */
export const PUBLIC_LEDGERS_MAX = 5_000

// Registered statements
/** Canonical JSON of a registration policy. It must fit into one envelope of 32,768 bytes. */
export const POLICY_BYTES_MAX = 24_576
/**
 * Retries of a registration after another request registered the statement or changed the policy. Each try looks the
 * statement up again and uses the new policy.
 */
export const STATEMENT_RETRIES_MAX = 2

// Keys
/** Longest time for which a server uses the database's answer about a key. */
export const KEY_CACHE_AGE_MS_MAX = 5_000
/**
 * Age from which a key that is used is read from the database again. Until the new answer arrives, requests use the
 * old one.
 */
export const KEY_REFRESH_AGE_MS = 4_000
export const KEY_CACHE_KEYS_MAX = 20_000
/** Number of cached texts that look like keys but are unknown. */
export const UNKNOWN_KEYS_MAX = 20_000
/** Number of cached keys that one query reads again, and number of such queries at the same time. */
export const KEY_REFRESHES_PER_QUERY_MAX = 64
export const KEY_REFRESH_QUERIES_MAX = 2
/**
 * Number of new keys that one query looks up, and number of such queries at the same time. Anybody can invent keys.
 * So these queries use only one of READ_CONNECTIONS_MAX connections, and answer few keys in each slice of the event
 * loop. With 2 queries of 256 keys, a flood of 800 connections made a record of a ledger wait for 7 s.
 */
export const KEY_LOOKUPS_PER_QUERY_MAX = 32
export const KEY_LOOKUP_QUERIES_MAX = 1
/** Number of new keys that wait for a query. Further requests are answered 503. */
export const KEY_LOOKUPS_WAITING_MAX = 4_096
/**
 * Number of valid secrets that a key may have at a time: the newest secret, and older ones from before rotations. The
 * database refuses more.
 */
export const KEY_SECRETS_MAX = 3
/**
 * Number of further keys that are revoked together with a key: keys that it made, directly or indirectly. The request
 * signs one entry for each of them.
 */
export const KEYS_REVOKED_PER_REQUEST_MAX = 100
/** Number of a ledger's keys that one query reads. The queries find the keys that a certain key made. */
export const KEY_MAKERS_PER_QUERY = 10_000
