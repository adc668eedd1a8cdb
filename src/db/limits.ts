// A request: how long it may take to arrive, and what it may hold
export const BATCH_ITEMS_MAX = 2_000
/** Payloads, metadata and documents of steps in a page. A page ends early, but not before its first item. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024
export const PARENT_DEPTH_MAX = 16

// Batches: what 64 records may hold, with every member as large as it may be
/** A content that decompresses to more is not decompressed further. */
export const CHUNK_CONTENT_BYTES_MAX = 5 * 1024 * 1024

// Content that has left for the archive
/** Asked of a client whose read needs the archive while that is away. */
export const ARCHIVE_RETRY_AFTER_MS = 5_000

// OTLP: where spans and logs that may be known lie
/** Places that a query looks at; the next one goes on at the last. MUST be BATCH_KEYS_MAX or more, or it would stay at one entry. */
export const CHUNKS_OF_KEYS_MAX = 8_192

// Searches: what one request may look at (src/db/records/search-records.ts). A page that reaches it ends there.
/** Rows of records, and keys of chunks. */
export const SEARCH_CANDIDATES_MAX = 5_000
/** Chunks of batches that are decompressed: as many records as of the others. */
export const SEARCH_CHUNKS_MAX = 80
/** Payloads, metadata and references in those chunks. The last chunk may exceed it. */
export const SEARCH_CHUNK_BYTES_MAX = 16 * 1024 * 1024
export const SEARCH_DAYS_MAX = 31
export const SEARCH_PROBE_CANDIDATES = 200
export const SEARCH_ENTRIES_SKIPPED_MAX = 20_000
/** Twice what append_entries allows a clock to be off, and half a minute for a database's own clock that is set back. */
export const SEARCH_CLOCK_SLACK_MS = 90_000
export const SEARCH_CONNECTIONS_MAX = 4
/** Pages that one statement of a search brings. */
export const SEARCHES_PER_QUERY_MAX = 16
/** Rows of these pages together. */
export const PAGE_ROWS_PER_QUERY_MAX = 200
/** Statements of one text under way. */
export const SEARCH_QUERIES_MAX = 2
export const SEARCH_STATEMENT_TIMEOUT_MS = 5_000

// Cosignatures
/** Among so many of the newest, of all witnesses, a checkpoint is looked for that enough of them cosigned. */
export const COSIGNATURES_LOOKED_AT_MAX = 1_000

// Postgres
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const CONNECT_TIMEOUT_MS = 5_000
/** Between two attempts of a process to reach a database that is away (src/db/connect/reconnects.ts): doubled from the one to the other. */
export const RECONNECT_PAUSE_MS_MIN = 20
export const RECONNECT_PAUSE_MS_MAX = 500
/** After this silence the kernel probes the connection; ten seconds later a dead one is known to be dead. */
export const KEEP_ALIVE_AFTER_MS = 5_000
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024
/** An RDS token has 400 to 2,000 bytes. */
export const PASSWORD_BYTES_MAX = 16 * 1024
/** Starts a program and asks a cloud for a token: on a processor that others use it takes seconds. */
export const PASSWORD_COMMAND_MS_MAX = 15_000
/** Where the database refuses what it gave. */
export const PASSWORD_COMMAND_EVERY_MS = 1_000
/** A token of RDS is good for 15 minutes. */
export const PASSWORD_CACHE_SECONDS_DEFAULT = 600
export const PASSWORD_CACHE_SECONDS_MAX = 3_600
/** Wait of a migration for a lock; everybody else waits behind it. */
export const MIGRATION_LOCK_MS_MAX = 3_000
export const SCHEMA_WAIT_EVERY_MS = 500
/** Questions that a pooler is told apart by. */
export const POOLER_PROBES = 8
/** An answer that takes so long is asked after (src/db/connect/half-open.ts), and so long is waited for one that is on its way. */
export const HALF_OPEN_AFTER_MS = 2_000
export const HALF_OPEN_GRACE_MS = 250
export const HALF_OPEN_LOOK_EVERY_MS = 500
/** However many connections say that the database has moved. */
export const POOLS_RENEWED_EVERY_MS = 1_000
export const WRITE_CONNECTIONS_MAX = 3
export const READ_CONNECTIONS_MAX = 8
export const JOB_CONNECTIONS_MAX = 2
export const WEBHOOK_CONNECTIONS_MAX = 4
export const PEER_CONNECTIONS_MAX = 2
/**
 * Look-ups of records by id that share a query, and how many such queries are under way (src/db/connect/coalescer.ts). With one at a
 * time instead of two, 457 and 479 gated records/s instead of 473 and 518.
 */
export const LOOKUPS_PER_QUERY_MAX = 64
export const LOOKUP_QUERIES_MAX = 2
/**
 * Look-ups of peerings: per query, queries at a time, and look-ups that wait. A look-up brings the key that verifies a peer's request,
 * so anybody can cause one. Beyond the limit a request is answered 503.
 */
export const CONTACTS_PER_QUERY_MAX = 32
export const CONTACT_QUERIES_MAX = 1
export const CONTACTS_WAITING_MAX = 1_024
/** Compressed chunks of batches that one such query brings. */
export const LOOKUP_CHUNK_BYTES_MAX = 4 * 1024 * 1024
export const READ_STATEMENT_TIMEOUT_MS = 30_000
/** A statement that takes too long Postgres ends, and says so. From whom nothing is heard so long after that is not there any more. */
export const STATEMENT_END_MS_MAX = 5_000

// Preflight (docs/preflight.md)
export const PREFLIGHT_STATEMENT_TIMEOUT_MS = 5_000
/** A statement waits for a flush, or for standbys: longer than that is an error. */
export const PREFLIGHT_ANSWER_TIMEOUT_MS = 10_000

// Keys
/** Rows that `npm run op -- rotate-master-key` seals anew at a time. */
export const RESEALED_PER_QUERY = 2_000

// Streams: rows that one query fetches of a longer answer
export const STREAM_ENTRIES_PER_QUERY = 500
export const STREAM_RECORDS_PER_QUERY = 2_000
export const STREAM_CHUNKS_PER_QUERY = 64
/** Bytes of documents, and of envelopes. A reader that does not read holds this much, and what its connection holds. */
export const STREAM_BYTES_PER_QUERY = 256 * 1024

// Erasures
/** The chunk of an erased record is read and rewritten so often while others erase records of it. */
export const ERASURE_ATTEMPTS_MAX = 8

// Verification of completions
/** So many workers find something to do in one ledger that has enough: each looks past what the others have claimed. */
export const COMPLETION_CLAIMERS_MAX = 4

// Audits, and the follower that verifies entries as they come
/** How often jobs that are done are deleted, once they are old enough; by default once a day. */
export const JOB_DELETION_EVERY_SECONDS = 120

// Events
/** Deliveries to webhooks wait so long for each object of the archive; what it is asked for goes on. */
export const EVENT_ARCHIVE_MS_MAX = 5_000
/** Batches per query: 20 full ones take 22 ms. */
export const EVENT_BATCHES_PER_QUERY = 20
/**
 * Objects of the archive that a page of events needs, bundles of envelopes and pieces each: it ends before the next bundle, and behind the
 * entry that needed the last piece.
 */
export const EVENT_OBJECTS_PER_PAGE = 4

// Sending to peers
/** Drains of one ledger at a time; one round may make it twice as many. */
export const PEER_DRAINS_OF_LEDGER_MAX = 16

// Comparison with peers
/** A peer is asked what it holds at least so often, and sent again what it lacks. */
export const PEER_SUMMARY_EVERY_MS = 86_400_000

// Clock of a worker, held to the database's
export const CLOCK_MEASURE_EVERY_MS = 10_000
/** Readings of one measurement: the quickest counts. */
export const CLOCK_SAMPLES = 3
/** A measurement that may be off by more is not used: the database, or the way to it, was slow. */
export const CLOCK_ERROR_MS_MAX = 500
/** From this on the log says that this machine's clock is off. */
export const CLOCK_SKEW_WARN_MS = 2_000

// Webhooks: how endpoints are delivered to (docs/webhooks.md)
/** Longer than all tries of one delivery: failures count from the beginning where nothing was tried for so long. */
export const WEBHOOK_FAILING_GAP_MS_MAX = 28 * 3_600_000
/** Notices of an endpoint about others that wait to be delivered. */
export const WEBHOOK_NOTICES_OPEN_MAX = 10

// Webhooks: requests of tenants
export const WEBHOOKS_PER_LEDGER_MAX = 100
/** Secrets of an endpoint at a time: its own, and those before rotations. */
export const WEBHOOK_SECRETS_MAX = 3
/** Test events of an endpoint that wait to be delivered. */
export const WEBHOOK_TESTS_OPEN_MAX = 10
/** Dead letters redelivered by one request. */
export const WEBHOOK_REDELIVERED_MAX = 1_000
/** Deliveries of an endpoint are counted so far. */
export const WEBHOOK_COUNT_MAX = 1_000
/** A page of deliveries that are wanted ends there. */
export const WEBHOOK_DELIVERIES_SCANNED_MAX = 5_000

// Retention and holds (migrations/functions/retention.sql has the same numbers, and decides)
/** Rules of a ledger, and holds that stand. */
export const KEEPING_MAX = 1_024
/** Records that holds which stand name. */
export const HOLDS_RECORDS_MAX = 65_536
/** Holds that a refusal names. */
export const HOLDS_NAMED_MAX = 20
/** Entries, and records, that a page of retention looks at: a page ends early, but not before its first entry. */
export const KEPT_ENTRIES_PER_PAGE = 1_024
export const KEPT_RECORDS_PER_PAGE = 2_048
/** Chunks of batches that one query brings: 5 MiB each at the most. */
export const KEPT_CHUNKS_PER_QUERY = 8
/** A worker that was killed leaves its ledger to the others after this. */
export const RETENTION_CLAIM_SECONDS = 120
/** After a page that failed, which is then looked at again: somebody may have mended what was wrong. */
export const RETENTION_FAILURE_PAUSE_SECONDS = 600
/** Between two looks through a ledger. A document may be there for so much longer than its time. */
export const RETENTION_SWEEP_EVERY_SECONDS = 6 * 3_600

// Replicas (src/db/connect/replica.ts)
/** Between two looks at a replica. One that must not be read, or is away, is asked no more often. */
export const REPLICA_PROBE_EVERY_MS = 1_000
/** Time for a connection to a replica, and for a look at it. One that says nothing for so long is away. */
export const REPLICA_LOOK_MS_MAX = 1_000
/** Time that a read waits for one of the replica's connections, which are all in use, before it goes to the primary. */
export const REPLICA_WAIT_MS_MAX = 100
/** A replica that is further behind is not read (TALLYSTICK_REPLICA_LAG_MS_MAX). */
export const REPLICA_LAG_MS_DEFAULT = 10_000
export const REPLICA_LAG_MS_MIN = 100
export const REPLICA_LAG_MS_MAX = 3_600_000
/** Looks at the primary's log that are remembered, and the time between two: a lag of so long can be told from a longer one. */
export const PRIMARY_LOG_LOOKS_MAX = 36_000
export const PRIMARY_LOG_SPACING_MS = 100
/** A primary whose log stays behind what it was for so long is another one. */
export const PRIMARY_LOG_BACK_MS = 10_000
/** Signature line in a row of `cosignatures`. A line of an Ed25519 key has 200 characters. */
export const COSIGNATURE_LINE_CHARS_MAX = 512
