// Requests
/**
 * Maximum number of requests that a process serves at the same time. Further requests are refused at once, except for
 * bursts (src/load/admission.ts).
 */
export const REQUESTS_UNDER_WAY_MAX = 256
/**
 * Maximum number of reads under way. The actual limit is the number of reads that the process answers within
 * READS_WAIT_MS_MAX, but at least REQUESTS_UNDER_WAY_MAX.
 *
 * With a fixed limit of 256, a third of the reads was refused in a test with 1,000 users. With 6,000 users and one
 * write in five requests, two thirds of the reads were refused, but no write.
 */
export const READS_UNDER_WAY_MAX = 4_096
export const READS_WAIT_MS_MAX = 1_000
export const REQUESTS_BURST_MAX = 2_048
export const REQUESTS_BURST_PER_SECOND = 100
/**
 * Maximum number of requests without a known key that are under way, reads and writes together. They do not count
 * towards the limits of proven owners. Examples: pages of the console, requests of readers of public ledgers, and
 * requests of peers until their signature is verified.
 */
export const UNPROVEN_UNDER_WAY_MAX = 64
export const UNPROVEN_BURST_MAX = 256
export const UNPROVEN_BURST_PER_SECOND = 100
/**
 * Maximum number of requests that begin in one slice of the event loop (REQUESTS_PER_SLICE_MAX), and maximum total size
 * of their bodies in bytes (SLICE_BYTES_MAX).
 */
export const REQUESTS_PER_SLICE_MAX = 16
export const SLICE_BYTES_MAX = 64 * 1024
/**
 * Maximum size in bytes of a body in routes that set no other limit. A body of this size is parsed in one slice. This
 * takes 3 ms, or 16 ms if an attacker made the body slow to parse.
 */
export const BODY_BYTES_MAX = 64 * 1024
/**
 * Maximum total size in bytes of the bodies that are arriving or have not been processed yet (src/load/budgets.ts). One
 * ledger alone may use half of these bytes.
 */
export const BODIES_BYTES_MAX = 192 * 1024 * 1024
/**
 * Maximum number of names and values in a text that is larger than BODY_BYTES_MAX. A thread parses such a text. The
 * slowest text takes 0.5 s. Usual records of 4 MiB have half as many names and values.
 */
export const JSON_TOKENS_MAX = 512 * 1024
/**
 * Maximum number of names and values in one piece of a text, for example one record. The event loop parses a piece in
 * one slice, which takes at most 20 ms. A document of DOCUMENT_BYTES_MAX has at most 43,690 names and values.
 */
export const JSON_TOKENS_PER_FRAGMENT_MAX = 48 * 1024
/**
 * Maximum time that a thread may take for one text. It is twenty times the time of the slowest text, so a thread that
 * takes longer has a fault.
 */
export const JSON_THREAD_MS_MAX = 10_000

/**
 * Maximum share of each byte budget for all unproven senders together. Their bytes do not count towards the budget of
 * proven owners.
 */
export const UNPROVEN_BYTES_SHARE = 1 / 4

// Answers that were written but that the client has not read yet (src/load/budgets.ts,
// src/http/connections/write-deadlines.ts)
/** Maximum total size in bytes of the answers to reads. One ledger alone may use half of these bytes. */
export const READ_ANSWERS_BYTES_MAX = 192 * 1024 * 1024
/** Maximum total size in bytes of the answers to writes. The largest of these answers, to a full batch, has 500 KB. */
export const WRITE_ANSWERS_BYTES_MAX = 64 * 1024 * 1024

// Work on large inputs (src/load/slice.ts, src/load/threads)
/** Maximum time in ms that work may occupy the event loop before other work gets a slice. */
export const SLICE_MS_MAX = 5
/**
 * Maximum time in ms that all pages and streams together may occupy the event loop in one iteration while another owner
 * is active. The last slice of the iteration may exceed the limit.
 */
export const SHARED_SLICE_MS_MAX = 1
/**
 * Maximum time in ms of one pause of long reads. A pause is as long as the iteration before it. Without this limit, a
 * process that was stopped for a minute would pause long reads for a minute.
 */
export const SHARED_PAUSE_MS_MAX = 50
/**
 * An owner is active for OTHERS_ACTIVE_MS after each of its requests, but not in the READER_MS after a slice for its
 * own long reads. While an owner is active, long reads get short slices and pause. At most OWNERS_NOTED_MAX owners are
 * noted.
 */
export const OTHERS_ACTIVE_MS = 1_000
export const READER_MS = 100
export const OWNERS_NOTED_MAX = 64
export const THREADS_MAX = 64
/**
 * Maximum number of pieces of work that wait for a thread (THREAD_WORK_WAITING_MAX), and their maximum total size in
 * bytes (THREAD_WORK_BYTES_WAITING_MAX). One owner may use half of what the other owners leave free.
 */
export const THREAD_WORK_WAITING_MAX = 256
export const THREAD_WORK_BYTES_WAITING_MAX = 64 * 1024 * 1024
/**
 * Maximum share of the waiting work for all unproven senders together. Their work does not count towards the limits of
 * proven owners.
 */
export const THREAD_WORK_UNPROVEN_SHARE = 1 / 8
/** Maximum heap of a thread in MiB. 4 MiB of JSON with the smallest objects take 60 MiB. */
export const THREAD_HEAP_MIB_MAX = 256
/**
 * Initial heap of a thread in MiB. While the heap is smaller than this, V8 collects only young objects. By default V8
 * collects all objects after every few batches. Throughput with batches of 1,000 records from 4 producers: 44,800
 * records/s by default, 49,000 with 64 MiB, 57,800 with 128 MiB, 55,800 with 256 MiB.
 */
export const THREAD_INITIAL_HEAP_MIB = 128
/**
 * Maximum size of a thread's young generation in MiB. 48 MiB give semi-spaces of 16 MiB. With V8's default, three
 * threads take 150 to 190 MiB more, at the same rate of batches (docs/decisions/0021-worker-threads.md#memory).
 */
export const THREAD_YOUNG_HEAP_MIB_MAX = 48
