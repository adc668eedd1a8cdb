// OTLP (docs/otlp.md)
/** Arrays and maps in each other in an attribute or a body. */
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
/** Records of a batch. A request of more becomes more than one, because each record may add six rows to batch_keys. */
export const OTLP_BATCH_RECORDS_MAX = 1_000
/** Identities of spans and logs that a process remembers, and their groups. Those of others are read again from their chunks. */
export const OTLP_KNOWN_ITEMS_MAX = 262_144
export const OTLP_KNOWN_GROUPS_MAX = 65_536
/** Share of a ledger, so that none makes a process forget those of all others. */
export const OTLP_KNOWN_ITEMS_OF_LEDGER_MAX = 131_072
export const OTLP_KNOWN_GROUPS_OF_LEDGER_MAX = 32_768
/**
 * Newest items of a trace that are remembered; at least half of them stay when older ones are dropped. So no request has to read a whole
 * trace again.
 */
export const OTLP_KNOWN_ITEMS_OF_GROUP_MAX = 65_536
/**
 * Traces and groups of logs that a request reserves while it is written, and that are remembered for each batch. Reserving and
 * remembering all of a request of 5,000 cost the event loop 20 us a span, and other ledgers waited.
 */
export const OTLP_GROUPS_AT_ONCE_MAX = 256
/** Looks of CHUNKS_OF_KEYS_MAX places in a row. A request that needs more is answered 503, and the next request goes on there. */
export const OTLP_LOOKS_MAX = 4
/** Requests about the same traces take turns; of one ledger so many wait at most, and each so long. */
export const OTLP_WAITING_MAX = 64
export const OTLP_WAIT_MS_MAX = 5_000
/** A request is read again when spans of it turn out to be known; other servers may take some each time. */
export const OTLP_ATTEMPTS_MAX = 5
/** Chunks that are decompressed in a row to learn what is known: a trace that was sent in many small requests has as many. */
export const OTLP_CHUNKS_PER_QUERY = 64
/** As they are sent. */
export const OTLP_BODY_BYTES_MAX = 4 * 1024 * 1024
/** After decompression. */
export const OTLP_PLAIN_BYTES_MAX = 8 * 1024 * 1024
/** An attribute is five levels of JSON deep, and each array in it three more. */
export const OTLP_JSON_DEPTH_MAX = 96
/** Spans or logs of a request; exporters send 512 at a time, and collectors as many as they are told to. */
export const OTLP_ITEMS_MAX = 10_000
/** Records of a request together, though each repeats its resource and scope: those that are refused or known count too. */
export const OTLP_RECORD_BYTES_MAX = 32 * 1024 * 1024
/** Messages, attributes and values of a request in protobuf, as JSON_TOKENS_MAX bounds JSON: each becomes an object, or a member. */
export const OTLP_TOKENS_MAX = 512 * 1024
