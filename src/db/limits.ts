// One request: duration and size
export const BATCH_ITEMS_MAX = 2_000
/**
 * Bytes of payloads, metadata and step documents on one page. A page that reaches the limit ends early, but has at
 * least one item.
 */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024
export const PARENT_DEPTH_MAX = 16

// Batches: largest content of a chunk, which is 64 records with every member at its limit
/** Decompression stops beyond this size. */
export const CHUNK_CONTENT_BYTES_MAX = 5 * 1024 * 1024

// Content that has moved to the archive
/** Retry-After for a client whose read needs the unreachable archive. */
export const ARCHIVE_RETRY_AFTER_MS = 5_000

// OTLP: search for spans and logs that may be stored already
/**
 * Positions that one query reads. The next query continues at the last position. MUST be at least BATCH_KEYS_MAX, or
 * the search would never get past one entry.
 */
export const CHUNKS_OF_KEYS_MAX = 8_192

// Searches: limits for one request (src/db/records/search-records.ts). A page that reaches a limit ends there.
/** Rows of records, and keys of chunks, that one request may examine. */
export const SEARCH_CANDIDATES_MAX = 5_000
/** Chunks that one request may decompress. They have about as many records as SEARCH_CANDIDATES_MAX. */
export const SEARCH_CHUNKS_MAX = 80
/** Bytes of payloads, metadata and references in those chunks. The last chunk may exceed the limit. */
export const SEARCH_CHUNK_BYTES_MAX = 16 * 1024 * 1024
export const SEARCH_DAYS_MAX = 31
export const SEARCH_PROBE_CANDIDATES = 200
export const SEARCH_ENTRIES_SKIPPED_MAX = 20_000
/** Twice the clock difference that append_entries allows, and 30 s for a database clock that is set back. */
export const SEARCH_CLOCK_SLACK_MS = 90_000
export const SEARCH_CONNECTIONS_MAX = 4
export const SEARCHES_PER_QUERY_MAX = 16
export const PAGE_ROWS_PER_QUERY_MAX = 200
/** Concurrent queries with the same statement text. */
export const SEARCH_QUERIES_MAX = 2
export const SEARCH_STATEMENT_TIMEOUT_MS = 5_000

// Cosignatures
/** Newest cosignatures, of all witnesses, among which the server searches for a checkpoint with enough cosignatures. */
export const COSIGNATURES_READ_MAX = 1_000

// Postgres
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const CONNECT_TIMEOUT_MS = 5_000
/** Pause between two attempts to reach an unreachable database (src/db/connect/reconnects.ts). It doubles each time. */
export const RECONNECT_PAUSE_MS_MIN = 20
export const RECONNECT_PAUSE_MS_MAX = 500
/** The kernel probes a connection that was silent for this time. Ten seconds later it detects a dead connection. */
export const KEEP_ALIVE_AFTER_MS = 5_000
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024
/** Maximum length of a password. An RDS token has 400 to 2,000 bytes. */
export const PASSWORD_BYTES_MAX = 16 * 1024
/** The command starts a program and requests a token from a cloud, which takes seconds on a busy processor. */
export const PASSWORD_COMMAND_MS_MAX = 15_000
/** Minimum time between two runs while the database refuses the password. */
export const PASSWORD_COMMAND_EVERY_MS = 1_000
/** Shorter than the validity of an RDS token, which is 15 minutes. */
export const PASSWORD_CACHE_SECONDS_DEFAULT = 600
export const PASSWORD_CACHE_SECONDS_MAX = 3_600
/** How long a migration waits for a lock. While it waits, all other users of the table wait too. */
export const MIGRATION_LOCK_MS_MAX = 3_000
export const SCHEMA_WAIT_EVERY_MS = 500
export const POOLER_PROBES = 8
/**
 * If an answer takes longer than HALF_OPEN_AFTER_MS, the connection is investigated (src/db/connect/half-open.ts).
 * HALF_OPEN_GRACE_MS is the time for an answer that is already on its way.
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
 * Look-ups of records by id that share a query, and concurrent queries of this kind (src/db/connect/coalescer.ts).
 *
 * Measured in gated records/s: 457 and 479 with one query at a time, 473 and 518 with two.
 */
export const LOOKUPS_PER_QUERY_MAX = 64
export const LOOKUP_QUERIES_MAX = 2
/**
 * Maximum numbers of look-ups of peerings: of one query, of concurrent queries, and of look-ups that wait.
 *
 * A look-up finds the key that verifies a peer's request, so anybody can cause a look-up. Requests beyond the limits
 * are answered 503.
 */
export const CONTACTS_PER_QUERY_MAX = 32
export const CONTACT_QUERIES_MAX = 1
export const CONTACTS_WAITING_MAX = 1_024
/** Bytes of compressed chunks that one look-up query returns. */
export const LOOKUP_CHUNK_BYTES_MAX = 4 * 1024 * 1024
export const READ_STATEMENT_TIMEOUT_MS = 30_000
/**
 * Postgres ends a statement at its timeout and reports it. If the server reports nothing for this time after the
 * timeout, it is gone.
 */
export const STATEMENT_END_MS_MAX = 5_000

// Preflight (docs/operate/settings.md#preflight)
export const PREFLIGHT_STATEMENT_TIMEOUT_MS = 5_000
/** Longest wait for a preflight statement. The statement waits for a flush or for standbys. */
export const PREFLIGHT_ANSWER_TIMEOUT_MS = 10_000

// Keys
/** Rows that `npm run op -- rotate-master-key` seals again in one query. */
export const RESEALED_PER_QUERY = 2_000

// Streams: rows per query of a long response
export const STREAM_ENTRIES_PER_QUERY = 500
export const STREAM_RECORDS_PER_QUERY = 2_000
export const STREAM_CHUNKS_PER_QUERY = 64
/**
 * Bytes of documents and envelopes per query. If a client stops reading, its response occupies this much memory,
 * besides the connection's buffers.
 */
export const STREAM_BYTES_PER_QUERY = 256 * 1024

// Erasures
/** Attempts to rewrite an erased record's chunk while other erasures change it. */
export const ERASURE_ATTEMPTS_MAX = 8

// Verification of completions
/** Workers that can share one ledger if it has enough work. Each worker skips what the others have claimed. */
export const COMPLETION_CLAIMERS_MAX = 4

// Audits, and the follower that verifies new entries
/** Interval at which finished jobs beyond their retention are deleted. pg-boss' default is once a day. */
export const JOB_DELETION_EVERY_SECONDS = 120

// Events
/** Time that webhook deliveries wait for each archive object. The read itself continues. */
export const EVENT_ARCHIVE_MS_MAX = 5_000
/** Batches per query. 20 full batches take 22 ms. */
export const EVENT_BATCHES_PER_QUERY = 20
/**
 * Archive objects for a page of events, counted separately for bundles of envelopes and for pieces. At the limit, the
 * page ends before the next bundle, or after the entry that needed the last piece.
 */
export const EVENT_OBJECTS_PER_PAGE = 4

// Sending to peers
/** Peers of one ledger that are served at the same time. One round may start up to twice as many. */
export const PEER_DRAINS_OF_LEDGER_MAX = 16

// Comparison with peers
/** Maximum time between two comparisons with a peer. After a comparison the peer gets what it lacks. */
export const PEER_SUMMARY_EVERY_MS = 86_400_000

// Clock of a worker, measured against the database's
export const CLOCK_MEASURE_EVERY_MS = 10_000
/** Readings in one measurement. The quickest reading is used. */
export const CLOCK_SAMPLES = 3
/** A measurement with a larger error is dropped, because the database or the network was slow. */
export const CLOCK_ERROR_MS_MAX = 500
/** Beyond this difference the log warns about this machine's clock. */
export const CLOCK_SKEW_WARN_MS = 2_000

// Webhooks: delivery to endpoints (docs/guides/webhooks.md)
/**
 * Time without attempts after which the count of an endpoint's failures starts again. It is longer than all tries of
 * one delivery.
 */
export const WEBHOOK_FAILING_GAP_MS_MAX = 28 * 3_600_000
/** Maximum number of notices that wait for one endpoint. A notice is about another endpoint. */
export const WEBHOOK_NOTICES_OPEN_MAX = 10

// Webhooks: requests of tenants
export const WEBHOOKS_PER_LEDGER_MAX = 100
/** An endpoint's unexpired secrets: the present one and those before rotations. */
export const WEBHOOK_SECRETS_MAX = 3
export const WEBHOOK_TESTS_OPEN_MAX = 10
/** Dead letters redelivered by one request. */
export const WEBHOOK_REDELIVERED_MAX = 1_000
/** The count of an endpoint's deliveries stops at this number. */
export const WEBHOOK_COUNT_MAX = 1_000
/** Rows that one page of filtered deliveries may read. */
export const WEBHOOK_DELIVERIES_SCANNED_MAX = 5_000

// Retention and holds. migrations/functions/retention.sql has the same numbers, and its checks are the ones that
// decide.
/** Retention rules of a ledger. Also the limit for its standing holds. */
export const RETENTION_RULES_MAX = 1_024
/** Records named by a ledger's standing holds. */
export const HOLDS_RECORDS_MAX = 65_536
export const HOLDS_NAMED_MAX = 20
/** Entries and records in a page of retention. A page that reaches a limit ends early, but has at least one entry. */
export const RETENTION_ENTRIES_PER_PAGE = 1_024
export const RETENTION_RECORDS_PER_PAGE = 2_048
/** Chunks of batches per query: at most 5 MiB each. */
export const RETENTION_CHUNKS_PER_QUERY = 8
/** After this time other workers take over the ledger of a worker that was killed. */
export const RETENTION_CLAIM_SECONDS = 120
/** Pause before a failed page is tried again, because somebody may have repaired the cause. */
export const RETENTION_FAILURE_PAUSE_SECONDS = 600
/** Time between two sweeps of a ledger. A document may outlast its retention by this time. */
export const RETENTION_SWEEP_EVERY_SECONDS = 6 * 3_600

// Replicas (src/db/connect/replica.ts)
/** Time between two probes of a replica. It is the same while the replica is unreachable or refused. */
export const REPLICA_PROBE_EVERY_MS = 1_000
/** Time to connect to a replica, and to check it. A replica that takes longer is considered unreachable. */
export const REPLICA_CHECK_MS_MAX = 1_000
/** Time that a read waits for one of the replica's connections before it goes to the primary. */
export const REPLICA_WAIT_MS_MAX = 100
/** A replica whose lag is larger is not read (TALLYSTICK_REPLICA_LAG_MS_MAX). */
export const REPLICA_LAG_MS_DEFAULT = 10_000
export const REPLICA_LAG_MS_MIN = 100
export const REPLICA_LAG_MS_MAX = 3_600_000
/** Number and spacing of stored positions of the primary's log. Together they bound the lag that can be measured. */
export const PRIMARY_LOG_SAMPLES_MAX = 36_000
export const PRIMARY_LOG_SPACING_MS = 100
/** If a primary's log position stays behind for this time, it is a different primary. */
export const PRIMARY_LOG_BACK_MS = 10_000
/** Characters of a signature line in `cosignatures`. An Ed25519 line has 200. */
export const COSIGNATURE_LINE_CHARS_MAX = 512
