// Reads
/** Ledgers whose size is cached for readers that send If-Known-Size. */
export const KNOWN_SIZES_MAX = 10_000
/** A read that waits this long for the archive returns its connection to the replica, and takes another one later. */
export const REPLICA_IDLE_MS_MAX = 50
/**
 * SHARERS: requests that share a connection to the replica. LOOKS: connections of each pool that are checked at the
 * same time before use (src/http/reads/replica-connections.ts).
 *
 * CPU of a record by id in the server, the primary and the standby, 16 readers: 199 to 248, 71 to 84 and 68 to 93 us.
 * With 4 to a connection 271 to 304, 103 and 114. With a connection for each 577 to 718, 150 to 230 and 262 to 298.
 * With four checks at once: 229 to 304, 90 and 90. One check at once costs no less, and a check that gets no answer
 * would block all others. With 64 readers, 32 to a connection cost as much as 64. But with 64 the readers fall back
 * to the primary twice as fast while no connection is free.
 */
export const REPLICA_SHARERS_MAX = 64
export const REPLICA_CHECKS_AT_ONCE_MAX = 2
/**
 * Lists that share a connection. Few, because each list reads documents, up to SEARCH_CHUNK_BYTES_MAX, while the
 * others wait. A list of 20 with 64 readers costs 483 us in the server and 262 in the standby; 585 and 330 with 4 to
 * a connection, 564 and 304 with 64.
 */
export const REPLICA_LIST_SHARERS_MAX = 8

// A request: time to arrive, and resources
export const REQUEST_TIMEOUT_MS = 30_000
/**
 * An idle connection is closed after this time. It must be longer than the timeout of a load balancer in front, or
 * the balancer's next request is lost.
 */
export const IDLE_CONNECTION_MS_MAX = 72_000
/**
 * A request whose client has gone, and which never gets an answer, counts as under way for this time. Longer than any
 * request may take.
 */
export const REQUEST_ABANDONED_MS_MAX = 60_000
/** Upper limit of Retry-After for refused requests; the lower one is 1 s. */
export const REFUSED_RETRY_AFTER_SECONDS_MAX = 2
/** Maximum size of a head that is refused from its bytes. Node reads a longer one. */
export const WHOLE_REQUEST_HEAD_BYTES_MAX = 4 * 1024
/**
 * Refusals beyond this rate leave their connection unread for a while (src/http/connections/unread-connections.ts): a
 * tenth of a processor.
 */
export const REFUSALS_PER_SECOND = 4_000
/** Burst of refusals after a pause, as time at REFUSALS_PER_SECOND. */
export const REFUSALS_BURST_MS_MAX = 100
/** Short, because the connection may belong to a proxy and carry another client's next request, or a read. */
export const REFUSED_UNREAD_MS_MAX = 250
export const UNREAD_CHECK_EVERY_MS = 5
/**
 * How often Node checks for requests that exceed REQUEST_TIMEOUT_MS. With Node's default of 30 s, the 30 s became 72.
 */
export const CONNECTIONS_CHECK_EVERY_MS = 1_000
/** Requests that wait on one connection for the answer before them. With more, the connection is closed. */
export const PIPELINED_REQUESTS_MAX = 100
/**
 * A refused connection is read for this long, and up to so many bytes are dropped, so that its client gets the
 * answer.
 */
export const REFUSED_LINGER_MS = 2_000
export const REFUSED_DISCARD_BYTES_MAX = 1024 * 1024
/** Memory of the Buffer around each chunk of a body, beside its bytes. */
export const BODY_CHUNK_OVERHEAD_BYTES = 256
/**
 * Up to this size the event loop parses a text with few names and values and no escaped names: 18 ms at worst,
 * usually 3.5. In a thread the text would be parsed twice, which takes a fifth more CPU.
 */
export const JSON_LOOP_BYTES_MAX = 512 * 1024
export const JSON_LOOP_TOKENS_MAX = 32 * 1024
/**
 * A smaller record is read on the event loop. That takes up to 1 ms; the transfer to a thread and back takes 0.1 ms.
 */
export const RECORD_THREAD_BYTES_MIN = 16 * 1024
/** A smaller batch is built on the event loop. The transfer to a thread and back takes as long as 20 records. */
export const BATCH_THREAD_BYTES_MIN = 16 * 1024
/** Names and values of a batch that is built on the event loop. A usual record of 400 bytes has 30. */
export const BATCH_LOOP_TOKENS_MAX = 1_024
export const NAME_CHARS_MAX = 200
export const REASON_CHARS_MAX = 1_000
export const GATED_REVISIONS_MAX = 100

/** Browsers cache files of the console, whose names contain the hash of their contents. */
export const CONSOLE_FILE_SECONDS = 365 * 24 * 3_600

// Answers that were written and that the client has not read (src/load/budgets.ts,
// src/http/connections/write-deadlines.ts)
/**
 * Bytes that are pending at one moment must be read within this time, plus a second for each
 * ANSWER_BYTES_PER_SECOND_MIN.
 */
export const ANSWER_STALL_MS_MAX = 60_000
export const ANSWER_BYTES_PER_SECOND_MIN = 128 * 1024
export const ANSWERS_CHECK_EVERY_MS = 1_000
/** Longer answers become a Buffer at once. Buffers are outside V8's heap, which is the smaller memory. */
export const ANSWER_TEXT_CHARS_MAX = 16 * 1024

// Receipts (src/http/tails/checkpoint-waits.ts)
/** A checkpoint follows an entry within a second, or two while the worker keeps up. */
export const RECEIPT_WAIT_SECONDS_MAX = 10
/** Clients of SCRAPI do not know `wait`. With this default they get their receipt at once while the worker keeps up. */
export const STATEMENT_WAIT_SECONDS_DEFAULT = 5
/** One poll for all requests that wait for one ledger's checkpoint. */
export const CHECKPOINT_POLL_MS = 200
export const CHECKPOINT_WAITS_PER_LEDGER_MAX = 32
/** Waiting requests of all ledgers. Each needs a timer and an open response. */
export const CHECKPOINT_WAITS_MAX = 1_024

// MCP (src/http/routes/mcp.ts)
/** Largest message: the largest record and its envelope. */
export const MCP_BODY_BYTES_MAX = 528 * 1024
/** Messages of one ledger under way. Each makes one request at a time, and six at most. */
export const MCP_CALLS_PER_LEDGER_MAX = 32
export const MCP_CALLS_MAX = 128

// Tiles (src/http/routes/tiles.ts)
/** Requests without a key, for each public ledger and on each server. */
export const PUBLIC_READS_PER_SECOND = 100
export const PUBLIC_READS_BURST = 300
/** Tiles never change. */
export const TILE_CACHE_SECONDS = 31_536_000
export const TILE_CHECKPOINT_CACHE_SECONDS = 1
/** Entry bundles that are being made. Each has 8 MiB at most, and counts as an answer when made. */
export const ENTRY_BUNDLES_PER_LEDGER_MAX = 4
export const ENTRY_BUNDLES_MAX = 16

// Postgres
export const READY_ANSWER_TIMEOUT_MS = 2_000

// Keys
export const KEY_OVERLAP_SECONDS_DEFAULT = 3_600
export const KEY_OVERLAP_SECONDS_MAX = 30 * 86_400

// Streams (src/http/routes/entries.ts)
export const STREAMS_PER_LEDGER_MAX = 4
export const STREAMS_MAX = 32

// Waiting for the next step of a record (src/http/tails/record-waits.ts)
/** Shorter than the timeouts of clients and proxies. */
export const RECORD_WAIT_SECONDS_MAX = 20
/** One query for all waiting requests. */
export const RECORD_POLL_MS = 50
export const RECORD_WAITS_PER_LEDGER_MAX = 1_000
export const RECORD_WAITS_MAX = 4_000

// Events
export const EVENTS_FILTER_NAMES_MAX = 32
export const EVENTS_PER_TAIL_QUERY = 100
/** Concurrent queries of all tails. Tails that catch up leave connections to others. */
export const EVENTS_TAIL_QUERIES_AT_ONCE_MAX = 2
/**
 * Queries of tails that wait for the archive, and no longer count for EVENTS_TAIL_QUERIES_AT_ONCE_MAX. Each has a
 * page in memory. Further ones are delayed, unless their ledger has less than an equal share.
 */
export const EVENTS_TAIL_ARCHIVE_READS_MAX = 16
/** How often streams that wait for the archive are logged. Each of them retries every few seconds. */
export const EVENTS_TAIL_WARN_EVERY_MS = 60_000
export const EVENTS_HEARTBEAT_MS = 15_000
/** How often a tail's key is checked. KEY_CACHE_AGE_MS_MAX is added to this age. */
export const EVENTS_KEY_CHECK_EVERY_MS = 5_000
/** Shortened at random by up to a quarter, so that clients do not reconnect all at once. */
export const EVENTS_TAIL_MS_MAX = 60 * 60_000
export const EVENTS_RETRY_MS = 1_000
/** When the server closes, slower clients are cut off and reconnect. */
export const EVENTS_TAIL_CLOSE_MS_MAX = 1_000
export const EVENTS_TAILS_PER_LEDGER_MAX = 500
export const EVENTS_TAILS_MAX = 2_000

// Retention
/** Concurrent previews of retention rules in a process. Each reads up to PREVIEW_PAGES_MAX pages, some of 30 MiB. */
export const PREVIEWS_MAX = 4
export const PREVIEWS_PER_LEDGER_MAX = 1
