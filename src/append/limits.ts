// A request: how old its proof may be
/** Between a caller's authentication and its signature: the body may take REQUEST_TIMEOUT_MS of it, and the types the rest. */
export const CALLER_AGE_MS_MAX = 40_000
/** Between the time in an id that an agent chose and that of its signature: clocks of both are the agent's. */
export const CHOSEN_ID_AGE_MS_MAX = 60_000

// The append queue of one process
export const APPEND_BATCH_ENTRIES_MAX = 512
/** Administrative entries per batch. If Postgres refuses all eight, halving takes 15 calls. */
export const APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX = 8
/**
 * Entries about peers per batch: offers, and records that are shared. Refused are those that a check before has let through: second
 * offers for a record, and whatever comes while a peering ends. Postgres has 1.6 ms of work for an offer in batches of 8.
 */
export const APPEND_BATCH_PEER_ENTRIES_MAX = 32
export const APPEND_BATCH_RECORDS_MAX = 4_000
/** A search key costs Postgres as much as five records. A batch of 1,000 records usually has 50 keys, and 1,050 if each record has a trace of its own. */
export const APPEND_BATCH_KEYS_MAX = 1_024
export const APPEND_BATCH_BYTES_MAX = 16 * 1024 * 1024
/** Batches in flight of one process. */
export const APPEND_LANES = 3
/** A second batch of a ledger waits in Postgres for the first one's commit; a third would wait no shorter. */
export const APPEND_LANES_OF_ONE_LEDGER = 2
/** Records in a batch that overlaps another: a smaller one joins the next, because a call costs as much as ten records. */
export const APPEND_OVERLAP_RECORDS_MIN = 16
/** Records and time for which a batch waits while requests that have arrived are still being prepared (append-queue.ts). */
export const APPEND_GATHER_RECORDS_MAX = 256
export const APPEND_GATHER_MS_MAX = 20
/** One ledger may have half of what the others leave. */
export const APPEND_QUEUE_ENTRIES_MAX = 4_096
export const APPEND_QUEUE_RECORDS_MAX = 65_536
export const APPEND_QUEUE_BYTES_MAX = 128 * 1024 * 1024
export const APPEND_WAIT_MS_MAX = 2_000
export const APPEND_DEADLOCK_RETRIES_MAX = 3
/** A call that the database could not take is made once more after the pause, unless so much time has gone already. */
export const APPEND_UNAVAILABLE_PAUSE_MS = 100
export const APPEND_UNAVAILABLE_RETRY_MS_MAX = 1_000
/** The record's last entry may have changed, and the ledger's key as well. */
export const APPEND_STALE_RETRIES_MAX = 2
