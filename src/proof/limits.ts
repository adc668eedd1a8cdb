/*
 * All limits of the verifiers, as docs/formats/rules.md lists them. python/src/tallystick/verify/limits.py has the
 * same names and values; test/proof/limits.test.ts compares the three. Lengths of text are UTF-8 bytes.
 */

/** The largest integer that a double represents exactly: a size, a seq, a time in seconds. */
export const INTEGER_MAX: number = Number.MAX_SAFE_INTEGER

// Text
/** Names that people choose. Any 256 code points fit. */
export const TEXT_BYTES_MAX = 1_024
export const URL_BYTES_MAX = 2_048
/** Label 260 of a registered statement: the location of its content. */
export const LOCATION_BYTES_MAX = 1_024

// JSON text
/** Nesting of arrays and objects. */
export const JSON_DEPTH_MAX = 64
/** The shortest form of a double has at most this many significant digits. */
export const JSON_DIGITS_MAX = 17

// Envelopes
export const ENVELOPE_BYTES_MAX = 32_768
/** Nesting of arrays, maps and tags in CBOR. */
export const CBOR_LEVELS_MAX = 8
/** CBOR items in total; each member of a map is two. */
export const CBOR_ITEMS_MAX = 1_024
export const KID_BYTES_MAX = 64

// Statements
export const SCOPES_MAX = 64
export const RULES_MAX = 256
/** 2^11: an item's path has at most 11 hashes. */
export const BATCH_ITEMS_MAX = 2_048
export const REVISIONS_MAX = 1_000
export const REFERENCES_MAX = 16
export const SHARES_MAX = 8
/** Registration policies. */
export const ISSUERS_MAX = 32
export const ISSUER_KEYS_MAX = 8
export const CONTENT_TYPES_MAX = 32
/** A hundred years. */
export const RETENTION_DAYS_MAX = 36_500
/** Records that one hold may name. */
export const HOLD_RECORDS_MAX = 500
/** Erasures that one `subject-erased` may name. Each takes at most 17 characters, so all fit into an entry. */
export const SUBJECT_ERASED_MAX = 1_000
/** Current keys that an agent may have at one time. */
export const AGENT_KEYS_MAX = 8

// Notes
/**
 * Sixteen signatures of 5 kB, which verifiers must accept (C2SP signed-note), have 107 kB in base64. The rest is room
 * for their names.
 */
export const NOTE_BYTES_MAX = 131_072
export const NOTE_SIGNATURES_MAX = 64
/** Largest time of a cosignature, in seconds since 1970 (C2SP tlog-cosignature). */
export const COSIGNATURE_SECONDS_MAX = 9_223_372_036_854_775_807n
/** Hashes of the consistency proof in a request to a witness (C2SP tlog-witness). */
export const WITNESS_PATH_MAX = 63
/** A request to a witness: one line of 45 bytes for each hash, and a note. */
export const ADD_CHECKPOINT_BYTES_MAX: number = NOTE_BYTES_MAX + WITNESS_PATH_MAX * 45 + 64
/** Highest level of a tile (C2SP tlog-tiles). */
export const TILE_LEVEL_MAX = 63

// Proofs and receipts
/** A tree of 2^53 leaves has 53 levels. */
export const INCLUSION_PATH_MAX = 53
/** One hash more than an inclusion path. */
export const CONSISTENCY_PATH_MAX = 54
/** Two envelopes in base64 have 87,384 bytes, a note 131,072, the two paths 7,300. The rest is reserve. */
export const PROOF_BYTES_MAX = 262_144
/** `keys[…]` and `item.item` nest three objects and arrays; nothing else may. */
export const PROOF_DEPTH_MAX = 4
export const PROOF_KEYS_MAX = 16
/**
 * Payload, evidence and values of 64 KiB each, and 28 KiB of other members, with every character escaped (six times
 * as long). The other members are metadata, references, tolerances, reasons and ids. The rest is reserve.
 */
export const RECORD_BYTES_MAX = 1_572_864
/** Two paths of 53 and 11 hashes, an item of 600 bytes, a header of 2,000. The rest is reserve. */
export const RECEIPT_BYTES_MAX = 8_192
/** A statement with its receipt. */
export const RECEIPT_FILE_BYTES_MAX: number = ENVELOPE_BYTES_MAX + RECEIPT_BYTES_MAX

// Lines of exports and bundles
export const SALT_BYTES = 16
/**
 * A batch's documents have at most 18 MiB. A body of 4 MiB can consist of `1e20`, which has 21 digits in canonical
 * form.
 */
export const LINE_BYTES_MAX: number = 32 * 1024 * 1024
/** A document has at most 32 levels (docs/formats/documents.md), and starts three levels down in a line. */
export const LINE_DEPTH_MAX = 35
/** The first line of an export or bundle has the keys: 300 KiB for BUNDLE_KEYS_MAX. The first or the last line also has a note of up to 128 KiB. */
export const END_LINE_BYTES_MAX: number = 1024 * 1024
/** Nesting of of.range.left; nothing else may be nested deeper. */
export const BUNDLE_FIRST_LINE_DEPTH_MAX = 4
/** Keys of one ledger: a monthly rotation for 80 years. */
export const BUNDLE_KEYS_MAX = 1_024

// Archives
/** Entries of a piece: their index takes 12 bits of a document's position. */
export const ARCHIVE_PIECE_ENTRIES_MAX = 4_096
/** Documents of an entry: their index takes the other 12 bits. */
export const ARCHIVE_ENTRY_DOCUMENTS_MAX = 4_096
export const ARCHIVE_SEAL_DEPTH_MAX = 3
export const ARCHIVE_KEY_FILE_DEPTH_MAX = 3

// A ledger as a whole
/**
 * How long a key may still appear after its revocation, its expiry or the disabling of its agent, by `recordedAt`.
 * Servers cache keys for at most 5 s, a request may take 40 s from authentication to signature, and two clocks may
 * each be 30 s off the database's. A reserve is added, because an honest ledger must never be refused.
 */
export const KEY_LINGER_MS_MAX = 120_000
/** How far `recordedAt` may be off the database's clock, which decides about deadlines. */
export const CLOCK_SKEW_MS_MAX = 30_000
/**
 * How much older than the newest entry an entry without a covering checkpoint may be. A ledger gets a checkpoint
 * about a second after it has grown. So such entries differ by about a second, plus the difference between the clocks
 * of its servers.
 */
export const TAIL_AGE_MS_MAX = 60_000

// Memory and speed: no verdict depends on these
/** Member names whose canonical form is cached. The limit bounds the memory that invented names can take. */
export const QUOTED_NAMES_MAX = 4_096
/** Longer names are not cached. */
export const QUOTED_NAME_CHARS_MAX = 64
/** Line signers that a verifier caches. */
export const SIGNERS_KNOWN_MAX = 1_000
