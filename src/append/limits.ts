// A request: how long it may take to arrive, and what it may hold
/** Between a caller's authentication and its signature: the body may take REQUEST_TIMEOUT_MS of it, and the types the rest. */
export const CALLER_AGE_MS_MAX = 40_000
/** Between the time in an id that an agent chose and that of its signature: clocks of both are the agent's. */
export const CHOSEN_ID_AGE_MS_MAX = 60_000
/** Beyond these a request is refused at once, but for bursts (src/append/admission.ts). */
export const REQUESTS_UNDER_WAY_MAX = 256
/**
 * Reads have places of their own: REQUESTS_UNDER_WAY_MAX at least, more as far as the process answers them in READS_WAIT_MS_MAX, and so
 * many at most. With 256, a third of the reads of 1,000 users was refused, and two thirds of 6,000 users', who wrote a fifth of their
 * requests, while no write was.
 */
export const READS_UNDER_WAY_MAX = 4_096
export const READS_WAIT_MS_MAX = 1_000
export const REQUESTS_BURST_MAX = 2_048
export const REQUESTS_BURST_PER_SECOND = 100
/** Requests that begin before others are looked at. */
export const REQUESTS_PER_TURN_MAX = 16
export const TURN_BYTES_MAX = 64 * 1024
/** Limit of every route that names no other. A body of this size is parsed in one turn: 3 ms, and 16 ms for a hostile one. */
export const BODY_BYTES_MAX = 64 * 1024
/** Bodies that are on their way, or were not handled yet (src/append/byte-budget.ts); one ledger alone may have half. */
export const BODIES_BYTES_MAX = 192 * 1024 * 1024
export const JSON_DEPTH_MAX = 32
/** Names and values in a text above BODY_BYTES_MAX, which a thread parses: 0.5 s at the worst. Usual records of 4 MiB have half. */
export const JSON_TOKENS_MAX = 512 * 1024
/** A piece, for example one record, is taken over in one turn, 20 ms at the worst. A document of DOCUMENT_BYTES_MAX has 43,690 at most. */
export const JSON_TOKENS_IN_PIECE_MAX = 48 * 1024
/** Twenty times as long: then something else is wrong. */
export const JSON_THREAD_MS_MAX = 10_000

// Answers that were written and not taken (src/append/byte-budget.ts, src/http/write-deadlines.ts)
/** One ledger alone may have half. */
export const READ_ANSWERS_BYTES_MAX = 192 * 1024 * 1024
/** The largest, of a full batch, has 500 KB. */
export const WRITE_ANSWERS_BYTES_MAX = 64 * 1024 * 1024

// Work on large inputs (src/append/turn.ts, src/append/threads)
/** Time on the event loop before others have their turn. */
export const TURN_MS_MAX = 5
export const THREADS_MAX = 64
/** Pieces of work that wait for a thread; one owner may have THREAD_WORK_OF_ONE_SHARE of them, and of their bytes. */
export const THREAD_WORK_WAITING_MAX = 256
export const THREAD_WORK_BYTES_WAITING_MAX = 64 * 1024 * 1024
export const THREAD_WORK_OF_ONE_SHARE = 1 / 2
/** 4 MiB of the smallest objects take 60 MiB. */
export const THREAD_HEAP_MIB_MAX = 256
/**
 * Heap of a thread below which V8 collects young objects only. By default it collects everything each time that a few more batches
 * have come. Batches of 1,000, 4 producers: 44,800 records/s by default, 49,000 with 64, 57,800 with 128, 55,800 with 256.
 */
export const THREAD_INITIAL_HEAP_MIB = 128

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
export const APPEND_QUEUE_ENTRIES_MAX = 4_096
export const APPEND_QUEUE_ENTRIES_PER_LEDGER_MAX = 2_048
export const APPEND_QUEUE_RECORDS_MAX = 65_536
export const APPEND_QUEUE_BYTES_MAX = 128 * 1024 * 1024
export const APPEND_WAIT_MS_MAX = 2_000
export const APPEND_DEADLOCK_RETRIES_MAX = 3
/** A call that the database could not take is made once more after the pause, unless so much time has gone already. */
export const APPEND_UNAVAILABLE_PAUSE_MS = 100
export const APPEND_UNAVAILABLE_RETRY_MS_MAX = 1_000
/** The record's last entry may have changed, and the ledger's key as well. */
export const APPEND_STALE_RETRIES_MAX = 2
