// Requests
/**
 * Maximum time between a caller's authentication and the server's signature. The body may take REQUEST_TIMEOUT_MS of
 * it, the types the rest.
 */
export const CALLER_AGE_MS_MAX = 40_000
/** Maximum time between an id that an agent chose and its recordedAt. Both are by the agent's clock. */
export const CHOSEN_ID_AGE_MS_MAX = 60_000

// The append queue of one process
export const APPEND_BATCH_ENTRIES_MAX = 512
/** Administrative entries per batch. If Postgres refuses all eight, halving takes 15 calls. */
export const APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX = 8
/**
 * Entries about peers per batch: offers and shared records. Postgres may refuse an entry that passed an earlier
 * check: a second offer for a record, or an entry that arrives while a peering ends. In batches of 8, Postgres needs
 * 1.6 ms per offer.
 */
export const APPEND_BATCH_PEER_ENTRIES_MAX = 32
export const APPEND_BATCH_RECORDS_MAX = 4_000
/**
 * A search key costs Postgres as much as five records. A batch of 1,000 records usually has 50 keys, or 1,050 if each
 * record has a trace of its own.
 */
export const APPEND_BATCH_KEYS_MAX = 1_024
export const APPEND_BATCH_BYTES_MAX = 16 * 1024 * 1024
/** Batches of one process that may be in flight. */
export const APPEND_CONNECTIONS = 3
/** A second batch of a ledger waits in Postgres for the first one's commit. A third batch would gain nothing. */
export const APPEND_CONNECTIONS_PER_LEDGER = 2
/**
 * Minimum size of a batch that overlaps another, in records. Smaller ones wait for the next batch, because a call
 * costs as much as ten records.
 */
export const APPEND_OVERLAP_RECORDS_MIN = 16
/** Records and time for which a batch waits while arrived requests are still being prepared (append-queue.ts). */
export const APPEND_GATHER_RECORDS_MAX = 256
export const APPEND_GATHER_MS_MAX = 20
/** One ledger may have half of what the others leave. */
export const APPEND_QUEUE_ENTRIES_MAX = 4_096
export const APPEND_QUEUE_RECORDS_MAX = 65_536
export const APPEND_QUEUE_BYTES_MAX = 128 * 1024 * 1024
export const APPEND_WAIT_MS_MAX = 2_000
export const APPEND_DEADLOCK_RETRIES_MAX = 3
/** If the database is unavailable, the call is repeated once after the pause, unless it has already taken this long. */
export const APPEND_UNAVAILABLE_PAUSE_MS = 100
export const APPEND_UNAVAILABLE_RETRY_MS_MAX = 1_000
/** An entry is stale if the record's last entry or the ledger's key has changed. Both may happen to one entry. */
export const APPEND_STALE_RETRIES_MAX = 2
