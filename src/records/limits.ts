// A request
/** Body of one record. A document and metadata with every character escaped fit in, with some reserve. */
export const RECORD_BODY_BYTES_MAX = 512 * 1024
export const BATCH_BODY_BYTES_MAX = 4 * 1024 * 1024
export const PAGE_ITEMS_DEFAULT = 50
export const PAGE_ITEMS_MAX = 200
export const SHARE_PEERS_MAX = 8
/**
 * Minimum number of different bytes in a salt that a caller chose, if a peer gets only the digest. A random salt of
 * 16 bytes has fewer different bytes once in 10^12.
 */
export const SALT_DISTINCT_BYTES_MIN = 8

/** Length of the label of the person that a record is about. */
export const SUBJECT_CHARS_MAX = 256

// Batches
/** Chunks that one request reads to find the depth of parents in batches. */
export const PARENT_CHUNKS_MAX = 128
/**
 * Search keys of a batch: distinct types, agents, traces, parents, days and references. Each group of 64 records is
 * counted separately.
 */
export const BATCH_KEYS_MAX = 8_192

// Streams
export const STREAM_STRING_CHARS = 64 * 1024

// Erasure
/**
 * Documents that the answer to an erasure lists. A round adds three documents, and the routes allow a record 101
 * rounds.
 */
export const ERASABLE_LISTED_MAX = 400

// Retention
export const MS_PER_DAY = 86_400_000
/** Pages of the chain that one preview reads. A page has 2,048 records or 1,024 entries. */
export const PREVIEW_PAGES_MAX = 10
/** Current holds that a ledger may have (migrations/functions/retention.sql). */
export const HOLDS_STANDING_MAX = 1_024

// A person's records
/** Records on a page of a person's records. They are looked up together. */
export const SUBJECT_RECORDS_PER_PAGE = 50
/** Pages that one erasure request reads. Pages whose documents the worker has not deleted yet are counted too. */
export const SUBJECT_PAGES_MAX = 50
/** Erasures of one request that are appended at the same time. */
export const SUBJECT_ERASURES_AT_ONCE = 50
