// Limits of requests
/**
 * Maximum size in bytes of the body for one record. A document and metadata fit even if every character is escaped. The
 * rest is reserve.
 */
export const RECORD_BODY_BYTES_MAX = 512 * 1024
export const BATCH_BODY_BYTES_MAX = 4 * 1024 * 1024
export const PAGE_ITEMS_DEFAULT = 50
export const PAGE_ITEMS_MAX = 200
export const SHARE_PEERS_MAX = 8
/**
 * Minimum number of different bytes in a salt that a caller chose, if a peer gets only the digest. A random salt of 16
 * bytes has fewer different bytes only once in 10^12 cases.
 */
export const SALT_DISTINCT_BYTES_MIN = 8

/** Maximum number of characters in the label of the person that a record is about. */
export const SUBJECT_CHARS_MAX = 256

// Limits of batches
/** Maximum number of chunks that one request reads to find the depth of parents in batches. */
export const PARENT_CHUNKS_MAX = 128
/**
 * Maximum number of search keys of a batch: distinct types, agents, traces, parents, days and references. The keys of
 * each group of 64 records are counted separately.
 */
export const BATCH_KEYS_MAX = 8_192

// Approximate length in characters of the strings in which long answers are sent.
export const STREAM_STRING_CHARS = 32 * 1024

// Limits of erasures
/**
 * Maximum number of documents that the answer to an erasure lists. Each completion of a record adds at most three
 * documents, and the routes allow a record 101 completions.
 */
export const ERASABLE_LISTED_MAX = 400

// Limits of retention
export const MS_PER_DAY = 86_400_000
/** Maximum number of pages of the chain that one preview reads. A page has 2,048 records or 1,024 entries. */
export const PREVIEW_PAGES_MAX = 10
/** Maximum number of current holds of a ledger (migrations/functions/retention.sql). */
export const HOLDS_STANDING_MAX = 1_024

// Limits of the search for a person's records
/** Maximum number of records on a page of a person's records. The records of a page are looked up together. */
export const SUBJECT_RECORDS_PER_PAGE = 50
/**
 * Maximum number of pages that one erasure request reads. Pages whose documents the worker has not deleted yet count
 * too.
 */
export const SUBJECT_PAGES_MAX = 50
/** Maximum number of erasures of one request that are appended at the same time. */
export const SUBJECT_ERASURES_AT_ONCE = 50
