// Limits of OTLP (docs/integrations/otlp.md)
/** Maximum depth of nested arrays and maps in an attribute or a body. */
export const OTLP_VALUE_DEPTH_MAX = 16
/** Maximum depth of nested groups in skipped members of protobuf. */
export const OTLP_GROUP_DEPTH_MAX = 32
/**
 * Maximum number of skipped members that an answer names. Skipped members are named because they may contain spans or
 * logs.
 */
export const OTLP_IGNORED_NAMES_MAX = 4
/** Maximum number of rejected spans or logs that an answer names with path and fault. */
export const OTLP_REFUSALS_SHOWN_MAX = 4
/** Maximum length of the path and fault of one rejected span or log, in characters. */
export const OTLP_REFUSAL_CHARS_MAX = 240
/**
 * Maximum length of a text that counts as metadata, in characters. A longer text is content, even in an attribute of
 * METADATA (metadata-names.ts).
 */
export const OTLP_METADATA_CHARS_MAX = 512
/**
 * Maximum number of records in a batch. A larger request becomes several batches, because each record may add six rows
 * to batch_keys.
 */
export const OTLP_BATCH_RECORDS_MAX = 1_000
/**
 * Maximum number of spans and logs that a process caches. The next constant limits their groups. All other spans and
 * logs are read again from their chunks.
 */
export const OTLP_KNOWN_ITEMS_MAX = 262_144
export const OTLP_KNOWN_GROUPS_MAX = 65_536
/**
 * Maximum number of spans and logs in the cache that belong to one ledger. The next constant limits their groups. So no
 * ledger can push the items of all other ledgers out of the cache.
 */
export const OTLP_KNOWN_ITEMS_OF_LEDGER_MAX = 131_072
export const OTLP_KNOWN_GROUPS_OF_LEDGER_MAX = 32_768
/**
 * Maximum number of cached items of one trace. When older items are dropped, the newest items stay cached: at least
 * half of this number. So no request has to read a whole trace again.
 */
export const OTLP_KNOWN_ITEMS_OF_GROUP_MAX = 65_536
/**
 * Maximum number of groups that one request reserves, and of new groups that are cached for a batch. Without this
 * limit, a request with 5,000 groups occupied the event loop for 20 us per span, and other ledgers waited.
 */
export const OTLP_GROUPS_AT_ONCE_MAX = 256
/**
 * Maximum number of reads in one request. Each read covers CHUNKS_OF_KEYS_MAX positions. A request that needs more
 * reads is answered 503. When the client repeats the request, the reads continue at that point.
 */
export const OTLP_READS_MAX = 4
/**
 * Maximum number of requests per ledger that wait for an earlier request with the same traces. The next constant limits
 * the time that each request waits.
 */
export const OTLP_WAITING_MAX = 64
export const OTLP_WAIT_MS_MAX = 5_000
/**
 * Maximum number of attempts to write one request. If the ledger already has some of the request's spans, the request
 * is read again without these spans. Other servers may add further spans during each attempt.
 */
export const OTLP_ATTEMPTS_MAX = 5
/**
 * Maximum number of chunks that one query decompresses to find known items. A trace that was sent in many small
 * requests has many chunks.
 */
export const OTLP_CHUNKS_PER_QUERY = 64
/** Maximum size of a body before decompression, in bytes. */
export const OTLP_BODY_BYTES_MAX = 4 * 1024 * 1024
/** Maximum size of a body after decompression, in bytes. */
export const OTLP_PLAIN_BYTES_MAX = 8 * 1024 * 1024
/** Maximum depth of nested JSON. An attribute takes five levels, and each array in the attribute takes three more. */
export const OTLP_JSON_DEPTH_MAX = 96
/**
 * Maximum number of spans or logs in a request. Exporters send 512 at a time. Collectors send as many as they are
 * configured to send.
 */
export const OTLP_ITEMS_MAX = 10_000
/**
 * Maximum size of all records of a request together, in bytes. Each record has its own copy of resource and scope.
 * Records that are rejected or already known count too.
 */
export const OTLP_RECORD_BYTES_MAX = 32 * 1024 * 1024
/**
 * Maximum number of messages, attributes and values in a protobuf request. Each becomes an object or a member, so this
 * limit corresponds to JSON_TOKENS_MAX.
 */
export const OTLP_TOKENS_MAX = 512 * 1024
