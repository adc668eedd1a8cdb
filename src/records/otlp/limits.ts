// OTLP (docs/integrations/otlp.md)
/** How deep arrays and maps may nest in an attribute or a body. */
export const OTLP_VALUE_DEPTH_MAX = 16
/** How deep groups may nest in skipped members of protobuf. */
export const OTLP_GROUP_DEPTH_MAX = 32
/** Number of skipped members that an answer names. They are named because they may contain spans or logs. */
export const OTLP_IGNORED_NAMES_MAX = 4
/** Number of rejected spans or logs that an answer names with path and fault. */
export const OTLP_REFUSALS_SHOWN_MAX = 4
/** Length of the path and fault of one rejected span or log, in characters. */
export const OTLP_REFUSAL_CHARS_MAX = 240
/**
 * Longest text, in characters, that counts as metadata. A longer text is content, even if its attribute has a name of
 * metadata.
 */
export const OTLP_METADATA_CHARS_MAX = 512
/** Records of a batch. A larger request becomes several batches, because each record may add six rows to batch_keys. */
export const OTLP_BATCH_RECORDS_MAX = 1_000
/**
 * Identities of spans and logs that a process caches, and their groups. Other identities are read again from their
 * chunks.
 */
export const OTLP_KNOWN_ITEMS_MAX = 262_144
export const OTLP_KNOWN_GROUPS_MAX = 65_536
/** The part of the cache that one ledger may use, so that one ledger cannot push out the items of all others. */
export const OTLP_KNOWN_ITEMS_OF_LEDGER_MAX = 131_072
export const OTLP_KNOWN_GROUPS_OF_LEDGER_MAX = 32_768
/**
 * Cached items of one trace. When older items are dropped, at least half of the limit, the newest ones, stay cached.
 * So no request has to read a whole trace again.
 */
export const OTLP_KNOWN_ITEMS_OF_GROUP_MAX = 65_536
/**
 * Number of groups that one request reserves while it is written, and number of groups that are cached for each
 * batch. When all groups of a request with 5,000 groups were reserved and cached, this occupied the event loop for 20
 * us per span, and other ledgers waited.
 */
export const OTLP_GROUPS_AT_ONCE_MAX = 256
/**
 * Reads in one request, each of CHUNKS_OF_KEYS_MAX positions. A request that needs more is answered 503. When the
 * client repeats it, the reads continue at that point.
 */
export const OTLP_READS_MAX = 4
/**
 * Requests for the same traces run one after another. These limits say how many requests of one ledger may wait, and
 * for how long.
 */
export const OTLP_WAITING_MAX = 64
export const OTLP_WAIT_MS_MAX = 5_000
/**
 * Attempts for one request. If some of its spans turn out to be known, the request is read again without them. Other
 * servers may add spans during each attempt.
 */
export const OTLP_ATTEMPTS_MAX = 5
/**
 * Chunks that one query decompresses to find known items. A trace that was sent in many small requests lies in many
 * chunks.
 */
export const OTLP_CHUNKS_PER_QUERY = 64
/** Size of a body as sent, before decompression. */
export const OTLP_BODY_BYTES_MAX = 4 * 1024 * 1024
/** Size of a body after decompression. */
export const OTLP_PLAIN_BYTES_MAX = 8 * 1024 * 1024
/** How deep JSON may nest. An attribute takes five levels, and each array in it three more. */
export const OTLP_JSON_DEPTH_MAX = 96
/** Spans or logs of a request. Exporters send 512 at a time, and collectors send as many as they are configured to. */
export const OTLP_ITEMS_MAX = 10_000
/**
 * Bytes of all records of a request together. Each record has its own copy of resource and scope. Records that are
 * rejected or already known count too.
 */
export const OTLP_RECORD_BYTES_MAX = 32 * 1024 * 1024
/**
 * Messages, attributes and values of a protobuf request. Each becomes an object or a member, so this limit
 * corresponds to JSON_TOKENS_MAX.
 */
export const OTLP_TOKENS_MAX = 512 * 1024
