// Limits of reads.
/** Maximum number of ledgers whose size is cached, for readers that send If-Known-Size. */
export const KNOWN_SIZES_MAX = 10_000
/**
 * Time in ms after which a read that waits for the archive returns its connection to the replica. The read gets another
 * connection later.
 */
export const REPLICA_IDLE_MS_MAX = 50
/**
 * REPLICA_SHARERS_MAX: maximum number of requests that share one connection to the replica. REPLICA_CHECKS_AT_ONCE_MAX:
 * maximum number of connections of a pool that are checked at the same time before they are used
 * (src/http/reads/replica-connections.ts).
 *
 * CPU time in us of reading a record by id, with 16 readers, in the server / the primary / the standby:
 *
 * - these values: 199 to 248 / 71 to 84 / 68 to 93
 * - 4 requests on one connection: 271 to 304 / 103 / 114
 * - a connection for each request: 577 to 718 / 150 to 230 / 262 to 298
 * - four checks at once: 229 to 304 / 90 / 90
 *
 * One check at a time is not cheaper, and if the check got no answer, it would block all others. With 64 readers, 32
 * and 64 requests on one connection cost the same. But if no connection is free, readers go to the primary after half
 * the time with 64.
 */
export const REPLICA_SHARERS_MAX = 64
export const REPLICA_CHECKS_AT_ONCE_MAX = 2
/**
 * Maximum number of lists that share one connection. The number is small, because each list reads up to
 * SEARCH_CHUNK_BYTES_MAX of documents while the other lists wait. CPU time of a list of 20 records with 64 readers, in
 * the server / the standby: 483 / 262 us with 8 lists, 585 / 330 us with 4 lists, 564 / 304 us with 64 lists.
 */
export const REPLICA_LIST_SHARERS_MAX = 8

// Limits of the time and resources of a request.
export const REQUEST_TIMEOUT_MS = 30_000
/**
 * Time after which an idle connection is closed. It must be longer than the timeout of a load balancer in front of
 * the server. Otherwise the balancer may send a request on a connection that was just closed, and the request is
 * lost.
 */
export const IDLE_CONNECTION_MS_MAX = 72_000
/**
 * Time for which a request still counts as under way after its client has disconnected, if the server never answers it.
 * The time is longer than any request may take.
 */
export const REQUEST_ABANDONED_MS_MAX = 60_000
/** Maximum Retry-After of refused requests, in seconds. The minimum is 1 s. */
export const REFUSED_RETRY_AFTER_SECONDS_MAX = 2
/**
 * Maximum size in bytes of a request head that this server parses itself in order to refuse the request. Node parses a
 * longer head.
 */
export const WHOLE_REQUEST_HEAD_BYTES_MAX = 4 * 1024
/**
 * Number of refusals per second above which the connections of further refused requests stay unread for a while
 * (src/http/connections/unread-connections.ts). So refusals take at most a tenth of a processor.
 */
export const REFUSALS_PER_SECOND = 4_000
/**
 * Limits the number of refusals that are possible in the same moment after a pause. The limit is as many refusals as
 * REFUSALS_PER_SECOND allows in this time.
 */
export const REFUSALS_BURST_MS_MAX = 100
/**
 * Maximum time that a connection stays unread after a refusal. It is short, because the connection may belong to a
 * proxy. The next request on it may come from another client, which must not wait long.
 */
export const REFUSED_UNREAD_MS_MAX = 250
export const UNREAD_CHECK_EVERY_MS = 5
/**
 * Interval at which Node checks for requests that exceed REQUEST_TIMEOUT_MS. With Node's default of 30 s, a request was
 * ended after up to 72 s instead of 30 s.
 */
export const CONNECTIONS_CHECK_EVERY_MS = 1_000
/**
 * Maximum number of requests on one connection that wait for the answer of an earlier request. If there are more, the
 * connection is closed.
 */
export const PIPELINED_REQUESTS_MAX = 100
/**
 * Time for which the connection is still read after a refusal, so that the client can read the answer. At most
 * REFUSED_DISCARD_BYTES_MAX bytes are read and dropped.
 */
export const REFUSED_LINGER_MS = 2_000
export const REFUSED_DISCARD_BYTES_MAX = 1024 * 1024
/** Memory that each chunk of a body takes in addition to its bytes, for the Buffer object. */
export const BODY_CHUNK_OVERHEAD_BYTES = 256
/**
 * Maximum size in bytes of a text that the event loop parses if the text has few names and values and no escaped names.
 * Parsing takes 18 ms in the worst case, usually 3.5 ms. In a thread the text would be parsed twice, which takes a
 * fifth more CPU.
 */
export const JSON_LOOP_BYTES_MAX = 512 * 1024
export const JSON_LOOP_TOKENS_MAX = 32 * 1024
/**
 * Minimum size of a record's body that a thread reads. The event loop reads a smaller body in up to 1 ms. Sending a
 * body to a thread and back takes 0.1 ms.
 */
export const RECORD_THREAD_BYTES_MIN = 16 * 1024
/**
 * Minimum size of a batch's body from which a thread builds the batch. Sending a body to a thread and back takes as
 * long as building 20 records.
 */
export const BATCH_THREAD_BYTES_MIN = 16 * 1024
/**
 * Maximum number of names and values of a batch that is built on the event loop. A usual record of 400 bytes has 30
 * names and values.
 */
export const BATCH_LOOP_TOKENS_MAX = 1_024
export const NAME_CHARS_MAX = 200
export const REASON_CHARS_MAX = 1_000
export const GATED_REVISIONS_MAX = 100

/** Time for which browsers cache files of the console. The name of each file contains a hash of its content. */
export const CONSOLE_FILE_SECONDS = 365 * 24 * 3_600

// Limits of answers that were written but not read by the client yet (src/load/budgets.ts,
// src/http/connections/write-deadlines.ts).
/**
 * Time within which the client must read the bytes that are pending at one moment. One second is added for each
 * ANSWER_BYTES_PER_SECOND_MIN bytes.
 */
export const ANSWER_STALL_MS_MAX = 60_000
export const ANSWER_BYTES_PER_SECOND_MIN = 128 * 1024
export const ANSWERS_CHECK_EVERY_MS = 1_000
/**
 * Maximum length in characters of an answer that stays a string. A longer answer becomes a Buffer at once, because
 * Buffers are outside V8's heap, which has less memory.
 */
export const ANSWER_TEXT_CHARS_MAX = 16 * 1024

// Limits of waits for receipts (src/http/tails/checkpoint-waits.ts)
/**
 * Maximum time that a request waits for a receipt. A new entry is covered by a checkpoint within a second, or within
 * two seconds if the worker is busy.
 */
export const RECEIPT_WAIT_SECONDS_MAX = 10
/**
 * Default time that a request waits for the receipt of a registered statement. Clients of SCRAPI do not know `wait`.
 * With this default they usually get the receipt in the first answer.
 */
export const STATEMENT_WAIT_SECONDS_DEFAULT = 5
/**
 * Interval at which the checkpoint of a ledger is read while requests wait for it. All these requests share one read.
 */
export const CHECKPOINT_POLL_MS = 200
export const CHECKPOINT_WAITS_PER_LEDGER_MAX = 32
/** Maximum number of waiting requests of all ledgers. Each request needs a timer and an open response. */
export const CHECKPOINT_WAITS_MAX = 1_024

// Limits of MCP (src/http/routes/mcp.ts).
/** Maximum size of an MCP message. It is enough for the largest record with its envelope. */
export const MCP_BODY_BYTES_MAX = 528 * 1024
/**
 * Maximum number of MCP messages that are processed at the same time for one ledger. Each message makes at most six
 * requests, one after another.
 */
export const MCP_CALLS_PER_LEDGER_MAX = 32
export const MCP_CALLS_MAX = 128

// Limits of tiles (src/http/routes/tiles.ts).
/** Maximum number of requests per second without a key, for each public ledger and each server. */
export const PUBLIC_READS_PER_SECOND = 100
export const PUBLIC_READS_BURST = 300
/** Cache time of tiles. It is long, because tiles never change. */
export const TILE_CACHE_SECONDS = 31_536_000
export const TILE_CHECKPOINT_CACHE_SECONDS = 1
/**
 * Maximum number of entry bundles of one ledger that are being made at the same time. Each bundle has at most 8 MiB. A
 * finished bundle counts as an unread answer instead.
 */
export const ENTRY_BUNDLES_PER_LEDGER_MAX = 4
export const ENTRY_BUNDLES_MAX = 16

// Maximum time in ms for the database's answer to a readiness probe.
export const READY_ANSWER_TIMEOUT_MS = 2_000

// Limits of keys.
export const KEY_OVERLAP_SECONDS_DEFAULT = 3_600
export const KEY_OVERLAP_SECONDS_MAX = 30 * 86_400

// Limits of streams (src/http/routes/entries.ts).
export const STREAMS_PER_LEDGER_MAX = 4
export const STREAMS_MAX = 32

// Limits of waits for the next step of a record (src/http/tails/record-waits.ts).
/**
 * Maximum time that a request waits for the next step. The time is shorter than the timeouts of clients and proxies.
 */
export const RECORD_WAIT_SECONDS_MAX = 20
/**
 * Interval in ms at which the database is polled for next steps. One query serves all waiting requests. With an
 * interval of 50 ms, the wait for the poll was 33 of the 79 ms until an idle server showed a verification.
 */
export const RECORD_POLL_MS = 15
export const RECORD_WAITS_PER_LEDGER_MAX = 1_000
export const RECORD_WAITS_MAX = 4_000

// Limits of events. A tail is an open stream of a ledger's events (src/http/tails/event-tails.ts).
export const EVENTS_FILTER_NAMES_MAX = 32
export const EVENTS_PER_TAIL_QUERY = 100
/**
 * Maximum number of concurrent queries of all tails (open event streams) together. The limit leaves connections for
 * other requests while tails read many old events.
 */
export const EVENTS_TAIL_QUERIES_AT_ONCE_MAX = 2
/**
 * Maximum number of tails (open event streams) that wait for the archive. While they wait, they do not count towards
 * EVENTS_TAIL_QUERIES_AT_ONCE_MAX, but each has a page in memory. Beyond this number, only a tail whose ledger has less
 * than an equal share of these tails may read the archive. The others retry later.
 */
export const EVENTS_TAIL_ARCHIVE_READS_MAX = 16
/**
 * Interval at which the server logs that event streams wait for the archive. Each of these streams retries every few
 * seconds.
 */
export const EVENTS_TAIL_WARN_EVERY_MS = 60_000
export const EVENTS_HEARTBEAT_MS = 15_000
/**
 * Interval at which an open event stream checks whether its key is still valid. The result of the check may be
 * KEY_CACHE_AGE_MS_MAX old. So a revoked key may work for the sum of both times.
 */
export const EVENTS_KEY_CHECK_EVERY_MS = 5_000
/**
 * Maximum duration of an event stream. The duration of each stream is shortened by a random part, up to a quarter, so
 * that clients do not all reconnect at the same time.
 */
export const EVENTS_TAIL_MS_MAX = 60 * 60_000
export const EVENTS_RETRY_MS = 1_000
/**
 * Time that event streams get to end when the server closes. The connections of slower clients are cut off, and these
 * clients reconnect.
 */
export const EVENTS_TAIL_CLOSE_MS_MAX = 1_000
export const EVENTS_TAILS_PER_LEDGER_MAX = 500
export const EVENTS_TAILS_MAX = 2_000

// Limits of retention.
/**
 * Maximum number of concurrent previews of retention rules in a process. Each preview reads up to PREVIEW_PAGES_MAX
 * pages, some of which have 30 MiB.
 */
export const PREVIEWS_MAX = 4
export const PREVIEWS_PER_LEDGER_MAX = 1
