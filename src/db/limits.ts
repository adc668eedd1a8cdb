// Maximum number of items in a batch. This constant and the following ones limit one request.
export const BATCH_ITEMS_MAX = 2_000
/**
 * Maximum number of bytes of payloads, metadata and step documents on one page. A page that reaches the limit ends
 * early, but has at least one item.
 */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024
/**
 * Maximum number of bytes of documents that the first statement reads for a page. Up to four pages share a statement.
 * Further records are read in pieces with about PAGE_PIECE_BYTES of documents. At most LARGE_READS_MAX statements read
 * such pieces at the same time, and at most LARGE_READS_WAITING_MAX pages of a ledger wait for it. Further pages are
 * refused (src/db/records/large-reads.ts).
 */
export const PAGE_INLINE_BYTES_MAX = 128 * 1024
export const PAGE_PIECE_BYTES = 256 * 1024
export const LARGE_READS_MAX = 2
export const LARGE_READS_WAITING_MAX = 32
export const PARENT_DEPTH_MAX = 16

/**
 * Maximum size of a chunk's content in bytes: 64 records with every member at its limit. Decompression stops beyond
 * this size.
 */
export const CHUNK_CONTENT_BYTES_MAX = 5 * 1024 * 1024
/**
 * Maximum total size in bytes of the chunks that a process caches for lists (src/db/chunks/plain-chunks.ts), and the
 * maximum decompressed size of one such chunk. Larger chunks are not cached.
 */
export const PLAIN_CHUNKS_BYTES_MAX = 8 * 1024 * 1024
export const PLAIN_CHUNK_BYTES_MAX = 256 * 1024

/** Retry-After in ms for a client whose read needs the archive while the archive is unreachable. */
export const ARCHIVE_RETRY_AFTER_MS = 5_000

// Limits of OTLP: the search for spans and logs that may be stored already.
/**
 * Maximum number of positions of chunks that one query reads. The next query continues at the last position. The limit
 * MUST be at least BATCH_KEYS_MAX. Otherwise the search could never get past an entry with more positions.
 */
export const CHUNKS_OF_KEYS_MAX = 8_192

// Limits of searches, for one request (src/db/records/search-records.ts). A page that reaches a limit ends there.
/** Maximum number of record rows and chunk keys that one request may examine. */
export const SEARCH_CANDIDATES_MAX = 5_000
/**
 * Maximum number of chunks that one request may decompress. This number of full chunks has about SEARCH_CANDIDATES_MAX
 * records.
 */
export const SEARCH_CHUNKS_MAX = 80
/**
 * Maximum number of bytes of payloads, metadata and references in the decompressed chunks. The last chunk may exceed
 * the limit.
 */
export const SEARCH_CHUNK_BYTES_MAX = 16 * 1024 * 1024
export const SEARCH_DAYS_MAX = 31
export const SEARCH_PROBE_CANDIDATES = 200
export const SEARCH_ENTRIES_SKIPPED_MAX = 20_000
/**
 * Maximum difference in ms between clocks that a search by time allows for. It is twice the difference that
 * append_entries allows, plus 30 s for a database clock that is set back.
 */
export const SEARCH_CLOCK_SLACK_MS = 90_000
export const SEARCH_CONNECTIONS_MAX = 4
export const SEARCHES_PER_QUERY_MAX = 16
export const PAGE_ROWS_PER_QUERY_MAX = 200
/** Maximum number of concurrent queries with the same statement text. */
export const SEARCH_QUERIES_MAX = 2
export const SEARCH_STATEMENT_TIMEOUT_MS = 5_000

/**
 * Maximum number of newest cosignatures, of all witnesses, among which the server searches for a checkpoint with enough
 * cosignatures.
 */
export const COSIGNATURES_READ_MAX = 1_000

// This constant and the following ones limit Postgres connections and statements.
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const CONNECT_TIMEOUT_MS = 5_000
/**
 * Maximum time in ms that a new session waits for a synchronous standby (src/db/connect/replicated.ts). Shorter than
 * CONNECT_TIMEOUT_MS, because only the error of this wait names the cause.
 */
export const STANDBY_CONFIRM_MS_MAX = 3_000
/**
 * Minimum pause in ms between two attempts to reach an unreachable database (src/db/connect/reconnects.ts). The pause
 * doubles after each attempt.
 */
export const RECONNECT_PAUSE_MS_MIN = 20
export const RECONNECT_PAUSE_MS_MAX = 500
/**
 * Time in ms after which the kernel probes a silent connection. If the connection is dead, the kernel detects this ten
 * seconds later.
 */
export const KEEP_ALIVE_AFTER_MS = 5_000
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024
/** Maximum length of a password in bytes. An RDS token has 400 to 2,000 bytes. */
export const PASSWORD_BYTES_MAX = 16 * 1024
/**
 * Maximum time in ms for a password command. The command starts a program and requests a token from a cloud, which
 * takes seconds on a busy processor.
 */
export const PASSWORD_COMMAND_MS_MAX = 15_000
/** Minimum time in ms between two runs of the password command while the database refuses the password. */
export const PASSWORD_COMMAND_EVERY_MS = 1_000
/**
 * Time in seconds for which the output of a password command is used. It is shorter than the validity of an RDS token,
 * which is 15 minutes.
 */
export const PASSWORD_CACHE_SECONDS_DEFAULT = 600
export const PASSWORD_CACHE_SECONDS_MAX = 3_600
/** Maximum time in ms that a migration waits for a lock. While it waits, all other users of the table wait too. */
export const MIGRATION_LOCK_MS_MAX = 3_000
export const SCHEMA_WAIT_EVERY_MS = 500
export const POOLER_PROBES = 8
/**
 * HALF_OPEN_AFTER_MS is the time after which a connection without an answer is checked (src/db/connect/half-open.ts).
 * HALF_OPEN_GRACE_MS is the time that the check waits for an answer which is already under way.
 */
export const HALF_OPEN_AFTER_MS = 2_000
export const HALF_OPEN_GRACE_MS = 250
export const HALF_OPEN_CHECK_EVERY_MS = 500
/**
 * Minimum time in ms between two renewals of the pools, even if many connections report that the database has moved.
 */
export const POOLS_RENEWED_EVERY_MS = 1_000
export const WRITE_CONNECTIONS_MAX = 3
export const READ_CONNECTIONS_MAX = 8
export const JOB_CONNECTIONS_MAX = 2
export const WEBHOOK_CONNECTIONS_MAX = 4
export const PEER_CONNECTIONS_MAX = 2
/**
 * Limits of look-ups of records by id (src/db/connect/coalescer.ts). LOOKUPS_PER_QUERY_MAX is the maximum number of
 * look-ups that share a query. LOOKUP_QUERIES_MAX is the maximum number of such queries at the same time.
 *
 * With one query at a time, a server reached 457 and 479 gated records/s. With two, it reached 473 and 518.
 */
export const LOOKUPS_PER_QUERY_MAX = 64
export const LOOKUP_QUERIES_MAX = 2
/**
 * Limits of look-ups of peerings. CONTACTS_PER_QUERY_MAX is the maximum number of look-ups in one query,
 * CONTACT_QUERIES_MAX the maximum number of such queries at the same time, and CONTACTS_WAITING_MAX the maximum number
 * of look-ups that wait.
 *
 * A look-up finds the key that verifies a peer's request, so anybody can cause a look-up. Requests beyond the limits
 * are answered 503.
 */
export const CONTACTS_PER_QUERY_MAX = 32
export const CONTACT_QUERIES_MAX = 1
export const CONTACTS_WAITING_MAX = 1_024
/** Maximum number of bytes of compressed chunks that one look-up query returns. */
export const LOOKUP_CHUNK_BYTES_MAX = 4 * 1024 * 1024
export const READ_STATEMENT_TIMEOUT_MS = 30_000
/**
 * Time in ms after a statement's timeout after which the server is considered lost. Postgres ends a statement at its
 * timeout and reports that at once.
 */
export const STATEMENT_END_MS_MAX = 5_000

// This constant and the next one limit preflight (docs/operate/settings.md#preflight).
export const PREFLIGHT_STATEMENT_TIMEOUT_MS = 5_000
/** Maximum time in ms for a preflight statement. The statement waits for a flush or for standbys. */
export const PREFLIGHT_ANSWER_TIMEOUT_MS = 10_000

/** Number of rows that `npm run op -- rotate-master-key` seals again in one query. */
export const RESEALED_PER_QUERY = 2_000

// Maximum number of entries that one query reads for a long response. This constant and the following ones limit
// streams.
export const STREAM_ENTRIES_PER_QUERY = 500
export const STREAM_RECORDS_PER_QUERY = 2_000
export const STREAM_CHUNKS_PER_QUERY = 64
/**
 * Maximum number of bytes of documents and envelopes per query. If a client stops reading, its response occupies this
 * much memory, in addition to the connection's buffers.
 */
export const STREAM_BYTES_PER_QUERY = 256 * 1024

/**
 * Maximum number of attempts to rewrite the chunk of an erased record. An attempt fails if another erasure changes the
 * chunk at the same time.
 */
export const ERASURE_ATTEMPTS_MAX = 8

/**
 * Maximum number of workers that share one ledger if it has enough work. Each worker skips what the others have
 * claimed.
 */
export const COMPLETION_CLAIMERS_MAX = 4

// Limits of audits, and of the follower that verifies new entries.
/** Time in seconds between two deletions of finished jobs whose retention has ended. pg-boss' default is once a day. */
export const JOB_DELETION_EVERY_SECONDS = 120

/** Maximum time in ms that webhook deliveries wait for an archive object. The read itself continues afterwards. */
export const EVENT_ARCHIVE_MS_MAX = 5_000
/** Maximum number of batches in one query for events. 20 full batches take 22 ms. */
export const EVENT_BATCHES_PER_QUERY = 20
/**
 * Maximum number of archive objects that are read for a page of events. The limit applies to bundles of envelopes and
 * to pieces separately. At the limit for bundles, the page ends before the next bundle. At the limit for pieces, the
 * page ends after the entry that needed the last piece.
 */
export const EVENT_OBJECTS_PER_PAGE = 4

/**
 * Maximum number of peers of one ledger that are served at the same time. The limit is not exact: one round that takes
 * leases may raise the number to almost twice the limit.
 */
export const PEER_DRAINS_OF_LEDGER_MAX = 16

/**
 * Maximum time in ms between two comparisons with a peer. After a comparison, the entries that the peer lacks are sent
 * again.
 */
export const PEER_SUMMARY_EVERY_MS = 86_400_000

// Time in ms between two measurements of this machine's clock against the database's clock.
export const CLOCK_MEASURE_EVERY_MS = 10_000
/** Number of readings in one measurement. The quickest reading is used. */
export const CLOCK_SAMPLES = 3
/**
 * Maximum error in ms of a measurement. A measurement with a larger error is ignored, because the database or the
 * network was slow.
 */
export const CLOCK_ERROR_MS_MAX = 500
/** Difference in ms between this machine's clock and the database's clock, beyond which a warning is logged. */
export const CLOCK_SKEW_WARN_MS = 2_000

// Limits of webhooks: delivery to endpoints (docs/guides/webhooks.md).
/**
 * Time in ms without attempts after which the count of an endpoint's failures starts again. It is longer than all
 * attempts of one delivery.
 */
export const WEBHOOK_FAILING_GAP_MS_MAX = 28 * 3_600_000
/** Maximum number of notices that wait for one endpoint. A notice tells one endpoint about another endpoint. */
export const WEBHOOK_NOTICES_OPEN_MAX = 10

// Maximum number of webhooks of a ledger. This constant and the following ones limit what tenants request.
export const WEBHOOKS_PER_LEDGER_MAX = 100
/** Maximum number of an endpoint's unexpired secrets: the present secret, and earlier secrets that were rotated. */
export const WEBHOOK_SECRETS_MAX = 3
export const WEBHOOK_TESTS_OPEN_MAX = 10
/** Maximum number of dead deliveries that one request delivers again. */
export const WEBHOOK_REDELIVERED_MAX = 1_000
/** Number at which the count of an endpoint's deliveries stops. */
export const WEBHOOK_COUNT_MAX = 1_000
/** Maximum number of rows that one page of filtered deliveries may read. */
export const WEBHOOK_DELIVERIES_SCANNED_MAX = 5_000

// Limits of retention and holds. migrations/functions/retention.sql has the same numbers and enforces them.
/** Maximum number of retention rules of a ledger. It is also the maximum number of holds that are set. */
export const RETENTION_RULES_MAX = 1_024
/** Maximum number of records that all set holds of a ledger name. */
export const HOLDS_RECORDS_MAX = 65_536
export const HOLDS_NAMED_MAX = 20
/**
 * Maximum number of entries and of records in a page of retention. A page that reaches a limit ends early, but has at
 * least one entry.
 */
export const RETENTION_ENTRIES_PER_PAGE = 1_024
export const RETENTION_RECORDS_PER_PAGE = 2_048
/** Maximum number of batch chunks per query. A chunk has at most 5 MiB. */
export const RETENTION_CHUNKS_PER_QUERY = 8
/** Time in seconds after which another worker may take over the ledger of a worker that was killed. */
export const RETENTION_CLAIM_SECONDS = 120
/** Pause in seconds before retention tries a failed page again. Somebody may repair the cause meanwhile. */
export const RETENTION_FAILURE_PAUSE_SECONDS = 600
/** Time in seconds between two sweeps of a ledger. A document may outlast its retention by this time. */
export const RETENTION_SWEEP_EVERY_SECONDS = 6 * 3_600

// Limits of replicas (src/db/connect/replica.ts).
/** Time in ms between two probes of a replica. It is the same while the replica is unreachable or refused. */
export const REPLICA_PROBE_EVERY_MS = 1_000
/**
 * Maximum time in ms to connect to a replica, and to check it. A replica that takes longer is considered unreachable.
 */
export const REPLICA_CHECK_MS_MAX = 1_000
/**
 * Maximum time in ms that a read waits for one of the replica's connections. After that, the read goes to the primary.
 */
export const REPLICA_WAIT_MS_MAX = 100
/** Default of TALLYSTICK_REPLICA_LAG_MS_MAX in ms. A replica with a larger lag is not read. */
export const REPLICA_LAG_MS_DEFAULT = 10_000
export const REPLICA_LAG_MS_MIN = 100
export const REPLICA_LAG_MS_MAX = 3_600_000
/**
 * PRIMARY_LOG_SAMPLES_MAX is the maximum number of stored log positions of the primary. PRIMARY_LOG_SPACING_MS is the
 * minimum time in ms between two of them. The product of both is the largest lag that can be measured.
 */
export const PRIMARY_LOG_SAMPLES_MAX = 36_000
export const PRIMARY_LOG_SPACING_MS = 100
/**
 * Time in ms during which a log position of the primary is ignored if it is lower than an earlier position. If the
 * position stays lower for longer, another primary answers.
 */
export const PRIMARY_LOG_BACK_MS = 10_000
/** Maximum number of characters of a line in `cosignatures`. An Ed25519 line has 200 characters. */
export const COSIGNATURE_LINE_CHARS_MAX = 512
