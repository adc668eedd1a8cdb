/**
 * Bounds of the server, by name, with their units last; those of peers and of webhooks stand in peer-limits.ts and
 * webhook-limits.ts. docs/api.md lists those that clients meet.
 */

// A request: how long it may take to arrive, and what it may hold
export const REQUEST_TIMEOUT_MS = 30_000
/** A connection on which nothing is asked for so long is closed: later than a load balancer before it would, or its next request is lost. */
export const KEPT_CONNECTION_MS = 72_000
/** Beyond these a request is refused at once, but for bursts (src/append/admission.ts). */
export const REQUESTS_UNDER_WAY_MAX = 256
export const REQUESTS_BURST_MAX = 2_048
export const REQUESTS_BURST_PER_SECOND = 100
/** A request whose client has gone, and which is never answered, counts for so long: longer than one may take. */
export const REQUEST_ABANDONED_MS_MAX = 60_000
/** Asked of those that are refused, from 1 s on. */
export const REFUSED_RETRY_AFTER_SECONDS_MAX = 2
/** How often requests that took REQUEST_TIMEOUT_MS are looked for; Node's own 30 s made 72 s of its 30. */
export const CONNECTIONS_LOOK_EVERY_MS = 1_000
/** Requests on one connection that came before the one in front was answered. They wait; with more the connection is closed. */
export const PIPELINED_REQUESTS_MAX = 100
/** Of those that have arrived, what begins before others are looked at. */
export const REQUESTS_PER_TURN_MAX = 16
export const TURN_BYTES_MAX = 64 * 1024
/** As long as load balancers take to see that a server is not ready: those of Kubernetes look every 1 to 10 s. */
export const DRAIN_SECONDS_DEFAULT = 5
export const DRAIN_SECONDS_MAX = 300
/** Longer than an append may take: of those that still hold a connection then, only streams are left. */
export const CLOSE_STREAMS_MS = 21_000
export const CLOSE_IDLE_EVERY_MS = 50
export const CLOSE_UNUSED_AFTER_MS = 300
/**
 * Connections that the kernel has opened and the server has not taken yet; the kernel's own bound (net.core.somaxconn) is 4,096 as
 * a rule. With Node's 511 a thousand of 2,000 clients that came at once had to try again after a second.
 */
export const LISTEN_BACKLOG = 4_096
/** Limit of every route that names no other. A body of this size is parsed in one turn: 3 ms, and 16 ms for a hostile one. */
export const BODY_BYTES_MAX = 64 * 1024
/** Body of one record: its document and metadata with every character escaped, and room. */
export const RECORD_BODY_BYTES_MAX = 512 * 1024
/** Bodies that are on their way, or were not handled yet (src/append/byte-budget.ts); one ledger alone may have half. */
export const BODIES_BYTES_MAX = 192 * 1024 * 1024
/** Memory of the Buffer around each piece of a body, beside its bytes. */
export const BODY_PIECE_BYTES = 256
export const BATCH_BODY_BYTES_MAX = 4 * 1024 * 1024
export const DOCUMENT_BYTES_MAX = 64 * 1024
export const METADATA_BYTES_MAX = 4 * 1024
export const JSON_DEPTH_MAX = 32
/** Names and values in a text above BODY_BYTES_MAX, which a thread parses: 0.5 s at the worst. Usual records of 4 MiB have half. */
export const JSON_TOKENS_MAX = 512 * 1024
/**
 * Up to here a text with few names and values, none of them escaped, is parsed by the event loop: 18 ms at the worst, 3.5 ms usually. A thread reads the text
 * that the loop then parses again, so that a batch of 1,000 usual records (450 KB) took a fifth more CPU, 5 µs a record.
 */
export const JSON_LOOP_BYTES_MAX = 512 * 1024
export const JSON_LOOP_TOKENS_MAX = 32 * 1024
/** A piece, for example one record, is taken over in one turn, 20 ms at the worst. A document of DOCUMENT_BYTES_MAX has 43,690 at most. */
export const JSON_TOKENS_IN_PIECE_MAX = 48 * 1024
/** Twenty times as long: then something else is wrong. */
export const JSON_THREAD_MS_MAX = 10_000
export const BATCH_ITEMS_MAX = 2_000
export const IDEMPOTENCY_KEY_CHARS_MAX = 255
export const NAME_CHARS_MAX = 200
export const REASON_CHARS_MAX = 1_000
export const PAGE_ITEMS_DEFAULT = 50
export const PAGE_ITEMS_MAX = 200
/** Of payloads, metadata and the documents of steps: a page ends early, but not before its first item. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024
export const REFERENCES_MAX = 16
export const REFERENCE_CHARS_MAX = 256
export const REFERENCES_BYTES_MAX = 4 * 1024
export const PARENT_DEPTH_MAX = 16
export const GATED_REVISIONS_DEFAULT = 3
export const GATED_REVISIONS_MAX = 100
/** Of a record: the peers that it is shared with. */
export const SHARE_PEERS_MAX = 8
/** Of a salt that a caller chose, where a peer sees the digest alone: 16 random bytes have fewer once in 10^12. */
export const SALT_DISTINCT_BYTES_MIN = 8

// Answers that were written and not taken (src/append/byte-budget.ts, src/http/write-deadlines.ts)
/** One ledger alone may have half. */
export const READ_ANSWERS_BYTES_MAX = 192 * 1024 * 1024
/** The largest, of a full batch, has 500 KB. */
export const WRITE_ANSWERS_BYTES_MAX = 64 * 1024 * 1024
/** Bytes that are pending at one moment must be taken within this time, and a second more for each ANSWER_BYTES_PER_SECOND_MIN. */
export const ANSWER_STALL_MS_MAX = 60_000
export const ANSWER_BYTES_PER_SECOND_MIN = 128 * 1024
export const ANSWERS_LOOK_EVERY_MS = 1_000
/** Larger ones are bytes from when they are made: those are not V8's heap, which is the smaller of the two. */
export const ANSWER_TEXT_CHARS_MAX = 16 * 1024

// Searches: what one request may look at (src/db/records/search-records.ts). A page that reaches it ends there.
export const SEARCH_CANDIDATES_MAX = 5_000
export const SEARCH_DAYS_MAX = 31
export const SEARCH_PROBE_CANDIDATES = 200
export const SEARCH_ENTRIES_SKIPPED_MAX = 20_000
/** Twice what append_entries allows a clock to be off, and half a minute for a database's own clock that is set back. */
export const SEARCH_CLOCK_SLACK_MS = 90_000
export const SEARCH_CONNECTIONS_MAX = 4
export const SEARCH_STATEMENT_TIMEOUT_MS = 5_000

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

// Types: what a definition may hold, and what compiling and validating may cost (docs/types.md)
export const TYPE_DEFINITION_BYTES_MAX = 64 * 1024
export const SCHEMA_SUBSCHEMAS_MAX = 1_000
/** Of subschemas that look at the same value one inside another, by $ref and the like: each costs stack. */
export const SCHEMA_IN_PLACE_DEPTH_MAX = 16
export const SCHEMA_ENUM_VALUES_MAX = 1_000
export const SCHEMA_PATTERNS_MAX = 64
export const PATTERN_CHARS_MAX = 256
export const PATTERN_INSTRUCTIONS_MAX = 1_000
export const TYPE_RULES_MAX = 256
export const RULE_VALUES_MAX = 256
/** What a record sets, in canonical form: signed with its creation. */
export const TOLERANCES_BYTES_MAX = 16 * 1024
/** Of one value in the document of compared values; of a longer one it has the size. */
export const RULE_VALUE_BYTES_MAX = 1_024
/** A step is 5 to 18 ns of the processor: at most 10 ms for the largest document. */
export const VALIDATION_STEPS_BASE = 20_000
export const VALIDATION_STEPS_PER_BYTE = 8
export const FAULT_PATH_CHARS_MAX = 512
/**
 * Of the thread's time, for the schemas of one ledger: `AHEAD` may be used up before its share of time has passed. (Beside a
 * ledger that does its worst the p99 of another was 3.5 times its p99 alone with 1 / 4 and 20 ms, 2.9 times with these.)
 */
export const SCHEMA_WORK_SHARE = 1 / 10
export const SCHEMA_WORK_AHEAD_MS_MAX = 5
export const SCHEMA_WORK_WAITING_PER_LEDGER_MAX = 256
export const SCHEMA_WORK_LEDGERS_SWEPT_FROM = 1_000
export const TYPE_CACHE_BYTES_PER_LEDGER_MAX = 8 * 1024 * 1024
export const TYPE_CACHE_BYTES_MAX = 128 * 1024 * 1024
/** Registered types in one batch: each is read and compiled before the first item is built. */
export const BATCH_TYPES_MAX = 32

// The append queue of one process
export const APPEND_BATCH_ENTRIES_MAX = 512
/** Of agents, keys, types and so on: all of them refused cost 15 calls. */
export const APPEND_BATCH_ADMINISTRATION_ENTRIES_MAX = 8
export const APPEND_BATCH_RECORDS_MAX = 4_000
export const APPEND_BATCH_BYTES_MAX = 16 * 1024 * 1024
export const APPEND_LANES = 2
/** What a batch waits for while requests that have arrived are still being prepared (src/append/appender.ts). */
export const APPEND_GATHER_ENTRIES_MAX = 128
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

// Postgres
export const APPEND_STATEMENT_TIMEOUT_MS = 15_000
export const CONNECT_TIMEOUT_MS = 5_000
/** Of a connection on which nothing is sent: then the kernel asks, and ten seconds later it is known to be dead. */
export const KEEP_ALIVE_AFTER_MS = 5_000
export const CA_FILE_BYTES_MAX = 4 * 1024 * 1024
/** An RDS token has 400 to 2,000 bytes. */
export const PASSWORD_BYTES_MAX = 16 * 1024
/** Starts a program and asks a cloud for a token: on a processor that others use it takes seconds. */
export const PASSWORD_COMMAND_MS_MAX = 15_000
/** Where the database refuses what it gave. */
export const PASSWORD_COMMAND_EVERY_MS = 1_000
/** A token of RDS is good for 15 minutes. */
export const PASSWORD_CACHE_SECONDS_DEFAULT = 600
export const PASSWORD_CACHE_SECONDS_MAX = 3_600
/** What a migration waits for a lock, and everybody else behind it. */
export const MIGRATION_LOCK_MS_MAX = 3_000
export const SCHEMA_WAIT_SECONDS_MAX = 3_600
export const SCHEMA_WAIT_EVERY_MS = 500
/** Questions that a pooler is told apart by. */
export const POOLER_PROBES = 8
/** An answer that takes so long is asked after (src/db/connect/half-open.ts), and so long is waited for one that is on its way. */
export const HALF_OPEN_AFTER_MS = 2_000
export const HALF_OPEN_GRACE_MS = 250
export const HALF_OPEN_LOOK_EVERY_MS = 500
/** However many connections say that the database has moved. */
export const POOLS_RENEWED_EVERY_MS = 1_000
export const READY_ANSWER_TIMEOUT_MS = 2_000
export const WRITE_CONNECTIONS_MAX = 3
export const READ_CONNECTIONS_MAX = 8
export const JOB_CONNECTIONS_MAX = 2
export const WEBHOOK_CONNECTIONS_MAX = 4
export const PEER_CONNECTIONS_MAX = 2
/**
 * Look-ups of records by id that share a query, and how many such queries are under way (src/db/connect/coalescer.ts). With one at a
 * time instead of two, 457 and 479 gated records/s instead of 473 and 518.
 */
export const LOOKUPS_PER_QUERY_MAX = 64
export const LOOKUP_QUERIES_MAX = 2
export const READ_STATEMENT_TIMEOUT_MS = 30_000
/** A statement that takes too long Postgres ends, and says so. From whom nothing is heard so long after that is not there any more. */
export const STATEMENT_END_MS_MAX = 5_000

// Preflight (docs/preflight.md)
/** What append_entries refuses: signed further than this off the database's clock. */
export const CLOCK_SKEW_MS_MAX = 30_000
export const PREFLIGHT_CLOCK_WARN_MS = 1_000
/** Not 30 s: a clock that drifts is past it before somebody has looked. */
export const PREFLIGHT_CLOCK_FAIL_MS = 25_000
export const PREFLIGHT_GATE_MS_DEFAULT = 5
export const PREFLIGHT_ROUND_TRIPS = 200
/** With and without a flush. A slow disk gets fewer, and at least so many. */
export const PREFLIGHT_COMMITS = 300
export const PREFLIGHT_COMMITS_MIN = 20
export const PREFLIGHT_COMMITS_MS_MAX = 4_000
/** Appends to a file beside the log, and overwrites, each. */
export const PREFLIGHT_FSYNC_MS_MAX = 2_000
/** Of each clock: the best one counts. */
export const PREFLIGHT_CLOCK_SAMPLES = 20
/** A record waits for two at least: its own, and that of the batch before it. */
export const PREFLIGHT_ROUND_TRIP_WARN_MS = 5
/** Of a server's answer; it may be anybody's. */
export const PREFLIGHT_ANSWER_CHARS_MAX = 64 * 1024
export const PREFLIGHT_CONNECTIONS_MAX = 64
export const PREFLIGHT_LOAD_MS = 1_000
export const PREFLIGHT_STATEMENT_TIMEOUT_MS = 5_000
/** A statement waits for a flush, or for standbys: longer than that is an error. */
export const PREFLIGHT_ANSWER_TIMEOUT_MS = 10_000
/** Records of a larger table are estimated from its size, as the planner does. */
export const PREFLIGHT_RECORDS_COUNTED_MAX = 100_000
/** The largest: what they grew by stands for all. */
export const PREFLIGHT_LEDGERS_MAX = 200
/** Of less no rate is made. */
export const PREFLIGHT_HISTORY_MS_MIN = 3_600_000
export const PREFLIGHT_DISK_WARN_DAYS = 30
export const PREFLIGHT_DISK_FAIL_DAYS = 7

// Metrics: of one question to the database, while somebody waits for all of them
export const METRICS_ANSWER_TIMEOUT_MS = 2_000

// Rate limits
export const RATE_LIMIT_PER_SECOND_MIN = 0.001
export const RATE_LIMIT_PER_SECOND_MAX = 1_000_000
export const RATE_LIMIT_BURST_MAX = 1_000_000
/** Of one process: keys and ledgers that have a limit and were used. */
export const RATE_LIMIT_BUCKETS_MAX = 20_000
/** So many records of a batch cost as much as one request: that is what they take of a core. */
export const RATE_LIMIT_RECORDS_PER_REQUEST = 100
/** So many bytes of a body cost as much as one request; of a batch what is more of the two. */
export const RATE_LIMIT_BYTES_PER_REQUEST = 64 * 1024

// Statements that a process has read (src/signing/known-statements.ts)
/** Of their envelopes; as objects they take three times as much. At 600 gated records a second that is the last three seconds. */
export const KNOWN_STATEMENTS_BYTES_MAX = 8 * 1024 * 1024

// Keys
export const KEY_CACHE_AGE_MS_MAX = 5_000
export const KEY_CACHE_KEYS_MAX = 20_000
/** A file that holds the master key or the operator's. */
export const KEY_FILE_BYTES_MAX = 1_024
/** While the master key is replaced: how long a server may go on sealing under the one that goes. */
export const MASTER_KEY_AGE_MS_MAX = 1_000
/** Rows that `npm run rotate-master-key` seals anew at a time. */
export const RESEALED_PER_QUERY = 2_000
/** Between a caller's authentication and what he signs: his body may take REQUEST_TIMEOUT_MS of it, and his types the rest. */
export const CALLER_AGE_MS_MAX = 40_000
/** Of one key at a time: its own, and those that it had before rotations. The database refuses more. */
export const KEY_SECRETS_MAX = 3
/** With one that is revoked: those that it has made, and those that they have. A request signs as many entries. */
export const KEYS_REVOKED_PER_REQUEST_MAX = 100
/** Keys of a ledger are looked through for them so many at a time. */
export const KEY_MAKERS_PER_QUERY = 10_000
export const KEY_OVERLAP_SECONDS_DEFAULT = 3_600
export const KEY_OVERLAP_SECONDS_MAX = 30 * 86_400

// Streams: what one query fetches of a longer answer
export const STREAM_ENTRIES_PER_QUERY = 500
export const STREAM_RECORDS_PER_QUERY = 2_000
/** Bytes of documents, and of envelopes. A reader that does not read holds this much, and what its connection holds. */
export const STREAM_BYTES_PER_QUERY = 256 * 1024
export const STREAM_CHUNK_CHARS = 64 * 1024
export const STREAMS_PER_LEDGER_MAX = 4
export const STREAMS_MAX = 32

// Verifiers
/** 64 GiB: about a KiB for each entry of one record. An export that comes as a stream has no end before it has ended. */
export const EXPORT_SPOOL_MIB_DEFAULT = 65_536
/** Others work in that directory too. */
export const EXPORT_SPOOL_SHARE_OF_FREE_MAX = 0.9

// Checkpoints
export const CHECKPOINT_EVERY_MS = 500
export const CHECKPOINT_AGE_MS_MIN = 1_000
export const CHECKPOINT_LEDGERS_PER_ROUND = 500
export const TREE_ENTRIES_PER_STEP = 65_536

// Verification of completions
/** Half of it is what a completion waits on average, on a machine with nothing else to do. */
export const COMPLETION_ENQUEUE_EVERY_MS = 50
/** Jobs that could be taken at once: what comes later than a flood of another ledger waits for so many, a second at 500 a second. */
export const COMPLETIONS_QUEUED_MAX = 512
export const COMPLETIONS_PER_BATCH = 128
/** While one waits for the database the other one computes. */
export const COMPLETION_BATCHES_AT_ONCE = 2
/** For a type that its ledger's share of the time has not compiled yet: the others of the batch don't wait longer. */
export const COMPLETION_TYPE_WAIT_MS_MAX = 500
/** … when a completion is looked at for the first time: others wait in the same round, and what is late gets a job. */
export const COMPLETION_TYPE_WAIT_FIRST_MS_MAX = 100
/** Of a round that says nothing: then others take what it had. Longer than a batch, which takes half a second at most. */
export const COMPLETION_CLAIM_MS_MAX = 5_000
/** So many workers find something to do in one ledger that has enough: each looks past what the others have claimed. */
export const COMPLETION_CLAIMERS_MAX = 4
export const COMPLETION_SWEEP_EVERY_MS = 2_000
/** A batch is at work for half a second at most; whose job takes longer is enqueued again, because its worker may be gone. */
export const COMPLETION_JOB_MS_MAX = 5_000
export const COMPLETIONS_PER_SWEEP = 5_000

// Expiry
export const EXPIRY_EVERY_MS = 500
export const EXPIRIES_PER_ROUND = 256
/** Closed ledgers keep what is overdue: passing over it takes no more than this share of the time. */
export const EXPIRY_TIME_SHARE_MAX = 0.25
/** A refused one is looked at again after this, because what is refused is a fault that somebody may mend. */
export const EXPIRY_REFUSED_PAUSE_MS = 60_000
/** How many are remembered to be refused; of more, the oldest are looked at anew. */
export const EXPIRIES_REFUSED_MAX = 10_000

// Erasure
/** What an erasure lists of the record's other documents: three a round, and the routes let a record have 101 rounds. */
export const ERASABLE_LISTED_MAX = 400
export const ERASURE_EVERY_MS = 1_000
export const ERASURES_PER_ROUND = 100
/** A refused one is looked at again after this, because what is refused is a fault that somebody may mend. */
export const ERASURE_REFUSED_PAUSE_MS = 60_000
/** How many are remembered to be refused; of more, the oldest are looked at anew. */
export const ERASURES_REFUSED_MAX = 10_000

// Keys that rotate
export const ROTATION_EVERY_MS = 1_000
/** One transaction holds the heads of so many ledgers, for about 20 ms. */
export const ROTATION_LEDGERS_PER_ROUND = 200

// Requests to addresses that a tenant or a peer has named (src/outside/connector)
export const OUTBOUND_URL_CHARS_MAX = 2_048
/** Of the whole exchange, its name's resolution, its connection and a repetition included. */
export const OUTBOUND_REQUEST_MS_MAX = 15_000
export const OUTBOUND_CONNECT_MS_MAX = 5_000
/** c-ares doubles it for the second try: together they leave time to connect. */
export const OUTBOUND_NAME_QUERY_MS = 1_000
export const OUTBOUND_NAME_QUERY_TRIES = 2
export const OUTBOUND_ADDRESSES_MAX = 6
/** Of each address but the last: longer than a round trip around the world. */
export const OUTBOUND_ADDRESS_ATTEMPT_MS = 500
export const OUTBOUND_HEADER_BYTES_MAX = 16 * 1024
/** Of answers with a status below 200, of which a peer can send any number before the one that counts. */
export const OUTBOUND_INTERIM_ANSWERS_MAX = 8
export const OUTBOUND_BODY_BYTES_MAX = 16 * 1024
/** After the status, which counts without its body too. */
export const OUTBOUND_BODY_MS_MAX = 1_000
export const OUTBOUND_EXCERPT_BYTES_MAX = 1_024
/** Less than the 5 s of a Node server, so that it is mostly we who close. */
export const OUTBOUND_IDLE_MS_MAX = 4_000
export const OUTBOUND_IDLE_CONNECTIONS_MAX = 500

// Restored backups: how many kept checkpoints are compared with the chain in a round. Those kept last are the first that an
// older backup lacks; the others take turns.
export const RESTORED_EVERY_MS = 1_000
export const RESTORED_NEWEST_PER_ROUND = 100
export const RESTORED_OTHERS_PER_ROUND = 1_000
/** Of one query, 10 µs each. */
export const RESTORED_PER_QUERY = 1_000

// Audits, and the follower that verifies entries as they come
/** Of one core, everything included: at a hundred microseconds an entry, thousands of entries a second. */
export const ENTRY_FOLLOWER_TIME_SHARE_MAX = 0.25
/** Half of it is what an event waits on average that nobody in a worker has asked for: a settlement that a server is to tell. */
export const ENTRY_FOLLOWER_EVERY_MS = 250
/** For ledgers in which money waits for the follower: nothing else that a worker does is worth more. */
export const ENTRY_FOLLOWER_AWAITED_TIME_SHARE_MAX = 0.75
/** Cursors whose MACs are looked at in a second, 3 µs each. */
export const AUDIT_CURSORS_PER_ROUND = 1_000
export const AUDIT_CURSORS_EVERY_MS = 1_000
/** After this a round ends at the next chunk: those who wait for the round to end don't wait long. */
export const ENTRY_FOLLOWER_ROUND_MS = 250
export const ENTRY_FOLLOWER_LEDGERS_PER_ROUND = 500
export const ENTRY_FOLLOWER_ENTRIES_PER_SPAN = 8_192
export const FAULT_REASON_CHARS_MAX = 1_000
export const JOB_POLL_SECONDS = 1
/** How often jobs that are done are deleted, once they are old enough; by default once a day. */
export const JOB_DELETION_EVERY_SECONDS = 120
export const AUDIT_ENQUEUE_EVERY_MS = 1_000
export const AUDITS_PER_ROUND = 100
export const AUDIT_PROGRESS_EVERY_MS = 1_000
/** Six times an hour: 72,000 ledgers a day. */
export const AUDIT_SCHEDULE_CRON = '*/10 * * * *'
export const AUDITS_PER_SCHEDULE_MAX = 500

// Events
/** Entries that nobody wants to hear of, passed over by one query. */
export const EVENTS_SCANNED_MAX = 10_000
/** Entries whose records must be looked at, because only some are wanted or may be seen. */
export const EVENTS_SIFTED_PER_QUERY = 500
/** Of batches: 22 ms for 20 that are full. */
export const EVENT_BATCHES_PER_QUERY = 20
/** Names in a filter. */
export const EVENTS_FILTER_NAMES_MAX = 32
/** Tails: answers to `GET /v1/events` that go on (src/http/tails/event-tails.ts). One query for all ledgers that somebody tails. */
export const EVENTS_POLL_MS = 200
/** Of the time: with many ledgers the query is made less often. */
export const EVENTS_POLL_TIME_SHARE_MAX = 0.2
export const EVENTS_PER_TAIL_QUERY = 100
/** Of all tails together: catching up, they leave connections to the others. */
export const EVENTS_TAIL_QUERIES_AT_ONCE_MAX = 2
export const EVENTS_HEARTBEAT_MS = 15_000
/** What is said of a tail's key may be so old, and KEY_CACHE_AGE_MS_MAX. */
export const EVENTS_KEY_LOOK_EVERY_MS = 5_000
/** Up to a quarter less, so that not all come back at once. */
export const EVENTS_TAIL_MS_MAX = 60 * 60_000
/** What a client waits before it comes back. */
export const EVENTS_RETRY_MS = 1_000
/** When the server closes: who reads so slowly is cut off, and comes back. */
export const EVENTS_TAIL_CLOSE_MS_MAX = 1_000
export const EVENTS_TAILS_PER_LEDGER_MAX = 500
export const EVENTS_TAILS_MAX = 2_000

// `smoke` (docs/image.md)
/** All of it but the revocation of its key: within what `helm test` waits, 5 min. */
export const SMOKE_MS_MAX = 60_000
/** A worker publishes once a second; one that was started just now needs some seconds more. */
export const SMOKE_CHECKPOINT_MS_MAX = 30_000
export const SMOKE_POLL_MS = 250
export const SMOKE_REVOKE_MS_MAX = 10_000

// Traces (docs/tracing.md)
/** Ended and not at the collector yet; each takes about 2 KB. More are dropped: whoever is traced never waits. */
export const TRACE_SPANS_WAITING_MAX = 8_192
/** Packing them takes 2 ms of the thread. */
export const TRACE_SPANS_PER_EXPORT = 256
export const TRACE_EXPORT_EVERY_MS = 1_000
export const TRACE_EXPORT_TIMEOUT_MS_DEFAULT = 10_000
export const TRACE_EXPORT_TIMEOUT_MS_MAX = 60_000
/** When a process closes: what is not at the collector then is lost. */
export const TRACE_CLOSE_MS_MAX = 2_000
/** From a batch that is committed to the requests that wait for it. */
export const TRACE_LINKS_MAX = 128
export const TRACE_ATTRIBUTES_MAX = 32
export const TRACE_ATTRIBUTE_CHARS_MAX = 256
export const TRACE_LOSS_LOG_EVERY_MS = 60_000

/** Ledgers whose newest verified note a server remembers: 4 KiB each at most. */
export const SIGNED_CHECKPOINTS_MAX = 1_000
