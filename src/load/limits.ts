// Requests
/** Requests beyond this number are refused at once, except for bursts (src/load/admission.ts). */
export const REQUESTS_UNDER_WAY_MAX = 256
/**
 * Upper limit of reads under way. The actual limit lies between REQUESTS_UNDER_WAY_MAX and this: as many reads as the
 * process answers in READS_WAIT_MS_MAX. With 256, a third of the reads of 1,000 users was refused, and two thirds of
 * the reads of 6,000 users, a fifth of whose requests were writes. No write was refused.
 */
export const READS_UNDER_WAY_MAX = 4_096
export const READS_WAIT_MS_MAX = 1_000
export const REQUESTS_BURST_MAX = 2_048
export const REQUESTS_BURST_PER_SECOND = 100
/**
 * Limit of all requests without a known key, reads and writes together, in addition to those of proven owners.
 * Examples: a page of the console, readers of public ledgers, and peers until their signature is verified.
 */
export const UNPROVEN_UNDER_WAY_MAX = 64
export const UNPROVEN_BURST_MAX = 256
export const UNPROVEN_BURST_PER_SECOND = 100
/** Requests that begin in one slice of the event loop. */
export const REQUESTS_PER_SLICE_MAX = 16
export const SLICE_BYTES_MAX = 64 * 1024
/**
 * Limit of every route that names no other. A body of this size is parsed in one slice: 3 ms, or 16 ms for a hostile
 * one.
 */
export const BODY_BYTES_MAX = 64 * 1024
/** Bodies that are arriving, or have not been processed yet (src/load/budgets.ts). One ledger alone may have half. */
export const BODIES_BYTES_MAX = 192 * 1024 * 1024
/**
 * Names and values in a text above BODY_BYTES_MAX, which a thread parses. The worst text takes 0.5 s. Usual records
 * of 4 MiB have half as many.
 */
export const JSON_TOKENS_MAX = 512 * 1024
/**
 * Names and values in one piece, for example one record. The event loop parses a piece in one slice: 20 ms at worst.
 * A document of DOCUMENT_BYTES_MAX has at most 43,690.
 */
export const JSON_TOKENS_PER_FRAGMENT_MAX = 48 * 1024
/** Twenty times the worst case. A thread that takes longer is broken. */
export const JSON_THREAD_MS_MAX = 10_000

/** Bytes for all requests of unproven senders, as a share of each byte budget and in addition to it. */
export const UNPROVEN_BYTES_SHARE = 1 / 4

// Answers that were written and that the client has not read (src/load/budgets.ts,
// src/http/connections/write-deadlines.ts)
/** One ledger alone may have half. */
export const READ_ANSWERS_BYTES_MAX = 192 * 1024 * 1024
/** The largest answer, that of a full batch, has 500 KB. */
export const WRITE_ANSWERS_BYTES_MAX = 64 * 1024 * 1024

// Work on large inputs (src/load/slice.ts, src/load/threads)
/** Time on the event loop before other work gets a slice. */
export const SLICE_MS_MAX = 5
export const THREADS_MAX = 64
/** Work that waits for a thread, by count and bytes. One owner may have half of what the others leave. */
export const THREAD_WORK_WAITING_MAX = 256
export const THREAD_WORK_BYTES_WAITING_MAX = 64 * 1024 * 1024
/** Waiting work of all unproven senders, as a share of these limits and in addition to them. */
export const THREAD_WORK_UNPROVEN_SHARE = 1 / 8
/** 4 MiB of the smallest objects take 60 MiB. */
export const THREAD_HEAP_MIB_MAX = 256
/**
 * Size of a thread's heap below which V8 collects young objects only. By default V8 collects everything whenever a
 * few more batches have come. Batches of 1,000, 4 producers: 44,800 records/s by default, 49,000 with 64, 57,800 with
 * 128, 55,800 with 256.
 */
export const THREAD_INITIAL_HEAP_MIB = 128
