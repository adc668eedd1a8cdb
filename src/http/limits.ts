// Reads
/** Ledgers whose size is remembered for readers that send If-Known-Size. */
export const KNOWN_SIZES_MAX = 10_000
/** A read that waits so long for the archive gives its connection to the replica back, and takes another one for what follows. */
export const REPLICA_IDLE_MS_MAX = 50
/**
 * Requests that share a connection to the replica, and connections of each pool that are looked at at once for them
 * (src/http/replica-connections.ts). CPU of a record by id in the server, the primary and the standby, 16 readers: 199 to 248, 71 to 84 and 68
 * to 93 us. With 4 to a connection 271 to 304, 103 and 114; where each had its own 577 to 718, 150 to 230 and 262 to 298. Four looks at once:
 * 229 to 304, 90 and 90. One at once costs no less, and a look that gets no answer would hold up all others. With 64
 * readers, 32 to a connection cost as much as 64; but 64 go on to the primary twice as fast while no connection is free.
 */
export const REPLICA_SHARERS_MAX = 64
export const REPLICA_LOOKS_AT_ONCE_MAX = 2
/**
 * Lists that share one. Few, because each reads documents of its own, up to SEARCH_CHUNK_BYTES_MAX, while the others wait. A list of 20 with 64
 * readers costs 483 us in the server and 262 in the standby; 585 and 330 with 4 to a connection, 564 and 304 with 64.
 */
export const REPLICA_LIST_SHARERS_MAX = 8

// A request: how long it may take to arrive, and what it may hold
export const REQUEST_TIMEOUT_MS = 30_000
/** A connection on which nothing is asked for so long is closed: later than a load balancer before it would, or its next request is lost. */
export const KEPT_CONNECTION_MS = 72_000
/** A request whose client has gone, and which is never answered, counts for so long: longer than one may take. */
export const REQUEST_ABANDONED_MS_MAX = 60_000
/** Asked of those that are refused, from 1 s on. */
export const REFUSED_RETRY_AFTER_SECONDS_MAX = 2
/** Head of a request that is refused from its bytes; a longer one is read by Node. */
export const WHOLE_REQUEST_HEAD_BYTES_MAX = 4 * 1024
/** Refusals beyond these leave their connection unread for a while (src/http/connections/unread-connections.ts): a tenth of a processor. */
export const REFUSALS_PER_SECOND = 4_000
/** So many at once after a pause, as time of REFUSALS_PER_SECOND. */
export const REFUSALS_BURST_MS_MAX = 100
/** A connection may be another client's next, behind a proxy, or be read from. */
export const REFUSED_UNREAD_MS_MAX = 250
export const UNREAD_LOOK_EVERY_MS = 5
/** How often requests that took REQUEST_TIMEOUT_MS are looked for; Node's own 30 s made 72 s of its 30. */
export const CONNECTIONS_LOOK_EVERY_MS = 1_000
/** Requests on one connection that came before the one in front was answered. They wait; with more the connection is closed. */
export const PIPELINED_REQUESTS_MAX = 100
/** A connection that was refused is read for so long, and so much of it is dropped, so that its client gets the answer. */
export const REFUSED_LINGER_MS = 2_000
export const REFUSED_DISCARD_BYTES_MAX = 1024 * 1024
/** Memory of the Buffer around each piece of a body, beside its bytes. */
export const BODY_PIECE_BYTES = 256
/**
 * Up to here a text with few names and values, none of them escaped, is parsed by the event loop: 18 ms at the worst, 3.5 ms usually. A thread reads the text
 * that the loop then parses again: a fifth more CPU.
 */
export const JSON_LOOP_BYTES_MAX = 512 * 1024
export const JSON_LOOP_TOKENS_MAX = 32 * 1024
/** A smaller record is read on the event loop: that takes up to 1 ms, and to hand it over and back 0.1. */
export const RECORD_THREAD_BYTES_MIN = 16 * 1024
/** A smaller batch is built on the event loop: to hand it over and back takes as long as 20 records. */
export const BATCH_THREAD_BYTES_MIN = 16 * 1024
/** Names and values of a batch that is built on the event loop: a usual record of 400 bytes has 30. */
export const BATCH_LOOP_TOKENS_MAX = 1_024
export const NAME_CHARS_MAX = 200
export const REASON_CHARS_MAX = 1_000
export const GATED_REVISIONS_MAX = 100

/** A browser keeps a file of the console whose name holds the hash of its contents. */
export const CONSOLE_FILE_SECONDS = 365 * 24 * 3_600

// Answers that were written and not taken (src/load/budgets.ts, src/http/connections/write-deadlines.ts)
/** Bytes that are pending at one moment must be taken within this time, and a second more for each ANSWER_BYTES_PER_SECOND_MIN. */
export const ANSWER_STALL_MS_MAX = 60_000
export const ANSWER_BYTES_PER_SECOND_MIN = 128 * 1024
export const ANSWERS_LOOK_EVERY_MS = 1_000
/** Larger ones are bytes from when they are made: those are not V8's heap, which is the smaller of the two. */
export const ANSWER_TEXT_CHARS_MAX = 16 * 1024

// Receipts (src/http/tails/checkpoint-waits.ts)
/** A checkpoint comes a second after an entry, two at most while the worker keeps up. */
export const RECEIPT_WAIT_SECONDS_MAX = 10
/** A client of SCRAPI, which knows nothing of `wait`, gets its receipt at once while the worker keeps up. */
export const STATEMENT_WAIT_SECONDS_DEFAULT = 5
/** Shared by all that wait for one ledger's. */
export const CHECKPOINT_LOOK_EVERY_MS = 200
/** Requests that wait for a receipt's checkpoint. */
export const CHECKPOINT_WAITS_PER_LEDGER_MAX = 32
/** The same of all ledgers. A wait is a timer and an answer that is held. */
export const CHECKPOINT_WAITS_MAX = 1_024

// MCP (src/http/routes/mcp.ts)
/** A message: the largest record, and its envelope. */
export const MCP_BODY_BYTES_MAX = 528 * 1024
/** Messages that are worked at. Each makes one request at a time, and six at most. */
export const MCP_CALLS_PER_LEDGER_MAX = 32
/** The same of all ledgers. */
export const MCP_CALLS_MAX = 128

// Tiles (src/http/routes/tiles.ts)
/** Requests without a key, of each ledger that is public: on each server. */
export const PUBLIC_READS_PER_SECOND = 100
export const PUBLIC_READS_BURST = 300
/** Nothing that a tile says ever changes. */
export const TILE_CACHE_SECONDS = 31_536_000
export const TILE_CHECKPOINT_CACHE_SECONDS = 1
/** Bundles of entries that are being made; one has 8 MiB at most, and counts as an answer from then on. */
export const ENTRY_BUNDLES_PER_LEDGER_MAX = 4
export const ENTRY_BUNDLES_MAX = 16

// Postgres
export const READY_ANSWER_TIMEOUT_MS = 2_000

// Keys
export const KEY_OVERLAP_SECONDS_DEFAULT = 3_600
export const KEY_OVERLAP_SECONDS_MAX = 30 * 86_400

// Streams: rows that one query fetches of a longer answer
export const STREAMS_PER_LEDGER_MAX = 4
export const STREAMS_MAX = 32

// Waiting for the next step of a record (src/http/tails/record-waits.ts)
/** Less than clients and proxies wait for an answer. */
export const RECORD_WAIT_SECONDS_MAX = 20
/** One query for all that wait. */
export const RECORD_POLL_MS = 50
/** Requests that wait for a record's next step. */
export const RECORD_WAITS_PER_LEDGER_MAX = 1_000
/** The same of all ledgers. */
export const RECORD_WAITS_MAX = 4_000

// Events
/** Names in a filter. */
export const EVENTS_FILTER_NAMES_MAX = 32
export const EVENTS_PER_TAIL_QUERY = 100
/** Queries of all tails together: while they catch up, they leave connections to others. */
export const EVENTS_TAIL_QUERIES_AT_ONCE_MAX = 2
/**
 * Such of these as wait for the archive and leave their place to others: each holds a page. The next one is put off, unless its ledger
 * has less than an equal share.
 */
export const EVENTS_TAIL_READS_OF_ARCHIVE_MAX = 16
/** Streams that wait for the archive are logged so often: each of them asks again every few seconds. */
export const EVENTS_TAIL_WARN_EVERY_MS = 60_000
export const EVENTS_HEARTBEAT_MS = 15_000
/** Age of a tail's key, to which KEY_CACHE_AGE_MS_MAX is added. */
export const EVENTS_KEY_LOOK_EVERY_MS = 5_000
/** Up to a quarter less, so that not all come back at once. */
export const EVENTS_TAIL_MS_MAX = 60 * 60_000
/** Wait of a client before it comes back. */
export const EVENTS_RETRY_MS = 1_000
/** When the server closes: a client that reads so slowly is cut off, and comes back. */
export const EVENTS_TAIL_CLOSE_MS_MAX = 1_000
export const EVENTS_TAILS_PER_LEDGER_MAX = 500
export const EVENTS_TAILS_MAX = 2_000

// Retention
/** Previews of rules under way in a process: each reads up to PREVIEW_PAGES_MAX pages, some of 30 MiB. */
export const PREVIEWS_MAX = 4
export const PREVIEWS_OF_LEDGER_MAX = 1
