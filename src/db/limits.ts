// A request: duration and size
export const BATCH_ITEMS_MAX = 2_000
/** Payloads, metadata and step documents of a page. A page ends early, but not before its first item. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024
export const PARENT_DEPTH_MAX = 16

// Batches: maximum content of 64 records with every member at its limit
/** Decompression stops beyond this size. */
export const CHUNK_CONTENT_BYTES_MAX = 5 * 1024 * 1024

// Content that has moved to the archive
/** Retry-After for a client whose read needs the unreachable archive. */
export const ARCHIVE_RETRY_AFTER_MS = 5_000

// OTLP: search for spans and logs that may be known
/**
 * Positions that a query reads; the next query continues at the last one. MUST be at least BATCH_KEYS_MAX, or the
 * search would not get past one entry.
 */
export const CHUNKS_OF_KEYS_MAX = 8_192

// Searches: limits for one request (src/db/records/search-records.ts). A page that reaches one ends there.
/** Rows of records, and keys of chunks. */
export const SEARCH_CANDIDATES_MAX = 5_000
/** Decompressed chunks: about as many records as the other candidates. */
export const SEARCH_CHUNKS_MAX = 80
/** Payloads, metadata and references in those chunks. The last chunk may exceed the limit. */
export const SEARCH_CHUNK_BYTES_MAX = 16 * 1024 * 1024
export const SEARCH_DAYS_MAX = 31
export const SEARCH_PROBE_CANDIDATES = 200
export const SEARCH_ENTRIES_SKIPPED_MAX = 20_000
/** Twice the clock difference that append_entries allows, and 30 s for a database clock that is set back. */
export const SEARCH_CLOCK_SLACK_MS = 90_000
export const SEARCH_CONNECTIONS_MAX = 4
export const SEARCHES_PER_QUERY_MAX = 16
export const PAGE_ROWS_PER_QUERY_MAX = 200
/** Concurrent statements with the same text. */
export const SEARCH_QUERIES_MAX = 2
export const SEARCH_STATEMENT_TIMEOUT_MS = 5_000

// Cosignatures
/** Newest cosignatures, of all witnesses, among which a checkpoint with enough of them is searched. */
export const COSIGNATURES_READ_MAX = 1_000

// Postgres
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const CONNECT_TIMEOUT_MS = 5_000
/** Pause between two attempts to reach an unreachable database (src/db/connect/reconnects.ts). It doubles each time. */
export const RECONNECT_PAUSE_MS_MIN = 20
export const RECONNECT_PAUSE_MS_MAX = 500
/** After this silence the kernel probes the connection. Ten seconds later it detects a dead one. */
export const KEEP_ALIVE_AFTER_MS = 5_000
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024
/** An RDS token has 400 to 2,000 bytes. */
export const PASSWORD_BYTES_MAX = 16 * 1024
/** The command starts a program and requests a token from a cloud. On a busy processor this takes seconds. */
export const PASSWORD_COMMAND_MS_MAX = 15_000
/** Minimum time between two runs while the database refuses the password. */
export const PASSWORD_COMMAND_EVERY_MS = 1_000
/** An RDS token is valid for 15 minutes. */
export const PASSWORD_CACHE_SECONDS_DEFAULT = 600
export const PASSWORD_CACHE_SECONDS_MAX = 3_600
/** How long a migration waits for a lock. All others wait behind it. */
export const MIGRATION_LOCK_MS_MAX = 3_000
export const SCHEMA_WAIT_EVERY_MS = 500
export const POOLER_PROBES = 8
/**
 * A later answer is investigated (src/db/connect/half-open.ts). The grace is the time for an answer that is already
 * on its way.
 */
export const HALF_OPEN_AFTER_MS = 2_000
export const HALF_OPEN_GRACE_MS = 250
export const HALF_OPEN_CHECK_EVERY_MS = 500
/** Minimum time between two renewals, however many connections report that the database has moved. */
export const POOLS_RENEWED_EVERY_MS = 1_000
export const WRITE_CONNECTIONS_MAX = 3
export const READ_CONNECTIONS_MAX = 8
export const JOB_CONNECTIONS_MAX = 2
export const WEBHOOK_CONNECTIONS_MAX = 4
export const PEER_CONNECTIONS_MAX = 2
/**
 * Look-ups of records by id that share a query, and the number of such queries at a time
 * (src/db/connect/coalescer.ts).
 *
 * With one query at a time there were 457 and 479 gated records/s, with two 473 and 518.
 */
export const LOOKUPS_PER_QUERY_MAX = 64
export const LOOKUP_QUERIES_MAX = 2
/**
 * Look-ups of peerings: per query, concurrent queries, and waiting look-ups.
 *
 * A look-up finds the key that verifies a peer's request, so anybody can cause one. Beyond the limit a request is
 * answered 503.
 */
export const CONTACTS_PER_QUERY_MAX = 32
export const CONTACT_QUERIES_MAX = 1
export const CONTACTS_WAITING_MAX = 1_024
/** Compressed chunks of batches that one such query returns. */
export const LOOKUP_CHUNK_BYTES_MAX = 4 * 1024 * 1024
export const READ_STATEMENT_TIMEOUT_MS = 30_000
/**
 * Postgres ends a statement at its timeout and reports it. A server that sends nothing for so long afterwards is
 * gone.
 */
export const STATEMENT_END_MS_MAX = 5_000

// Preflight (docs/operate/settings.md#preflight)
export const PREFLIGHT_STATEMENT_TIMEOUT_MS = 5_000
/** The statement waits for a flush or for standbys. Longer than this is an error. */
export const PREFLIGHT_ANSWER_TIMEOUT_MS = 10_000

// Keys
/** Rows that `npm run op -- rotate-master-key` seals again in one query. */
export const RESEALED_PER_QUERY = 2_000

// Streams: rows per query of a longer answer
export const STREAM_ENTRIES_PER_QUERY = 500
export const STREAM_RECORDS_PER_QUERY = 2_000
export const STREAM_CHUNKS_PER_QUERY = 64
/**
 * Bytes of documents and of envelopes. A reader that has stopped reading occupies this much, beside its connection's
 * buffers.
 */
export const STREAM_BYTES_PER_QUERY = 256 * 1024

// Erasures
/** Attempts to rewrite an erased record's chunk while other erasures change it. */
export const ERASURE_ATTEMPTS_MAX = 8

// Verification of completions
/** Workers that can share one ledger with enough work. Each skips what the others have claimed. */
export const COMPLETION_CLAIMERS_MAX = 4

// Audits, and the follower that verifies new entries
/** How often finished jobs beyond their retention are deleted. pg-boss' default is once a day. */
export const JOB_DELETION_EVERY_SECONDS = 120

// Events
/** Time that webhook deliveries wait for each archive object. The read itself continues. */
export const EVENT_ARCHIVE_MS_MAX = 5_000
/** Batches per query: 20 full ones take 22 ms. */
export const EVENT_BATCHES_PER_QUERY = 20
/**
 * Archive objects for a page of events, counted separately for bundles of envelopes and for pieces. The page ends
 * before the next bundle, or after the entry that needed the last piece.
 */
export const EVENT_OBJECTS_PER_PAGE = 4

// Sending to peers
/** Concurrent drains of one ledger. One round may start up to twice as many. */
export const PEER_DRAINS_OF_LEDGER_MAX = 16

// Comparison with peers
/** Maximum time between two comparisons with a peer, which then gets what it lacks. */
export const PEER_SUMMARY_EVERY_MS = 86_400_000

// Clock of a worker, measured against the database's
export const CLOCK_MEASURE_EVERY_MS = 10_000
/** Readings in one measurement. The quickest counts. */
export const CLOCK_SAMPLES = 3
/** A measurement with a larger error is dropped, because the database or the network was slow. */
export const CLOCK_ERROR_MS_MAX = 500
/** Beyond this difference the log warns about this machine's clock. */
export const CLOCK_SKEW_WARN_MS = 2_000

// Webhooks: delivery to endpoints (docs/guides/webhooks.md)
/** Longer than all tries of one delivery. After such a gap without attempts the count of failures starts again. */
export const WEBHOOK_FAILING_GAP_MS_MAX = 28 * 3_600_000
/** Notices about other endpoints that wait for one endpoint. */
export const WEBHOOK_NOTICES_OPEN_MAX = 10

// Webhooks: requests of tenants
export const WEBHOOKS_PER_LEDGER_MAX = 100
/** An endpoint's unexpired secrets: the present one and those before rotations. */
export const WEBHOOK_SECRETS_MAX = 3
export const WEBHOOK_TESTS_OPEN_MAX = 10
/** Dead letters redelivered by one request. */
export const WEBHOOK_REDELIVERED_MAX = 1_000
/** An endpoint's deliveries are counted up to this number. */
export const WEBHOOK_COUNT_MAX = 1_000
/** Rows that one page of filtered deliveries may read. */
export const WEBHOOK_DELIVERIES_SCANNED_MAX = 5_000

// Retention and holds. migrations/functions/retention.sql has the same numbers and decides.
/** Retention rules of a ledger; also its standing holds. */
export const RETENTION_RULES_MAX = 1_024
/** Records named by a ledger's standing holds. */
export const HOLDS_RECORDS_MAX = 65_536
export const HOLDS_NAMED_MAX = 20
/** Entries and records in a page of retention. A page ends early, but not before its first entry. */
export const RETENTION_ENTRIES_PER_PAGE = 1_024
export const RETENTION_RECORDS_PER_PAGE = 2_048
/** Chunks of batches per query: at most 5 MiB each. */
export const RETENTION_CHUNKS_PER_QUERY = 8
/** After this time other workers take over the ledger of a killed worker. */
export const RETENTION_CLAIM_SECONDS = 120
/** Pause before a failed page is tried again, because somebody may have repaired the cause. */
export const RETENTION_FAILURE_PAUSE_SECONDS = 600
/** Time between two sweeps of a ledger. A document may outlast its retention by so much. */
export const RETENTION_SWEEP_EVERY_SECONDS = 6 * 3_600

// Replicas (src/db/connect/replica.ts)
/** Time between two probes of a replica, also while it is unreachable or refused. */
export const REPLICA_PROBE_EVERY_MS = 1_000
/** Time to connect to a replica, and to check it. A replica that takes longer is considered unreachable. */
export const REPLICA_CHECK_MS_MAX = 1_000
/** Time that a read waits for one of the replica's connections before it goes to the primary. */
export const REPLICA_WAIT_MS_MAX = 100
/** A replica that lags further is not read (TALLYSTICK_REPLICA_LAG_MS_MAX). */
export const REPLICA_LAG_MS_DEFAULT = 10_000
export const REPLICA_LAG_MS_MIN = 100
export const REPLICA_LAG_MS_MAX = 3_600_000
/** Number and spacing of stored positions of the primary's log. Together they bound the lag that can be measured. */
export const PRIMARY_LOG_SAMPLES_MAX = 36_000
export const PRIMARY_LOG_SPACING_MS = 100
/** A primary whose log stays behind for so long is a different primary. */
export const PRIMARY_LOG_BACK_MS = 10_000
/** Characters of a signature line in `cosignatures`. An Ed25519 line has 200. */
export const COSIGNATURE_LINE_CHARS_MAX = 512
