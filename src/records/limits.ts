// A request: how long it may take to arrive, and what it may hold
/** Body of one record: its document and metadata with every character escaped, and room. */
export const RECORD_BODY_BYTES_MAX = 512 * 1024
export const BATCH_BODY_BYTES_MAX = 4 * 1024 * 1024
export const PAGE_ITEMS_DEFAULT = 50
export const PAGE_ITEMS_MAX = 200
/** Peers that a record is shared with. */
export const SHARE_PEERS_MAX = 8
/** Distinct bytes of a salt that a caller chose, if a peer sees only the digest: 16 random bytes have fewer once in 10^12. */
export const SALT_DISTINCT_BYTES_MIN = 8

/** Label of the person whom a record is about. */
export const SUBJECT_CHARS_MAX = 256

// Types: size of a definition, and cost of compiling and validating (docs/types.md)

// Batches
/** Chunks of batches that are read to find how deep those lie. */
export const PARENT_CHUNKS_MAX = 128
/** Distinct types, agents, traces, parents, days and references, counted for each 64 records: a search finds them by each. */
export const BATCH_KEYS_MAX = 8_192

// Streams: rows that one query fetches of a longer answer
export const STREAM_PIECE_CHARS = 64 * 1024

// Erasure
/** Documents of the record that an erasure lists: three a round, and the routes let a record have 101 rounds. */
export const ERASABLE_LISTED_MAX = 400

// Retention
export const MS_PER_DAY = 86_400_000
/** Pages of the chain that one preview looks at: 2,048 records each, or 1,024 entries. */
export const PREVIEW_PAGES_MAX = 10
/** As many as may stand (migrations/functions/retention.sql). */
export const HOLDS_STANDING_MAX = 1_024

// A person's records
/** Records that a list of a person's records shows, and that are looked up at a time. */
export const SUBJECT_RECORDS_PER_PAGE = 50
/** Pages that one request to erase looks at, among them those whose documents the worker is about to take away. */
export const SUBJECT_PAGES_MAX = 50
/** Erasures of one request that wait for the ledger at a time. */
export const SUBJECT_ERASURES_AT_ONCE = 50
