// Limits of requests.
/**
 * Maximum time in ms between the authentication of a caller and the server's signature. Receiving the body may take
 * REQUEST_TIMEOUT_MS of this time. The rest is for loading types.
 */
export const CALLER_AGE_MS_MAX = 40_000
/**
 * Maximum difference in ms between the time in an id that an agent chose and the entry's `recordedAt`. Both come from
 * the agent's clock.
 */
export const CHOSEN_ID_AGE_MS_MAX = 60_000

// Maximum number of entries in a batch. This constant and the following ones limit the append queue of one process.
export const APPEND_BATCH_ENTRIES_MAX = 512
/**
 * Maximum number of administrative entries per batch. If Postgres refuses all eight, splitting the batch in halves
 * takes 15 calls.
 */
export const APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX = 8
/**
 * Maximum number of entries about peers per batch: offers and shared records. Postgres may refuse such an entry
 * although an earlier check accepted it. Examples are a second offer for a record, and an entry that arrives while a
 * peering ends. So batches are small. A maximum of 8 would be too small: an offer would then cost Postgres 1.6 ms.
 */
export const APPEND_BATCH_PEER_ENTRIES_MAX = 32
export const APPEND_BATCH_RECORDS_MAX = 4_000
/**
 * Maximum number of search keys per batch. A search key costs Postgres as much as five records. A batch of 1,000
 * records usually has 50 keys, or 1,050 if each record has its own trace.
 */
export const APPEND_BATCH_KEYS_MAX = 1_024
export const APPEND_BATCH_BYTES_MAX = 16 * 1024 * 1024
/** Maximum number of batches that one process has in flight. */
export const APPEND_CONNECTIONS = 3
/**
 * Maximum number of batches in flight with entries of one ledger. The second batch waits in Postgres for the commit of
 * the first. A third batch would gain nothing.
 */
export const APPEND_CONNECTIONS_PER_LEDGER = 2
/**
 * Minimum number of records in a batch that is sent while another batch is in flight. Fewer records wait for the next
 * batch, because a call costs as much as ten records.
 */
export const APPEND_OVERLAP_RECORDS_MIN = 16
/**
 * While more requests are coming, a batch waits until it has work of this many records, or until APPEND_GATHER_MS_MAX
 * have passed (append-queue.ts).
 */
export const APPEND_GATHER_RECORDS_MAX = 256
export const APPEND_GATHER_MS_MAX = 20
/**
 * Ledgers without a batch in flight are quiet if their mean work is at most the mean work of all ledgers that have
 * work, divided by this number. Entries of quiet ledgers are sent at once, in a batch of their own (append-queue.ts).
 */
export const APPEND_QUIET_DIVISOR = 4
/** Maximum number of entries in the queue. One ledger may use half of what the other ledgers leave free. */
export const APPEND_QUEUE_ENTRIES_MAX = 4_096
export const APPEND_QUEUE_RECORDS_MAX = 65_536
export const APPEND_QUEUE_BYTES_MAX = 128 * 1024 * 1024
export const APPEND_WAIT_MS_MAX = 2_000
export const APPEND_DEADLOCK_RETRIES_MAX = 3
/**
 * Pause in ms before a call is repeated because the database was unavailable. It is repeated once, and only if the
 * first try took at most APPEND_UNAVAILABLE_RETRY_MS_MAX.
 */
export const APPEND_UNAVAILABLE_PAUSE_MS = 100
export const APPEND_UNAVAILABLE_RETRY_MS_MAX = 1_000
/**
 * Maximum number of retries of a stale entry. An entry becomes stale if the record gets a newer entry, or if the
 * ledger's key changes. Both may happen to the same entry.
 */
export const APPEND_STALE_RETRIES_MAX = 2
/**
 * Maximum number of callers that are answered in one slice of the event loop. 64 answers take 2 to 4 ms. The answers of
 * a slice are written right after each other. When answers were written one by one, their clients woke up one by one,
 * and a single record cost 12 % more CPU.
 */
export const ANSWERS_PER_SLICE_MAX = 64
