// OTLP (docs/integrations/otlp.md)
/** Nesting of arrays and maps in an attribute or a body. */
export const OTLP_VALUE_DEPTH_MAX = 16
/** Nesting depth of groups in skipped members of protobuf. */
export const OTLP_GROUP_DEPTH_MAX = 32
/** Skipped members that an answer names, because they may contain spans or logs. */
export const OTLP_IGNORED_NAMES_MAX = 4
/** Rejected spans or logs that an answer names with path and fault. */
export const OTLP_REFUSALS_SHOWN_MAX = 4
/** Characters of path and fault of one rejected span or log. */
export const OTLP_REFUSAL_CHARS_MAX = 240
/** Characters. A longer text is content, even if the name of its attribute is in the list of metadata. */
export const OTLP_METADATA_CHARS_MAX = 512
/** Records of a batch. A larger request becomes several batches, because each record may add six rows to batch_keys. */
export const OTLP_BATCH_RECORDS_MAX = 1_000
/** Cached identities of spans and logs of a process, and their groups. Others are read again from their chunks. */
export const OTLP_KNOWN_ITEMS_MAX = 262_144
export const OTLP_KNOWN_GROUPS_MAX = 65_536
/** Share of one ledger, so that it cannot push out the items of all others. */
export const OTLP_KNOWN_ITEMS_OF_LEDGER_MAX = 131_072
export const OTLP_KNOWN_GROUPS_OF_LEDGER_MAX = 32_768
/**
 * Cached items of a trace, the newest ones. At least half of them stay when older ones are dropped, so that no
 * request has to read a whole trace again.
 */
export const OTLP_KNOWN_ITEMS_OF_GROUP_MAX = 65_536
/**
 * Groups that a request reserves while it is written, and groups that are cached for each batch. Reserving and
 * caching all groups of a request of 5,000 took the event loop 20 us per span, and other ledgers waited.
 */
export const OTLP_GROUPS_AT_ONCE_MAX = 256
/**
 * Reads of CHUNKS_OF_KEYS_MAX positions in one request. A request that needs more is answered 503, and the next
 * request continues there.
 */
export const OTLP_READS_MAX = 4
/** Requests for the same traces run one after another. Limits how many of one ledger wait, and for how long. */
export const OTLP_WAITING_MAX = 64
export const OTLP_WAIT_MS_MAX = 5_000
/**
 * Attempts of a request. It is read again when spans of it turn out to be known, and other servers may add some each
 * time.
 */
export const OTLP_ATTEMPTS_MAX = 5
/** Chunks that one query decompresses to find known items. A trace that was sent in many small requests has as many. */
export const OTLP_CHUNKS_PER_QUERY = 64
/** As sent, before decompression. */
export const OTLP_BODY_BYTES_MAX = 4 * 1024 * 1024
/** After decompression. */
export const OTLP_PLAIN_BYTES_MAX = 8 * 1024 * 1024
/** An attribute has five levels of JSON, and each array in it three more. */
export const OTLP_JSON_DEPTH_MAX = 96
/** Spans or logs of a request. Exporters send 512 at a time, collectors as many as configured. */
export const OTLP_ITEMS_MAX = 10_000
/**
 * All records of a request together, each with its own copy of resource and scope. Rejected and known records count
 * too.
 */
export const OTLP_RECORD_BYTES_MAX = 32 * 1024 * 1024
/**
 * Messages, attributes and values of a protobuf request, like JSON_TOKENS_MAX for JSON: each becomes an object or a
 * member.
 */
export const OTLP_TOKENS_MAX = 512 * 1024
