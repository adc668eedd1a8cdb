/** Every bound of the server, by name, with its unit last. docs/api.md lists those that clients meet. */

// A request: how long it may take to arrive, and what it may hold
export const REQUEST_TIMEOUT_MS = 30_000
/** Longer than an append may take: of those that still hold a connection then, only streams are left. */
export const CLOSE_STREAMS_MS = 21_000
export const CLOSE_IDLE_EVERY_MS = 50
export const BODY_BYTES_MAX = 4 * 1024 * 1024
/** Of one record: its document and metadata with every character escaped, and room. A body is read in one turn. */
export const RECORD_BODY_BYTES_MAX = 512 * 1024
export const DOCUMENT_BYTES_MAX = 64 * 1024
export const METADATA_BYTES_MAX = 4 * 1024
export const JSON_DEPTH_MAX = 32
export const BATCH_ITEMS_MAX = 2_000
export const IDEMPOTENCY_KEY_CHARS_MAX = 255
export const NAME_CHARS_MAX = 200
export const REASON_CHARS_MAX = 1_000
export const PAGE_ITEMS_DEFAULT = 50
export const PAGE_ITEMS_MAX = 200
/** Of payloads, metadata and the documents of steps: a page ends early, but not before its first item. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024
export const REFERENCES_MAX = 16
export const REFERENCE_CHARS_MAX = 256
export const REFERENCES_BYTES_MAX = 4 * 1024
export const PARENT_DEPTH_MAX = 16
export const GATED_REVISIONS_DEFAULT = 3
export const GATED_REVISIONS_MAX = 100

// Searches: what one request may look at (src/db/search-records.ts). A page that reaches it ends there.
export const SEARCH_CANDIDATES_MAX = 5_000
export const SEARCH_DAYS_MAX = 31
export const SEARCH_PROBE_CANDIDATES = 200
export const SEARCH_ENTRIES_SKIPPED_MAX = 20_000
/** Twice what append_entries allows a clock to be off, and half a minute for a database's own clock that is set back. */
export const SEARCH_CLOCK_SLACK_MS = 90_000
export const SEARCH_CONNECTIONS_MAX = 4
export const SEARCH_STATEMENT_TIMEOUT_MS = 5_000

// Types: what a definition may hold, and what compiling and validating may cost (docs/types.md)
export const TYPE_DEFINITION_BYTES_MAX = 64 * 1024
export const SCHEMA_SUBSCHEMAS_MAX = 1_000
/** Of subschemas that look at the same value one inside another, by $ref and the like: each costs stack. */
export const SCHEMA_IN_PLACE_DEPTH_MAX = 16
export const SCHEMA_ENUM_VALUES_MAX = 1_000
export const SCHEMA_PATTERNS_MAX = 64
export const PATTERN_CHARS_MAX = 256
export const PATTERN_INSTRUCTIONS_MAX = 1_000
export const TYPE_RULES_MAX = 256
export const RULE_VALUES_MAX = 256
/** What a record sets, in canonical form: signed with its creation. */
export const TOLERANCES_BYTES_MAX = 16 * 1024
/** Of one value in the document of compared values; of a longer one it has the size. */
export const RULE_VALUE_BYTES_MAX = 1_024
/** A step is 5 to 18 ns of the processor: at most 10 ms for the largest document. */
export const VALIDATION_STEPS_BASE = 20_000
export const VALIDATION_STEPS_PER_BYTE = 8
export const FAULT_PATH_CHARS_MAX = 512
/**
 * Of the thread's time, for the schemas of one ledger: `AHEAD` may be used up before its share of time has passed. (Beside a
 * ledger that does its worst the p99 of another was 3.5 times its p99 alone with 1 / 4 and 20 ms, 2.9 times with these.)
 */
export const SCHEMA_WORK_SHARE = 1 / 10
export const SCHEMA_WORK_AHEAD_MS_MAX = 5
export const SCHEMA_WORK_WAITING_PER_LEDGER_MAX = 256
export const SCHEMA_WORK_LEDGERS_SWEPT_FROM = 1_000
export const TYPE_CACHE_BYTES_PER_LEDGER_MAX = 8 * 1024 * 1024
export const TYPE_CACHE_BYTES_MAX = 128 * 1024 * 1024
/** Registered types in one batch: each is read and compiled before the first item is built. */
export const BATCH_TYPES_MAX = 32

// The append queue of one process
export const APPEND_BATCH_ENTRIES_MAX = 512
/** Of agents, keys, types and so on: all of them refused cost 15 calls. */
export const APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX = 8
export const APPEND_BATCH_RECORDS_MAX = 4_000
export const APPEND_BATCH_BYTES_MAX = 16 * 1024 * 1024
export const APPEND_LANES = 2
export const APPEND_QUEUE_ENTRIES_MAX = 4_096
export const APPEND_QUEUE_ENTRIES_PER_LEDGER_MAX = 2_048
export const APPEND_QUEUE_RECORDS_MAX = 65_536
export const APPEND_QUEUE_BYTES_MAX = 128 * 1024 * 1024
export const APPEND_WAIT_MS_MAX = 2_000
export const APPEND_DEADLOCK_RETRIES_MAX = 3
/** The record's last entry may have changed, and the ledger's key as well. */
export const APPEND_STALE_RETRIES_MAX = 2

// Postgres
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const APPEND_ANSWER_TIMEOUT_MS = 20_000
export const CONNECT_TIMEOUT_MS = 5_000
export const READY_ANSWER_TIMEOUT_MS = 2_000
export const WRITE_CONNECTIONS_MAX = 3
export const READ_CONNECTIONS_MAX = 8
export const JOB_CONNECTIONS_MAX = 2
/**
 * Look-ups of records by id that share a query, and how many such queries are under way (src/db/coalescer.ts). With one at a
 * time instead of two, 457 and 479 gated records/s instead of 473 and 518.
 */
export const LOOKUPS_PER_QUERY_MAX = 64
export const LOOKUP_QUERIES_MAX = 2
export const READ_STATEMENT_TIMEOUT_MS = 30_000

// Rate limits
export const RATE_LIMIT_PER_SECOND_MIN = 0.001
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000
export const RATE_LIMIT_BURST_MAX = 1_000_000
/** Of one process: keys and ledgers that have a limit and were used. */
export const RATE_LIMIT_BUCKETS_MAX = 20_000
/** So many records of a batch cost as much as one request: that is what they take of a core. */
export const RATE_LIMIT_RECORDS_PER_REQUEST = 100

// Keys
export const KEY_CACHE_AGE_MS_MAX = 5_000
export const KEY_CACHE_KEYS_MAX = 20_000
/** Between a caller's authentication and what he signs: his body may take REQUEST_TIMEOUT_MS of it, and his types the rest. */
export const CALLER_AGE_MS_MAX = 40_000
/** Of one key at a time: its own, and those that it had before rotations. The database refuses more. */
export const KEY_SECRETS_MAX = 3
export const KEY_OVERLAP_SECONDS_DEFAULT = 3_600
export const KEY_OVERLAP_SECONDS_MAX = 30 * 86_400

// Streams: what one query fetches of a longer answer
export const STREAM_ENTRIES_PER_QUERY = 500
export const STREAM_RECORDS_PER_QUERY = 2_000
export const STREAM_PAYLOAD_BYTES_PER_QUERY = 4 * 1024 * 1024
export const STREAM_CHUNK_CHARS = 64 * 1024
/** Of one ledger at a time: a line of a full batch is held whole, up to 75 MiB, for as long as nobody reads it. */
export const STREAMS_PER_LEDGER_MAX = 4
export const STREAMS_MAX = 32
export const STREAM_STALL_MS_MAX = 60_000

// Checkpoints
export const CHECKPOINT_EVERY_MS = 500
export const CHECKPOINT_AGE_MS_MIN = 1_000
export const CHECKPOINT_LEDGERS_PER_ROUND = 500
export const TREE_ENTRIES_PER_STEP = 65_536

// Verification of completions
/** Half of it is what a completion waits on average, on a machine with nothing else to do. */
export const COMPLETION_ENQUEUE_EVERY_MS = 50
/** Jobs that could be taken at once: what comes later than a flood of another ledger waits for so many, a second at 500 a second. */
export const COMPLETIONS_QUEUED_MAX = 512
export const COMPLETIONS_PER_BATCH = 128
/** While one waits for the database the other one computes. */
export const COMPLETION_BATCHES_AT_ONCE = 2
/** For a type that its ledger's share of the time has not compiled yet: the others of the batch don't wait longer. */
export const COMPLETION_TYPE_WAIT_MS_MAX = 500
export const COMPLETION_SWEEP_EVERY_MS = 2_000
/** A batch is at work for half a second at most; whose job takes longer is enqueued again, because its worker may be gone. */
export const COMPLETION_JOB_MS_MAX = 5_000
export const COMPLETIONS_PER_SWEEP = 5_000

// Expiry
export const EXPIRY_EVERY_MS = 500
export const EXPIRIES_PER_ROUND = 256
/** Closed ledgers keep what is overdue: passing over it takes no more than this share of the time. */
export const EXPIRY_TIME_SHARE_MAX = 0.25
/** A refused one is looked at again after this, because what is refused is a fault that somebody may mend. */
export const EXPIRY_REFUSED_PAUSE_MS = 60_000
/** How many are remembered to be refused; of more, the oldest are looked at anew. */
export const EXPIRIES_REFUSED_MAX = 10_000

// Erasure
/** What an erasure lists of the record's other documents: three a round, and the routes let a record have 101 rounds. */
export const ERASABLE_LISTED_MAX = 400
export const ERASURE_EVERY_MS = 1_000
export const ERASURES_PER_ROUND = 100
/** A refused one is looked at again after this, because what is refused is a fault that somebody may mend. */
export const ERASURE_REFUSED_PAUSE_MS = 60_000
/** How many are remembered to be refused; of more, the oldest are looked at anew. */
export const ERASURES_REFUSED_MAX = 10_000

// Keys that rotate
export const ROTATION_EVERY_MS = 1_000
/** One transaction holds the heads of so many ledgers, for about 20 ms. */
export const ROTATION_LEDGERS_PER_ROUND = 200

// Restored backups: how many kept checkpoints are compared with the chain in a round. Those kept last are the first that an
// older backup lacks; the others take turns.
export const RESTORED_EVERY_MS = 1_000
export const RESTORED_NEWEST_PER_ROUND = 100
export const RESTORED_OTHERS_PER_ROUND = 1_000
/** Of one query, 10 µs each. */
export const RESTORED_PER_QUERY = 1_000

// Audits, and the follower that verifies entries as they come
/** Of one core, everything included: at a hundred microseconds an entry, thousands of entries a second. */
export const ENTRY_FOLLOWER_TIME_SHARE_MAX = 0.25
export const ENTRY_FOLLOWER_EVERY_MS = 1_000
/** After this a round ends at the next chunk: those who wait for the round to end don't wait long. */
export const ENTRY_FOLLOWER_ROUND_MS = 250
export const ENTRY_FOLLOWER_LEDGERS_PER_ROUND = 500
export const ENTRY_FOLLOWER_ENTRIES_PER_SPAN = 8_192
export const FAULT_REASON_CHARS_MAX = 1_000
export const JOB_POLL_SECONDS = 1
/** How often jobs that are done are deleted, once they are old enough; by default once a day. */
export const JOB_DELETION_EVERY_SECONDS = 120
export const AUDIT_ENQUEUE_EVERY_MS = 1_000
export const AUDITS_PER_ROUND = 100
export const AUDIT_PROGRESS_EVERY_MS = 1_000
/** Six times an hour: 72,000 ledgers a day. */
export const AUDIT_SCHEDULE_CRON = '*/10 * * * *'
export const AUDITS_PER_SCHEDULE_MAX = 500
