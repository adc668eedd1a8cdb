/*
 * All limits of the verifiers, as docs/formats/rules.md lists them. python/src/tallystick/verify/limits.py has the
 * same names and values, and test/proof/limits.test.ts compares all three lists. Lengths of text are in UTF-8 bytes.
 */

/** The largest integer that a double represents exactly. It limits sizes, seqs and times in seconds. */
export const INTEGER_MAX: number = Number.MAX_SAFE_INTEGER

// Limits of text
/** Maximum number of UTF-8 bytes of a name that people choose. Any text of 256 code points fits. */
export const TEXT_BYTES_MAX = 1_024
export const URL_BYTES_MAX = 2_048
/**
 * Maximum number of UTF-8 bytes of label 260 in a registered statement. The label names the location of the statement's
 * content.
 */
export const LOCATION_BYTES_MAX = 1_024

// Limits of JSON text
/** Maximum nesting depth of arrays and objects. */
export const JSON_DEPTH_MAX = 64
/** Maximum number of significant digits of a number. The shortest form of a double has at most as many. */
export const JSON_DIGITS_MAX = 17

// Limits of envelopes
export const ENVELOPE_BYTES_MAX = 32_768
/** Maximum nesting depth of arrays, maps and tags in CBOR. */
export const CBOR_LEVELS_MAX = 8
/** Maximum total number of CBOR items. Each member of a map counts as two items. */
export const CBOR_ITEMS_MAX = 1_024
export const KID_BYTES_MAX = 64

// Limits of statements
export const SCOPES_MAX = 64
export const RULES_MAX = 256
/** Maximum number of items in a batch. The number is 2^11, so the path of an item has at most 11 hashes. */
export const BATCH_ITEMS_MAX = 2_048
export const REVISIONS_MAX = 1_000
export const REFERENCES_MAX = 16
export const SHARES_MAX = 8
/** Maximum number of issuers in a registration policy. */
export const ISSUERS_MAX = 32
export const ISSUER_KEYS_MAX = 8
export const CONTENT_TYPES_MAX = 32
/** Maximum number of days in a retention rule: a hundred years. */
export const RETENTION_DAYS_MAX = 36_500
/** Maximum number of records that one hold names. */
export const HOLD_RECORDS_MAX = 500
/**
 * Maximum number of erasures that one `subject-erased` entry names. The seq of each erasure takes at most 17
 * characters, so the whole list fits into an entry.
 */
export const SUBJECT_ERASED_MAX = 1_000
/** Maximum number of current keys of one agent. */
export const AGENT_KEYS_MAX = 8

// Limits of notes
/**
 * Maximum size of a note in bytes. Verifiers of C2SP signed-note must accept sixteen signatures of 5 kB each, which
 * take 107 kB in base64. The rest is for the names of the signers.
 */
export const NOTE_BYTES_MAX = 131_072
export const NOTE_SIGNATURES_MAX = 64
/** Largest time of a cosignature, in seconds since 1970 (C2SP tlog-cosignature). */
export const COSIGNATURE_SECONDS_MAX = 9_223_372_036_854_775_807n
/** Maximum number of hashes in the consistency proof of a request to a witness (C2SP tlog-witness). */
export const WITNESS_PATH_MAX = 63
/** Maximum size in bytes of a request to a witness. It has one line of 45 bytes for each hash, and a note. */
export const ADD_CHECKPOINT_BYTES_MAX: number = NOTE_BYTES_MAX + WITNESS_PATH_MAX * 45 + 64
/** Highest level of a tile (C2SP tlog-tiles). */
export const TILE_LEVEL_MAX = 63

// Limits of proofs and receipts
/** Maximum number of hashes in an inclusion path. A tree of 2^53 leaves has 53 levels. */
export const INCLUSION_PATH_MAX = 53
/** Maximum number of hashes in a consistency path. It has at most one hash more than an inclusion path. */
export const CONSISTENCY_PATH_MAX = 54
/**
 * Maximum size of a proof in bytes. In base64, two envelopes take 87,384 bytes, a note 131,072 bytes, and the two paths
 * 7,300 bytes. The rest is reserve.
 */
export const PROOF_BYTES_MAX = 262_144
/** Maximum nesting depth of a proof. The members nested deepest are those of `keys[…]` and `item.item`. */
export const PROOF_DEPTH_MAX = 4
export const PROOF_KEYS_MAX = 16
/**
 * Maximum size of a record in bytes. Payload, evidence and values have 64 KiB each. The other members (metadata,
 * references, tolerances, reasons and ids) have 28 KiB. The limit is six times the sum, because an escaped character
 * takes six times its length, plus a reserve.
 */
export const RECORD_BYTES_MAX = 1_572_864
/**
 * Maximum size of a receipt in bytes. It has two paths of 53 and 11 hashes, an item of 600 bytes, and a header of 2,000
 * bytes. The rest is reserve.
 */
export const RECEIPT_BYTES_MAX = 8_192
/** Maximum size in bytes of a statement with its receipt. */
export const RECEIPT_FILE_BYTES_MAX: number = ENVELOPE_BYTES_MAX + RECEIPT_BYTES_MAX

// Limits of the lines of exports and bundles
export const SALT_BYTES = 16
/**
 * Maximum size of a line in bytes. The documents of a batch take at most 18 MiB. The worst case is a body of 4 MiB full
 * of numbers like `1e20`, each of which has 21 digits in canonical form.
 */
export const LINE_BYTES_MAX: number = 32 * 1024 * 1024
/**
 * Maximum nesting depth of a line. A document may have 32 levels (docs/formats/documents.md) and lies three levels deep
 * in its line.
 */
export const LINE_DEPTH_MAX = 35
/**
 * Maximum size in bytes of the first and the last line of an export or bundle. The first line contains the keys: 300
 * KiB for BUNDLE_KEYS_MAX keys. One of the two lines also contains a note of up to 128 KiB.
 */
export const END_LINE_BYTES_MAX: number = 1024 * 1024
/** Maximum nesting depth of a bundle's first line. The values nested deepest are those of `of.range.left`. */
export const BUNDLE_FIRST_LINE_DEPTH_MAX = 4
/** Maximum number of keys of one ledger in a bundle. This is enough for a monthly rotation over 80 years. */
export const BUNDLE_KEYS_MAX = 1_024

// Limits of archives
/**
 * Maximum number of entries in a piece. A document's position has 24 bits, and 12 of them are the entry's index in the
 * piece.
 */
export const ARCHIVE_PIECE_ENTRIES_MAX = 4_096
/**
 * Maximum number of documents of an entry. A document's position has 24 bits, and 12 of them are the document's index
 * in its entry.
 */
export const ARCHIVE_ENTRY_DOCUMENTS_MAX = 4_096
export const ARCHIVE_SEAL_DEPTH_MAX = 3
export const ARCHIVE_KEY_FILE_DEPTH_MAX = 3

// Limits of a ledger as a whole
/**
 * Maximum time in ms, by `recordedAt`, during which an API key may still appear after its revocation, its expiry or the
 * disabling of its agent. Servers cache keys for at most 5 s. A request may take 40 s from authentication to signature.
 * Two clocks may each be 30 s off the database's clock. The limit is higher than this sum, because an honest ledger
 * must never be refused.
 */
export const KEY_LINGER_MS_MAX = 120_000
/** Maximum difference in ms between `recordedAt` and the database's clock, which decides about deadlines. */
export const CLOCK_SKEW_MS_MAX = 30_000
/**
 * Maximum age in ms, relative to the newest entry, of an entry that no checkpoint covers. A ledger gets a checkpoint
 * about a second after it has grown. So the times of uncovered entries differ by about a second, plus the difference
 * between the servers' clocks.
 */
export const TAIL_AGE_MS_MAX = 60_000

// Limits of memory and time, which never change a verdict
/**
 * Maximum number of member names that are cached with their canonical form. Senders can invent any number of names, so
 * the cache must be limited.
 */
export const QUOTED_NAMES_MAX = 4_096
/** Maximum length of a member name that is cached. */
export const QUOTED_NAME_CHARS_MAX = 64
/** Maximum number of line signers that a verifier caches. */
export const SIGNERS_KNOWN_MAX = 1_000
