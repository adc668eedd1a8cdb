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

// The append queue of one process
export const APPEND_BATCH_ENTRIES_MAX = 512
export const APPEND_BATCH_RECORDS_MAX = 4_000
export const APPEND_BATCH_BYTES_MAX = 16 * 1024 * 1024
export const APPEND_LANES = 2
export const APPEND_QUEUE_ENTRIES_MAX = 4_096
export const APPEND_QUEUE_ENTRIES_PER_LEDGER_MAX = 2_048
export const APPEND_QUEUE_RECORDS_MAX = 65_536
export const APPEND_QUEUE_BYTES_MAX = 128 * 1024 * 1024
export const APPEND_WAIT_MS_MAX = 2_000
export const APPEND_DEADLOCK_RETRIES_MAX = 3
export const APPEND_STALE_RETRIES_MAX = 1

// Postgres
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const APPEND_ANSWER_TIMEOUT_MS = 20_000
export const CONNECT_TIMEOUT_MS = 5_000
export const READY_ANSWER_TIMEOUT_MS = 2_000
export const WRITE_CONNECTIONS_MAX = 3
export const READ_CONNECTIONS_MAX = 8
export const READ_STATEMENT_TIMEOUT_MS = 30_000

// Keys
export const KEY_CACHE_AGE_MS_MAX = 5_000
export const KEY_CACHE_KEYS_MAX = 20_000

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
